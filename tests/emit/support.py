"""What the tests of this folder share: running a tool, and finding LLVM's under Debian's versioned names."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.tools import require_tool


def run(*argv: str | Path, cwd: Path) -> str:
    """Standard output and error of a command that must succeed."""
    command = [str(a) for a in argv]
    result = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    assert result.returncode == 0, f"{argv}: {result.stdout}"
    return result.stdout


def llvm_tool(name: str) -> str:
    """`name`, or the same with a version behind it: some packages install no other."""
    names = (name, *(f"{name}-{version}" for version in range(14, 22)))
    return str(require_tool(next(filter(shutil.which, names), name)))
