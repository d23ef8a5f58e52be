"""Writing planned changes: all of them, or none."""

from __future__ import annotations

import contextlib
import posixpath
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from shaderc_tool.build.output import write_atomically, write_failure
from shaderc_tool.diagnostics import Diagnostic, Place, ShaderpackError
from shaderc_tool.patch.plan import Change


class DiskTree:
    """A checkout on disk. Nothing outside its root is read or written, whatever links it holds."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, None when there is none. Raises ShaderpackError (SP6006) when it cannot be read."""
        place = self.path(path)
        try:
            return place.read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            fix = "correct its permissions, then run again"
            raise _unreachable(path, f"{path} cannot be read", error.strerror or str(error), fix) from error

    def glob(self, pattern: str) -> list[str]:
        found = (path for path in self.root.glob(pattern) if path.is_file())
        return sorted(path.relative_to(self.root).as_posix() for path in found)

    def path(self, path: str) -> Path:
        """Where a file is, links followed. Raises ShaderpackError (SP6006) when that is outside of the tree."""
        fix = "replace the link by the file itself"
        try:
            place = (self.root / path).resolve()
        except (OSError, RuntimeError) as error:  # RuntimeError: a loop, before Python 3.13
            raise _unreachable(path, f"{path} cannot be followed", str(error), fix) from error
        if not place.is_relative_to(self.root):
            raise _unreachable(path, f"{path} leads out of the tree", f"it is a link to {place}", fix)
        return place

    def missing_folders(self, paths: Iterable[str]) -> tuple[str, ...]:
        """The folders that would have to be made for these files, outermost first."""
        folders = {
            parent
            for path in paths
            for parent in _parents(posixpath.dirname(path))
            if not (self.root / parent).is_dir()
        }
        return tuple(sorted(folders))


def _unreachable(path: str, message: str, cause: str, fix: str) -> ShaderpackError:
    return ShaderpackError(Diagnostic("SP6006", message, Place(path), cause=cause, fix=fix, subject=path))


def _parents(folder: str) -> list[str]:
    return [*_parents(posixpath.dirname(folder)), folder] if folder else []


def commit(tree: DiskTree, changes: Sequence[Change], unused_folders: Iterable[str] = ()) -> None:
    """Make all changes in order; on any failure undo those made and raise.

    Raises ShaderpackError: SP6012 when a file is not what was planned for, SP7001 when the file system refuses.
    `unused_folders` are removed at the end if they are empty.
    """
    for change in changes:
        if tree.read(change.path) != change.before:
            raise ShaderpackError(_changed(change.path))
    made = tree.missing_folders(change.path for change in changes)
    done: list[Change] = []
    try:
        for change in changes:
            done.append(change)
            _write(tree.path(change.path), change.after)
    except BaseException:
        for change in reversed(done):
            if tree.read(change.path) != change.before:
                _write(tree.path(change.path), change.before)
        _remove_empty(tree, made)
        raise
    _remove_empty(tree, unused_folders)


def _write(path: Path, data: bytes | None) -> None:
    if data is None:
        try:
            path.unlink()
        except OSError as error:
            raise write_failure(path, error) from error
        return
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        mode = 0o644
    write_atomically(path, data, mode)


def _remove_empty(tree: DiskTree, folders: Iterable[str]) -> None:
    for folder in sorted(folders, reverse=True):
        with contextlib.suppress(OSError):
            (tree.root / folder).rmdir()


def _changed(path: str) -> Diagnostic:
    return Diagnostic(
        "SP6012",
        f"{path} changed while the patch was planned",
        Place(path),
        cause="something else writes into the tree",
        fix="stop it, then run again; nothing was written",
        subject=path,
    )
