"""The Meson lines of docs/embedding.md, in a real project."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import shaderc_tool
from tests.emit.test_cmake import MAIN, MANIFEST, SHADER
from tests.tools import require_glsl, require_tool

DOCUMENT = Path(__file__).parents[2] / "docs" / "embedding.md"


def documented(section: str) -> str:
    """The first indented block of a section."""
    text = DOCUMENT.read_text("utf-8").split(f"## {section}\n", 1)[1]
    block = re.search(r"(?:^    .*\n|^\n(?=    ))+", text, re.M)
    assert block is not None
    return re.sub(r"^    ", "", block[0], flags=re.M)


def test_documented_project_builds_and_follows_an_edit(tmp_path: Path) -> None:
    meson = require_tool("meson")
    ninja = require_tool("ninja")
    require_glsl()
    package = Path(shaderc_tool.__file__).parents[1]
    program = tmp_path / "bin" / "shaderpack"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{package}" exec "{sys.executable}" -m shaderc_tool "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}

    def run(*argv: str) -> str:
        result = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def embedded() -> bytes:
        return subprocess.run([str(tmp_path / "b" / "app")], stdout=subprocess.PIPE, check=True, timeout=30).stdout

    (tmp_path / "meson.build").write_text(documented("Meson"))
    (tmp_path / "app.yaml").write_text((MANIFEST % "string").replace("demo", "app"))
    (tmp_path / "main.c").write_text(MAIN.replace("demo", "app"))
    (tmp_path / "fill.comp").write_text(SHADER % 7)
    run(meson, "setup", "b")
    assert "Compiling C object" in run(ninja, "-C", "b")
    first = embedded()
    assert first[:4] == b"\x03\x02\x23\x07"
    assert "Compiling C object" not in run(ninja, "-C", "b")

    (tmp_path / "fill.comp").write_text(SHADER % 9)
    run(ninja, "-C", "b")
    assert embedded() != first
