"""A glslc that stays: it is given named pipes as its sources and compiles each as soon as something is written to it.

glslc opens its sources one after the other. So a process that was given a hundred pipes waits at the first, compiles
what comes out of it, writes the module, and waits at the next: start-up, three quarters of a small compile, is paid
once a hundred. That the next pipe has a reader is the sign that the module before it is finished.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from shaderc_tool.build.process import ProcessRunner
from shaderc_tool.formats.depfile import parse_glslc_depfile
from shaderc_tool.formats.errors import FormatError
from shaderc_tool.toolchains.glsl import GlslFlags, glslc_batch_argv

PIPES = 120
"""Sources of one process; with more, the memory that it keeps grows without a gain."""

_POLL_SECONDS = 0.001
_TIMEOUT = 120.0


@dataclass(frozen=True)
class Made:
    """A module, and the files that were read for it after its source, absolute."""

    data: bytes
    dependencies: tuple[str, ...]


class ResidentGlslc:
    """One process with one set of flags. Not for several threads."""

    def __init__(self, program: str, flags: GlslFlags, runner: ProcessRunner, base: Path) -> None:
        self._runner = runner
        self._folder = Path(tempfile.mkdtemp(prefix="glslc-", dir=base))
        self._names = [f"{i}.comp" for i in range(PIPES)]
        for name in self._names:
            os.mkfifo(self._folder / name, 0o600)
        self._log = open(self._folder / "log", "wb+")  # noqa: SIM115  (closed in `close`)
        argv = glslc_batch_argv(flags, self._names, program)
        self._child = runner.start(argv, cwd=self._folder, env={}, text=self._log)
        self._next = 0
        self._pipe: int | None = None

    @property
    def usable(self) -> bool:
        return self._next < PIPES and self._child.poll() is None

    def compile(self, text: str) -> Made | None:
        """Compile one variant file. None when glslc had anything to say about it, or is gone."""
        if self._pipe is None and not self._open():
            return None
        pipe, self._pipe = self._pipe, None
        said = self._said()
        try:
            _write(pipe, text.encode())  # type: ignore[arg-type]  # it is open
        except OSError:
            return None
        name = self._names[self._next]
        self._next += 1
        finished = self._open() if self._next < PIPES else self._ended()
        return self._made(name) if finished and self._said() == said else None

    def close(self) -> None:
        if self._pipe is not None:
            os.close(self._pipe)
        self._runner.stop(self._child)
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _open(self) -> bool:
        """Wait until glslc opens the next pipe; false when it ends instead."""
        path = self._folder / self._names[self._next]
        limit = time.monotonic() + _TIMEOUT
        while time.monotonic() < limit:
            try:
                self._pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as error:
                if error.errno != errno.ENXIO or self._child.poll() is not None:
                    return False
                time.sleep(_POLL_SECONDS)
            else:
                os.set_blocking(self._pipe, True)
                return True
        return False

    def _ended(self) -> bool:
        try:
            return self._child.wait(_TIMEOUT) == 0
        except OSError:
            return False

    def _said(self) -> int:
        """Bytes that glslc has printed so far."""
        return os.fstat(self._log.fileno()).st_size

    def _made(self, name: str) -> Made | None:
        module, depfile = self._folder / f"{name}.spv", self._folder / f"{name}.spv.d"
        try:
            data, rule = module.read_bytes(), depfile.read_text("utf-8", "surrogateescape")
            read = parse_glslc_depfile(rule, f"{name}.spv", lambda path: (self._folder / path).exists())
        except (OSError, FormatError):
            return None
        finally:
            for path in (module, depfile, self._folder / name):
                path.unlink(missing_ok=True)
        return Made(data, read[1:]) if data and read[:1] == (name,) else None


def _write(descriptor: int, data: bytes) -> None:
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
    finally:
        os.close(descriptor)
