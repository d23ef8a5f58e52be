"""The only module that writes into the output folder: temporary file, fsync, rename.

A reader never sees a partial file, a failed write leaves the previous good file, and a lock keeps two builds of one
pack apart.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from shaderc_tool.diagnostics import Diagnostic, ShaderpackError

PRIVATE = ".shaderpack"
"""Folder inside `DIR/<pack>/` for the state, the lock and work files."""


def write_failure(path: Path, error: OSError) -> ShaderpackError:
    """The SP7001 error for a failed write; the old file, if any, is still in place."""
    return ShaderpackError(
        Diagnostic(
            "SP7001",
            f"cannot write {path.name}: {error.strerror or error}",
            cause="the file system refused the write; the previous file, if any, is untouched",
            fix="free disk space or correct the permissions, then run the same command again",
            subject=path.name,
        )
    )


def write_atomically(path: Path, data: bytes, mode: int = 0o644, *, durable: bool = True) -> None:
    """Replace `path` by `data` in one step; `mode` are its permission bits.

    Without `durable` a power failure may leave it damaged, for files whose readers check a digest.

    Raises ShaderpackError (SP7001) on any OS error.
    """
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except OSError as error:
        raise write_failure(path, error) from error
    else:
        temporary = None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


class OutputFolder:
    """`DIR/<pack>/`: every path given to it is relative to it, with forward slashes."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, relative: str) -> Path:
        return self.root / relative

    def write(self, relative: str, data: bytes, *, durable: bool = True) -> bool:
        """Write a file unless it already holds exactly `data`; true when it was written."""
        path = self.path(relative)
        with contextlib.suppress(OSError):
            if path.stat().st_size == len(data) and path.read_bytes() == data:
                return False
        write_atomically(path, data, durable=durable)
        return True

    def remove(self, relative: str) -> None:
        """Remove a file that is no longer an output, and the folders that held nothing else."""
        with contextlib.suppress(FileNotFoundError):
            self.path(relative).unlink()
        with contextlib.suppress(OSError):  # the first folder that is not empty ends it
            for folder in self.path(relative).parents:
                if folder == self.root:
                    break
                folder.rmdir()

    @contextlib.contextmanager
    def work_folder(self) -> Iterator[Path]:
        """A fresh folder for tool outputs, on the same file system, removed at the end."""
        try:
            base = self.path(PRIVATE)
            base.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix="work-", dir=base))
        except OSError as error:
            raise write_failure(self.path(PRIVATE), error) from error
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @contextlib.contextmanager
    def locked(self, waiting: Callable[[], None]) -> Iterator[None]:
        """Hold this folder's lock; calls `waiting` once when another build has it."""
        try:
            self.path(PRIVATE).mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path(f"{PRIVATE}/lock"), os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise write_failure(self.path(PRIVATE), error) from error
        try:
            told = False
            while not _try_lock(descriptor):
                if not told:
                    waiting()
                    told = True
                time.sleep(0.05)
            yield
        finally:
            os.close(descriptor)  # closing gives the lock back


if sys.platform == "win32":  # pragma: no cover
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
