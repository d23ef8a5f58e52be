"""find_package(shaderpack) in a real CMake project: build, edit, rebuild, with and without ccache."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import shaderc_tool
from tests.tools import require_glsl, require_tool

SHADER = """#version 450
layout(local_size_x = 32) in;
layout(std430, set = 0, binding = 0) buffer Data { uint data[]; };
void main() { data[gl_GlobalInvocationID.x] = %su; }
"""
MANIFEST = """schema: 1
pack: demo
sources: {vulkan: .}
targets:
  vulkan: {api: vulkan, env: vulkan1.2}
kernels:
  fill:
    vulkan: {file: fill.comp, symbol: demo_fill}
outputs:
  - {kind: c-header, target: vulkan, storage: %s}
"""
CMAKE = """cmake_minimum_required(VERSION 3.16)
project(demo LANGUAGES C CXX ASM)
find_package(shaderpack REQUIRED)
add_executable(program main.c)
shaderpack_add_bundle(program "${CMAKE_CURRENT_SOURCE_DIR}/demo.yaml")
"""
MAIN = """#include "demo-shaders.h"
#include <stdio.h>
int main(void) { return fwrite(demo_fill_data, 1, demo_fill_len, stdout) != demo_fill_len; }
"""


class Project:
    """A CMake project with one shader; `build` gives ninja's output."""

    def __init__(self, folder: Path, storage: str, **environment: str) -> None:
        self.source, self.binary = folder / "source é", folder / "build dir"
        self.source.mkdir()
        package = Path(shaderc_tool.__file__).parent
        program = folder / "shaderpack"
        program.write_text(f'#!/bin/sh\nPYTHONPATH="{package.parent}" exec "{sys.executable}" -m shaderc_tool "$@"\n')
        program.chmod(0o755)
        for name, text in {"demo.yaml": MANIFEST % storage, "CMakeLists.txt": CMAKE, "main.c": MAIN}.items():
            (self.source / name).write_text(text)
        self.environment = {**os.environ, **environment}
        self.write_shader(7)
        self.options = [f"-Dshaderpack_DIR={package / 'cmake'}", f"-DSHADERPACK_EXECUTABLE={program}"]

    def write_shader(self, value: int) -> None:
        (self.source / "fill.comp").write_text(SHADER % value)

    def run(self, *argv: str) -> str:
        result = subprocess.run(argv, env=self.environment, capture_output=True, text=True, timeout=120)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def configure(self, *options: str) -> None:
        where = ["-S", str(self.source), "-B", str(self.binary)]
        self.run(require_tool("cmake"), "-G", "Ninja", *where, *self.options, *options)

    def build(self) -> str:
        return self.run(require_tool("cmake"), "--build", str(self.binary), "--verbose")

    def embedded(self) -> bytes:
        """What the program finds in itself."""
        return subprocess.run([str(self.binary / "program")], stdout=subprocess.PIPE, check=True, timeout=30).stdout

    def module(self) -> bytes:
        return (self.binary / "shaders/demo/vulkan/demo_fill.spv").read_bytes()


@pytest.mark.parametrize("storage", ["incbin", "string", "hex"])
def test_project_builds_and_follows_an_edit(storage: str, tmp_path: Path) -> None:
    require_tool("ninja")
    require_glsl()
    project = Project(tmp_path, storage)
    project.configure()
    project.build()
    first = project.embedded()
    assert first == project.module()
    assert first[:4] == b"\x03\x02\x23\x07"

    again = project.build()
    assert "shaderpack: demo" in again or "shaderpack build" in again
    assert not re.search("Building|Linking|demo-shaders", again)

    project.write_shader(9)
    project.build()
    assert project.embedded() == project.module() != first


def test_ccache_does_not_keep_an_old_payload(tmp_path: Path) -> None:
    """The second payload has the length of the first; ccache is told to trust `.incbin`."""
    ccache = require_tool("ccache")
    require_tool("ninja")
    require_glsl()
    project = Project(tmp_path, "incbin", CCACHE_DIR=str(tmp_path / "cache"), CCACHE_SLOPPINESS="incbin")
    project.configure(f"-DCMAKE_ASM_COMPILER_LAUNCHER={ccache}", f"-DCMAKE_C_COMPILER_LAUNCHER={ccache}")
    project.build()
    first = project.embedded()
    project.write_shader(9)
    project.build()
    second = project.embedded()
    assert second == project.module()
    assert len(second) == len(first)
    assert second != first


def test_missing_language_is_explained(tmp_path: Path) -> None:
    require_tool("ninja")
    project = Project(tmp_path, "incbin")
    (project.source / "CMakeLists.txt").write_text(CMAKE.replace(" ASM", ""))
    with pytest.raises(AssertionError, match=r"add ASM to the\s+languages"):
        project.configure()


def test_missing_program_is_explained(tmp_path: Path) -> None:
    require_tool("ninja")
    project = Project(tmp_path, "incbin", PATH="/usr/bin:/bin")
    project.options = project.options[:1]
    with pytest.raises(AssertionError, match="pip install"):
        project.configure()
