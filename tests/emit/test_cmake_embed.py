"""The Metal half of find_package(shaderpack): an embed bundle in a real CMake project, with and without ccache.

The assembler text is the same for every object format, so that the program can run here.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.emit.test_cmake import CMAKE, SHADER, Project
from tests.tools import require_glsl, require_tool

MANIFEST = """schema: 1
pack: demo
targets:
  ios: {api: metal, sdk: iphoneos, min_os: "17.0", std: metal3.1}
kernels:
  fill: {metal: {file: fill.metal, functions: [kernel_fill]}}
outputs:
  - {kind: embed, target: ios}
"""
KERNEL = "kernel void kernel_fill(device int *data [[buffer(0)]]) { data[0] = %d; }\n"
MAIN = """#include "demo_metal.h"
#include <stdio.h>
int main(void) { return fwrite(demo_payload_bytes(), 1, demo_payload_size(), stdout) != demo_metallib_size; }
"""
BOTH = """#include "demo-shaders.h"
#include "demo_metal.h"
#include <stdio.h>
int main(void) {
    int bad = fwrite(demo_payload_bytes(), 1, demo_payload_size(), stdout) != demo_metallib_size;
    return bad | (fwrite(demo_fill_data, 1, demo_fill_len, stdout) != demo_fill_len);
}
"""


class EmbedProject(Project):
    """A CMake project that embeds a Metal library with one kernel."""

    def __init__(self, folder: Path, **environment: str) -> None:
        super().__init__(folder, "incbin", **environment)
        require_tool("ninja")
        for wheel in ("ziglang", "llvmlite"):
            pytest.importorskip(wheel)
        lines = CMAKE.replace('demo.yaml")', 'demo.yaml" SHADER_TARGET ios EMBED)')
        for name, text in {"demo.yaml": MANIFEST, "CMakeLists.txt": lines, "main.c": MAIN}.items():
            (self.source / name).write_text(text)

    def write_shader(self, value: int) -> None:
        (self.source / "fill.metal").write_text(KERNEL % value)

    def module(self) -> bytes:
        return (self.binary / "shaders/demo/ios/default.metallib").read_bytes()


def test_project_embeds_the_library_and_follows_an_edit(tmp_path: Path) -> None:
    project = EmbedProject(tmp_path)
    project.configure()
    project.build()
    first = project.embedded()
    assert first == project.module()
    assert first[:4] == b"MTLB"
    assert not re.search("Building|Linking", project.build())
    project.write_shader(9)
    project.build()
    assert project.embedded() == project.module() != first


def test_ccache_does_not_keep_an_old_library(tmp_path: Path) -> None:
    """Source and payload keep their time stamps and their length; ccache is told to trust `.incbin`."""
    ccache = require_tool("ccache")
    project = EmbedProject(tmp_path, CCACHE_DIR=str(tmp_path / "cache"), CCACHE_SLOPPINESS="incbin")
    project.configure(f"-DCMAKE_ASM_COMPILER_LAUNCHER={ccache}", f"-DCMAKE_C_COMPILER_LAUNCHER={ccache}")
    project.write_shader(7)
    project.build()
    first = project.embedded()
    source = project.source / "fill.metal"
    times = source.stat()
    project.write_shader(9)
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    project.build()
    second = project.embedded()
    assert second == project.module()
    assert len(second) == len(first)
    assert second != first


def test_both_halves_of_a_pack_in_one_program(tmp_path: Path) -> None:
    require_glsl()
    project = EmbedProject(tmp_path)
    (project.source / "fill.comp").write_text(SHADER % 7)
    manifest = MANIFEST.replace("targets:", "targets:\n  vulkan: {api: vulkan}")
    manifest = manifest.replace("fill: {", "fill: {vulkan: {file: fill.comp, symbol: demo_fill}, ")
    (project.source / "demo.yaml").write_text(f"{manifest}  - {{kind: c-header, target: vulkan}}\n")
    lines = (project.source / "CMakeLists.txt").read_text()
    add = 'shaderpack_add_bundle(program "${CMAKE_CURRENT_SOURCE_DIR}/demo.yaml")\n'
    (project.source / "CMakeLists.txt").write_text(lines + add)
    (project.source / "main.c").write_text(BOTH)
    project.configure()
    project.build()
    spirv = (project.binary / "shaders/demo/vulkan/demo_fill.spv").read_bytes()
    assert project.embedded() == project.module() + spirv
    assert not re.search("Building|Linking", project.build())


def test_missing_language_is_explained(tmp_path: Path) -> None:
    project = EmbedProject(tmp_path)
    lines = (project.source / "CMakeLists.txt").read_text()
    (project.source / "CMakeLists.txt").write_text(lines.replace(" ASM", ""))
    with pytest.raises(AssertionError, match=r"add ASM to the\s+languages"):
        project.configure()
