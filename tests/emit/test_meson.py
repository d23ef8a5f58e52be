"""The Meson lines of docs/embedding.md, in a real project."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import shaderc_tool
from tests.emit import test_cmake_embed
from tests.emit.test_cmake import MAIN, MANIFEST, SHADER
from tests.tools import require_glsl, require_tool

DOCUMENT = Path(__file__).parents[2] / "docs" / "embedding.md"


def documented(section: str) -> str:
    """The first indented block of a section."""
    text = DOCUMENT.read_text("utf-8").split(f"## {section}\n", 1)[1]
    block = re.search(r"(?:^    .*\n|^\n(?=    ))+", text, re.M)
    assert block is not None
    return re.sub(r"^    ", "", block[0], flags=re.M)


class MesonProject:
    """A folder with the documented `meson.build`, and shaderpack on PATH."""

    def __init__(self, folder: Path, section: str, files: Mapping[str, str]) -> None:
        self.folder, self.meson, self.ninja = folder, require_tool("meson"), require_tool("ninja")
        package = Path(shaderc_tool.__file__).parents[1]
        program = folder / "bin" / "shaderpack"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nPYTHONPATH="{package}" exec "{sys.executable}" -m shaderc_tool "$@"\n')
        program.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
        for name, text in {"meson.build": documented(section), **files}.items():
            (folder / name).write_text(text)
        self.run(self.meson, "setup", "b")

    def run(self, *argv: str) -> str:
        result = subprocess.run(
            argv, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=120
        )
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def build(self) -> str:
        return self.run(self.ninja, "-C", "b")

    def embedded(self) -> bytes:
        return subprocess.run([str(self.folder / "b" / "app")], stdout=subprocess.PIPE, check=True, timeout=30).stdout


def check_edit(project: MesonProject, source: str, text: str, magic: bytes) -> None:
    """It builds, has nothing to do, and follows an edit of a source."""
    assert "Compiling C object" in project.build()
    first = project.embedded()
    assert first[:4] == magic
    assert "Compiling C object" not in project.build()
    (project.folder / source).write_text(text)
    project.build()
    assert project.embedded() != first


def test_documented_project_builds_and_follows_an_edit(tmp_path: Path) -> None:
    require_glsl()
    manifest = (MANIFEST % "string").replace("demo", "app")
    files = {"app.yaml": manifest, "main.c": MAIN.replace("demo", "app"), "fill.comp": SHADER % 7}
    check_edit(MesonProject(tmp_path, "Meson", files), "fill.comp", SHADER % 9, b"\x03\x02\x23\x07")


def test_documented_embed_bundle_builds_and_follows_an_edit(tmp_path: Path) -> None:
    for wheel in ("ziglang", "llvmlite"):
        pytest.importorskip(wheel)
    manifest, main = (text.replace("demo", "app") for text in (test_cmake_embed.MANIFEST, test_cmake_embed.MAIN))
    files = {"app.yaml": manifest, "main.c": main, "fill.metal": test_cmake_embed.KERNEL % 7}
    project = MesonProject(tmp_path, "Embed bundle with Meson", files)
    check_edit(project, "fill.metal", test_cmake_embed.KERNEL % 9, b"MTLB")
