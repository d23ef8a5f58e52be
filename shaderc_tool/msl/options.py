"""What goes into the Metal front end and what comes out of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from shaderc_tool.diagnostics import Diagnostic

Status = Literal["clean", "error", "not-modelled"]
MathMode = Literal["safe", "relaxed", "fast"]


class Completed(Protocol):
    """How a child process ended; `status` is its exit status, or minus the signal that killed it."""

    @property
    def status(self) -> int: ...
    @property
    def stdout(self) -> bytes: ...
    @property
    def stderr(self) -> bytes: ...


Run = Callable[[Sequence[str], Path, bytes], Completed]
"""Starts one process: argument list, working directory, standard input."""


@dataclass(frozen=True)
class MslOptions:
    """How one Metal source is compiled.

    `std` is spelled as the Metal compiler spells it ("metal3.1", "macos-metal2.4"). `platform` is a slug of
    `formats/metallib_profiles.py`. `include_dirs` and the source's own folder are searched for `#include`. `cache_dir`
    keeps the precompiled shim from one compile to the next; without it the shim is parsed each time.
    """

    std: str = "metal3.1"
    platform: str = "macos"
    min_os: str = "14.0"
    math: MathMode = "safe"
    defines: tuple[str, ...] = ()
    include_dirs: tuple[str, ...] = ()
    debug: bool = False
    cache_dir: Path | None = None

    @property
    def language(self) -> tuple[int, int]:
        """The Metal language version as (major, minor)."""
        match = re.search(r"(\d+)\.(\d+)$", self.std)
        if match is None:
            raise ValueError(f"not a Metal language standard: {self.std!r}")
        return int(match[1]), int(match[2])

    @property
    def os_version(self) -> tuple[int, int]:
        """The deployment target as (major, minor)."""
        parts = [*self.min_os.split("."), "0"][:2]
        return int(parts[0]), int(parts[1])


@dataclass(frozen=True)
class KernelInfo:
    """An entry point of the compiled module. `name` is the host name, `stage` is "kernel", "vertex" or "fragment"."""

    name: str
    stage: str
    file: str
    line: int


@dataclass(frozen=True)
class MslResult:
    """What a compile came to.

    `clean`: `air_ir` is the AIR module as LLVM 15 text with typed pointers and `bitcode` the same with Apple's bitcode
    wrapper. `error`: the source is at fault. `not-modelled`: the source may be fine but uses a construct that the
    portable compiler does not know; the diagnostics name it. `dependencies` are the files read besides the source.
    """

    status: Status
    diagnostics: tuple[Diagnostic, ...] = ()
    air_ir: str | None = None
    bitcode: bytes | None = None
    kernels: tuple[KernelInfo, ...] = ()
    dependencies: tuple[str, ...] = ()
