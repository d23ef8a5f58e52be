"""Struct layouts of host, Metal and SPIR-V: real compilers on all three sides, with mismatches planted."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from shaderc_tool.audit.host_layouts import read_host_layouts
from shaderc_tool.audit.layouts import Field, Layout, differences, parse_record_layouts, static_asserts
from shaderc_tool.audit.rules_structs import ShaderStruct, check_structs
from shaderc_tool.build.pipeline import build
from shaderc_tool.build.records import BuildResult
from shaderc_tool.build.session import BuildRequest
from shaderc_tool.diagnostics import Place
from shaderc_tool.manifest.model import StructHeader
from tests.tools import missing, require_glsl, require_tool

PLACE = Place("m.yaml", 1)
HEADER = """\
#pragma once
#ifndef __METAL_VERSION__
#include <stdint.h>
#endif
typedef struct shape { float scale[3]; uint32_t flags; } shape;
typedef struct demo_args {
    uint32_t rows;
    shape outer;
    uint64_t stride[2];
    uint16_t a, b;
    float last;
} demo_args;
"""
MANIFEST = """\
schema: 1
pack: demo
targets:
  macos: {api: metal, sdk: macosx, min_os: "14.0", std: metal3.1}
  vulkan: {api: vulkan}
kernels:
  k:
    verify: demo
    metal: {file: k.metal, functions: {kernel_k: {buffers: [x, args], args: [rows, "pad: float", "gain: float"]}}}
    vulkan: {file: k.comp, symbol: demo_k, push_constants: [rows, "pad: float", "gain: float"]}
audit: {structs: [args.h]}
"""
ARGS = "typedef struct k_args { uint32_t rows; float pad; float gain; } k_args;\n"
METAL = """\
#include <metal_stdlib>
#include "args.h"
kernel void kernel_k(device float *x [[buffer(0)]], constant k_args &args [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
    if (i < args.rows) { x[i] *= args.gain; }
}
"""
COMP = """\
#version 450
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer X { float x[]; };
layout(push_constant) uniform Push { uint rows; float pad; float gain; } push;
void main() { if (gl_GlobalInvocationID.x < push.rows) x[gl_GlobalInvocationID.x] *= push.gain + push.pad; }
"""


def host(text: str, folder: Path) -> dict[str, Layout]:
    (folder / "args.h").write_text(text)
    records, faults = read_host_layouts(folder, "args.h", PLACE)
    if any("not installed" in d.cause for d in faults):
        missing("ziglang")
    assert not faults, faults
    return records


def test_clang_s_layout_of_nested_structs_and_arrays(tmp_path: Path) -> None:
    args = host(HEADER, tmp_path)["demo_args"]
    assert [(field.name, field.offset) for field in args.fields] == [
        ("rows", 0), ("outer.scale", 4), ("outer.flags", 16), ("stride", 24), ("a", 40), ("b", 42), ("last", 44),
    ]  # fmt: skip
    assert args.size == 48


@pytest.mark.parametrize("language", ["c", "c++"])
def test_the_asserts_hold_for_a_real_compiler_and_break_when_an_offset_is_wrong(language: str, tmp_path: Path) -> None:
    args = host(HEADER, tmp_path)["demo_args"]
    wrong = Layout("demo_args", (*args.fields[:-1], Field("last", 48, "float")), 52)
    for layout, ok in ((args, True), (wrong, False)):
        (tmp_path / "layout.h").write_text(static_asserts("args.h", [layout]))
        argv = [require_tool("gcc"), "-x", language, "-Wall", "-Werror", "-fsyntax-only", "layout.h"]
        run = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert (run.returncode == 0) is ok, run.stderr
        assert ok or "demo_args.last is at byte 48 in the shaders" in run.stderr


def test_a_header_that_does_not_compile_says_why(tmp_path: Path) -> None:
    (tmp_path / "args.h").write_text("struct broken { no_such_type x; };\n")
    _, (fault,) = read_host_layouts(tmp_path, "args.h", PLACE)
    assert fault.code == "SP4066"
    assert "no_such_type" in fault.cause
    assert read_host_layouts(tmp_path, "gone.h", PLACE)[1][0].cause == "the file is not there"


def test_unknown_text_gives_no_layout() -> None:
    assert parse_record_layouts("*** Dumping AST Record Layout\nnonsense") == {}
    assert parse_record_layouts("") == {}


def test_t21_both_offsets_are_named() -> None:
    record = Layout("args", (Field("v", 0, "float[3]"), Field("w", 12, "float")), 16)
    shader = Layout("args", (Field("v", 0, "float3"), Field("w", 16, "float")), 32)
    assert differences(record, shader) == ["w is at byte 16 in the shader, at byte 12 in the host's struct"]
    unnamed = Layout("", (Field("", 0, "vec3"), Field("", 16, "float")), 20)
    assert differences(record, unnamed) == differences(record, shader)
    assert differences(record, Layout("args", record.fields, 32)) == [
        "the shader reads 32 bytes, the host's struct has 16"
    ]
    (extra,) = differences(record, Layout("args", record.fields[:1], 12))
    assert extra == "w is at byte 12 in the host's struct and not in the shader"


def test_an_entry_that_compares_nothing_is_an_error() -> None:
    record = {"args": Layout("args", (Field("n", 0, "uint"),), 4)}
    struct = ShaderStruct("demo_k", "vulkan", "SPIR-V", Layout("", (Field("", 4, "uint"),), 8), "k.comp")
    named = StructHeader("a.h", PLACE, "args", ("demo_*",))
    assert [d.code for d in check_structs(named, record, [struct])] == ["SP4065"]
    assert [d.code for d in check_structs(named, record, [])] == ["SP4066"]
    assert [d.code for d in check_structs(StructHeader("a.h", PLACE, "typo", ("demo_*",)), record, [struct])] == [
        "SP4066"
    ]


class Demo:
    """A pack with one kernel in both languages and one header."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder, self.cache = folder, cache
        folder.mkdir()
        self.texts = {"m.yaml": MANIFEST, "k.metal": METAL, "k.comp": COMP, "args.h": GUARD + ARGS}

    def build(self) -> BuildResult:
        for name, text in self.texts.items():
            (self.folder / name).write_text(text)
        request = BuildRequest(self.folder / "m.yaml", self.folder / "out", metal_toolchain="portable")
        return build(request, {**os.environ, "SHADERPACK_CACHE": str(self.cache)})


GUARD = "#ifndef __METAL_VERSION__\n#include <stdint.h>\n#endif\n"


def test_a_build_proves_all_three_and_reports_a_planted_padding(tmp_path: Path) -> None:
    require_glsl()
    pytest.importorskip("llvmlite")
    demo = Demo(tmp_path / "demo", tmp_path / "cache")
    result = demo.build()
    assert result.ok, result.diagnostics
    # The host inserts 8 bytes; the shaders keep their own view of the struct.
    demo.texts["k.metal"] = METAL.replace('#include "args.h"\n', ARGS)
    demo.texts["args.h"] = GUARD + ARGS.replace("float pad;", "double pad;")
    result = demo.build()
    found = {d.subject: d for d in result.diagnostics if d.code == "SP4065"}
    assert set(found) == {"kernel_k", "demo_k"}
    for diagnostic in found.values():
        assert "pad is at byte 4 in the shader, at byte 8 in the host's struct" in diagnostic.message
        assert "gain is at byte 8 in the shader, at byte 16 in the host's struct" in diagnostic.message
    # Putting the header right is seen although no output changes.
    demo.texts["args.h"] = GUARD + ARGS
    assert demo.build().ok
