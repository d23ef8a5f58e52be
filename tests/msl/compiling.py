"""Compiles Metal in tests: a small process runner and one precompiled shim for the whole run."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from shaderc_tool.msl.clang import clang_program
from shaderc_tool.msl.compiler import compile_msl
from shaderc_tool.msl.options import MathMode, MslOptions, MslResult
from tests.tools import missing

ROOT = Path(__file__).resolve().parents[2]
SNIPPETS = Path(__file__).parent


@dataclass(frozen=True)
class Ended:
    """How a child ended."""

    status: int
    stdout: bytes
    stderr: bytes


def run(argv: Sequence[str], cwd: Path, stdin: bytes) -> Ended:
    """Start one process, as `build/process.py` does in the product."""
    done = subprocess.run(argv, cwd=cwd, input=stdin, capture_output=True, timeout=300)
    return Ended(done.returncode, done.stdout, done.stderr)


def require_clang() -> None:
    """Skip, or fail in CI, when the wheels of the portable compiler are not installed."""
    if clang_program() is None:
        missing("the ziglang wheel")


@cache
def shim_cache() -> Path:
    """Where the precompiled shim is kept between test runs; its name holds a digest of all that matters."""
    folder = Path(tempfile.gettempdir()) / "shaderpack-test-shim"
    folder.mkdir(exist_ok=True)
    return folder


def compile_text(
    source: str,
    name: str = "test.metal",
    *,
    std: str = "metal3.1",
    platform: str = "macos",
    min_os: str = "14.0",
    math: MathMode = "safe",
    defines: tuple[str, ...] = (),
    include_dirs: tuple[str, ...] = (),
    debug: bool = False,
    cwd: Path = ROOT,
) -> MslResult:
    """Compile one source with the options that differ from a macOS 14 build."""
    require_clang()
    options = MslOptions(std, platform, min_os, math, defines, include_dirs, debug, shim_cache())
    return compile_msl(source, name, options, run, cwd)


def compile_body(body: str, **options: str) -> MslResult:
    """Compile with the usual two lines in front."""
    return compile_text("#include <metal_stdlib>\nusing namespace metal;\n" + body, **options)  # type: ignore[arg-type]


def clean(result: MslResult) -> MslResult:
    """The result, which must be clean."""
    assert result.status == "clean", [f"{d.place}: {d.message} {d.detail}" for d in result.diagnostics]
    return result
