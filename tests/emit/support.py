"""What the tests of this folder share: running a tool, finding LLVM's under versioned names, merging source texts."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from shaderc_tool.diagnostics import Diagnostic
from shaderc_tool.emit.msl_merge import MergedSource, merge_msl
from tests.tools import require_tool


def run(*argv: str | Path, cwd: Path) -> str:
    """Standard output and error of a command that must succeed."""
    command = [str(a) for a in argv]
    result = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    assert result.returncode == 0, f"{argv}: {result.stdout}"
    return result.stdout


def llvm_tool(name: str) -> str:
    """`name`, or the same with a version behind it: some packages install no other."""
    return require_tool(name, *(f"{name}-{version}" for version in range(14, 22)))


def merge(files: Mapping[str, str], *roots: str, **options: object) -> MergedSource:
    """Merge texts by name; without `roots` the root is `main.metal`."""
    return merge_msl(roots or ("main.metal",), files.get, **options)  # type: ignore[arg-type]


def codes(merged: MergedSource) -> list[str]:
    return [d.code for d in merged.diagnostics]


def only(merged: MergedSource) -> Diagnostic:
    """The one diagnostic that there must be."""
    (diagnostic,) = merged.diagnostics
    return diagnostic
