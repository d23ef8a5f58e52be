"""Read AIR in a child process first: LLVM's bitcode reader may abort on bytes that a damaged file holds."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Final

from shaderc_tool.formats.errors import FormatError

_SECONDS: Final = 20.0
_MEMORY: Final = 1 << 30
"""Bytes of address space beyond what the child has at its start."""


def why_unreadable(data: bytes) -> str:
    """Why these bytes cannot be read as AIR, empty when they can."""
    import importlib.util

    from shaderc_tool.build.process import ProcessRunner
    from shaderc_tool.formats.bitcode import unwrap

    try:
        unwrap(data)  # most damage shows here, without a child
    except FormatError as error:
        return str(error)
    if importlib.util.find_spec("llvmlite") is None:
        return ""  # the reader says so
    package = Path(__file__).parents[2]
    argv = [sys.executable, "-m", "shaderc_tool.audit.air_probe"]
    run = ProcessRunner().run(argv, cwd=package, env={"PYTHONPATH": str(package)}, stdin=data, timeout=_SECONDS)
    if run.ok:
        return ""
    text = run.stdout.decode("utf-8", "replace").strip()
    return text or f"LLVM's bitcode reader {run.how_it_ended()}"


def main() -> int:
    """The child: bytes on standard input, what is wrong with them on standard output."""
    from shaderc_tool.formats.air import read_air

    _limit_memory()
    try:
        read_air(sys.stdin.buffer.read())
    except (FormatError, MemoryError, RecursionError) as error:
        print(error or type(error).__name__)
        return 1
    return 0


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + _MEMORY,) * 2)


if __name__ == "__main__":
    sys.exit(main())
