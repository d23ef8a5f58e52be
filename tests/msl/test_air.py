"""The AIR that is emitted, and the passes that make it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shaderc_tool.formats.air import read_air
from shaderc_tool.formats.metallib import read_library
from shaderc_tool.msl.air.bitcode import assemble, disassemble, entry_names, split_functions
from shaderc_tool.msl.air.intrinsics import lower_intrinsics
from shaderc_tool.msl.air.module import parse_module
from shaderc_tool.msl.air.profiles import profile
from shaderc_tool.msl.air.spaces import infer_address_spaces
from shaderc_tool.msl.link import link_metallib
from shaderc_tool.msl.options import MslOptions
from tests.msl.compiling import clean, compile_body, compile_text

TWO = (
    "struct Inner { half2 h; uchar c[3]; }; struct Args { uint n; float scale; packed_float3 p; float4x4 m;\n"
    "  Inner inner[2]; ulong stride; bool flag; enum E : uchar { a } e; };\n"
    "constant bool on [[function_constant(3)]]; constant float gain [[function_constant(4)]];\n"
    "[[max_total_threads_per_threadgroup(128)]] kernel void first(device const float4 *x [[buffer(2)]],\n"
    "  constant Args &args [[buffer(0)]], device float *y [[buffer(5)]], threadgroup half *t [[threadgroup(1)]],\n"
    "  device uchar *maybe [[buffer(6), function_constant(on)]], ushort3 g [[threadgroup_position_in_grid]],\n"
    "  uint unused [[thread_index_in_simdgroup]]) {\n"
    "  t[g.x] = half(x[g.x].y); y[g.y] = args.scale + t[0] * args.inner[1].h.x; if (on) maybe[0] = 1; }\n"
    "kernel void second(device atomic_int *a, constant uint *b, uint i [[thread_position_in_grid]]) {\n"
    "  atomic_fetch_add_explicit(a, int(b[i] * gain), memory_order_relaxed); }\n"
)


def _air(body: str, **options: str) -> bytes:
    bitcode = clean(compile_body(body, **options)).bitcode
    assert bitcode is not None
    return bitcode


def test_arguments_as_the_independent_reader_sees_them() -> None:
    module = read_air(_air(TWO))
    first, second = module.entry_points
    table = [(a.kind, a.name, a.type_name, a.index, a.access, a.address_space, a.unused) for a in first.arguments]
    assert table == [
        ("buffer", "x", "float4", 2, "read", 1, False),
        ("buffer", "args", "Args", 0, "read", 2, False),
        ("buffer", "y", "float", 5, "read_write", 1, False),
        ("buffer", "t", "half", 1, "read_write", 3, False),
        ("buffer", "maybe", "uchar", 6, "read_write", 1, False),
        ("threadgroup_position_in_grid", "g", "ushort3", -1, "", None, False),
        ("thread_index_in_simdgroup", "unused", "uint", -1, "", None, True),
    ]
    assert first.max_threads == 128
    assert [(a.name, a.type_name, a.index) for a in second.arguments[:2]] == [
        ("a", "metal::_atomic", 0),
        ("b", "uint", 1),
    ]
    assert first.arguments[4].constant == "on"


def test_structure_layout() -> None:
    (args,) = [a for a in read_air(_air(TWO)).entry_points[0].arguments if a.name == "args"]
    assert (args.buffer_size, args.size, args.align) == (128, 128, 16)
    layout = [(f.name, f.type_name, f.offset, f.size, f.count) for f in args.fields]
    assert layout == [
        ("n", "uint", 0, 4, 0),
        ("scale", "float", 4, 4, 0),
        ("p", "packed_float3", 8, 12, 0),
        ("m", "float4x4", 32, 64, 0),
        ("inner", "Inner", 96, 8, 2),
        ("stride", "ulong", 112, 8, 0),
        ("flag", "bool", 120, 1, 0),
        ("e", "uchar", 121, 1, 0),
    ]
    inner = next(f for f in args.fields if f.name == "inner")
    assert [(f.name, f.type_name, f.offset, f.size, f.count) for f in inner.fields] == [
        ("h", "half2", 0, 4, 0),
        ("c", "uchar", 4, 1, 3),
    ]


PROFILES = [
    ("macos", "13.0", "metal3.0", "air64-apple-macosx13.0.0", (2, 5)),
    ("macos", "14.0", "metal3.1", "air64-apple-macosx14.0.0", (2, 6)),
    ("macos", "15.2", "metal3.2", "air64-apple-macosx15.2.0", (2, 7)),
    ("macos", "26.0", "metal4.0", "air64_v28-apple-macosx26.0.0", (2, 8)),
    ("ios", "16.0", "metal3.0", "air64-apple-ios16.0.0", (2, 5)),
    ("ios", "17.0", "metal3.1", "air64-apple-ios17.0.0", (2, 6)),
    ("ios", "18.0", "metal3.2", "air64-apple-ios18.0.0", (2, 7)),
    ("ios", "26.0", "metal4.0", "air64_v28-apple-ios26.0.0", (2, 8)),
    ("ios-simulator", "17.0", "metal3.1", "air64-apple-ios17.0.0-simulator", (2, 6)),
    ("visionos", "1.0", "metal3.1", "air64-apple-xros1.0.0", (2, 6)),
    ("mac-catalyst", "17.0", "metal3.1", "air64-apple-ios17.0.0-macabi", (2, 6)),
]


@pytest.mark.parametrize(("platform", "min_os", "std", "triple", "air"), PROFILES)
def test_module_marks_of_each_system(platform: str, min_os: str, std: str, triple: str, air: tuple[int, int]) -> None:
    module = read_air(_air(TWO, platform=platform, min_os=min_os, std=std))
    assert module.triple == triple
    assert module.air_version[:2] == air
    assert module.language_version[:2] == MslOptions(std=std).language
    assert module.fast_math is False
    assert dict(module.limits)["air.max_device_buffers"] == 31


def test_a_system_that_is_too_old_has_no_profile() -> None:
    with pytest.raises(ValueError, match="oldest that is modelled"):
        profile(MslOptions(platform="macos", min_os="10.15"))


def test_math_modes_differ_in_flags_and_intrinsics() -> None:
    body = (
        "kernel void f(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]])"
        " { x[i] = sin(x[i]) * 2.0f + precise::cos(x[i]) + fast::exp(x[i]); }"
    )
    safe, fast = (clean(compile_body(body, math=m)).air_ir or "" for m in ("safe", "fast"))
    for text, own in ((safe, "air.sin.f32"), (fast, "air.fast_sin.f32")):
        assert f"@{own}(" in text
        assert "@air.cos.f32(" in text
        assert "@air.fast_exp.f32(" in text
    assert " fast " not in safe
    assert "fmul fast" in fast or "fadd fast" in fast
    assert '"unsafe-fp-math"="true"' in fast


def test_debug_information_is_line_tables_of_the_users_file(tmp_path: Path) -> None:
    (tmp_path / "h.h").write_text("inline float twice(float x) {\n    return x * 2.0f;\n}\n")
    source = (
        '#include <metal_stdlib>\n#include "h.h"\nusing namespace metal;\n'
        "kernel void f(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
        "    x[i] = twice(sin(x[i]));\n}\n"
    )
    result = clean(compile_text(source, "dir/f.metal", include_dirs=(".",), debug=True, cwd=tmp_path))
    text = result.air_ir or ""
    assert re.search(r'DISubprogram\(name: "f", scope: !\d+, file: !\d+, line: 4,', text)
    assert re.search(r'DISubprogram\(name: "twice", scope: !\d+, file: !\d+, line: 1,', text)
    assert re.search(r"DILocation\(line: 5, column: \d+, scope", text)
    assert 'DIFile(filename: "dir/f.metal"' in text
    assert "LineTablesOnly" in text
    assert "DILocalVariable" not in text
    assert str(tmp_path) not in text
    plain = clean(compile_text(source, "dir/f.metal", include_dirs=(".",), cwd=tmp_path))
    assert "DILocation" not in (plain.air_ir or "")
    assert result.bitcode is not None
    link_metallib([result.bitcode], "macos", "14.0")


def test_only_names_from_apples_libraries_are_called() -> None:
    text = clean(compile_body(TWO)).air_ir or ""
    for name in re.findall(r"declare .*?@([\w.]+)\(", text):
        assert name.startswith(("air.", "llvm.")), name


def test_link_makes_one_module_for_each_function() -> None:
    library = read_library(
        link_metallib([_air(TWO), _air("kernel void third(device int *x) { x[0] = 1; }")], "macos", "14.0")
    )
    assert [f.name for f in library.functions] == ["first", "second", "third"]
    for function in library.functions:
        module = read_air(bytes(function.bitcode))
        assert [e.name for e in module.entry_points] == [function.name]
        assert module.source_name == function.name
    constants = {f.name: [(c.name, c.index) for c in f.constants] for f in library.functions}
    assert constants == {"first": [("on", 3)], "second": [("gain", 4)], "third": []}


def test_host_names_need_not_be_identifiers() -> None:
    names = ["ns::scale<float>", 'a "b" c', "größe", "x.y-z"]
    lines = [
        f"template [[host_name({name!r})]] kernel void scale<{kind}>(device {kind} *, uint);".replace("'", '"')
        if '"' not in name
        else f'template [[host_name("a \\"b\\" c")]] kernel void scale<{kind}>(device {kind} *, uint);'
        for name, kind in zip(names, ("float", "half", "int", "uint"), strict=True)
    ]
    body = "template <typename T> kernel void scale(device T *x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }\n"
    library = read_library(link_metallib([_air(body + "\n".join(lines))], "macos", "14.0"))
    assert [f.name for f in library.functions] == names


def test_link_refuses_two_functions_of_one_name() -> None:
    with pytest.raises(ValueError, match="first"):
        link_metallib([_air(TWO), _air(TWO)], "macos", "14.0")


def test_bitcode_round_trip() -> None:
    bitcode = _air(TWO)
    assert entry_names(bitcode) == ["first", "second"]
    assert read_air(assemble(disassemble(bitcode))) == read_air(bitcode)
    for name, text in split_functions(disassemble(bitcode)):
        assert assemble(text)[:4] == bytes.fromhex("dec0170b"), name


GENERIC = """
define void @f(float addrspace(1)* %0, float addrspace(3)* %1, i1 %2) {
  %4 = addrspacecast float addrspace(1)* %0 to float addrspace(4)*
  %5 = getelementptr inbounds float, float addrspace(4)* %4, i64 3
  br label %6

6:                                                ; preds = %6, %3
  %7 = phi float addrspace(4)* [ %5, %3 ], [ %8, %6 ]
  %8 = getelementptr inbounds float, float addrspace(4)* %7, i64 1
  %9 = load float, float addrspace(4)* %8, align 4
  store float %9, float addrspace(4)* %7, align 4
  %10 = bitcast float addrspace(4)* %8 to i32 addrspace(4)*
  %11 = load i32, i32 addrspace(4)* %10, align 4
  %12 = alloca [4 x float], align 4
  %13 = bitcast [4 x float]* %12 to i8*
  %14 = bitcast float addrspace(4)* %7 to i8 addrspace(4)*
  call void @llvm.memcpy.p0i8.p4i8.i64(i8* align 4 %13, i8 addrspace(4)* align 4 %14, i64 16, i1 false)
  %15 = select i1 %2, float addrspace(4)* %7, float addrspace(4)* %8
  %16 = icmp eq float addrspace(4)* %15, null
  br i1 %16, label %6, label %17

17:                                               ; preds = %6
  ret void
}
declare void @llvm.memcpy.p0i8.p4i8.i64(i8* nocapture writeonly, i8 addrspace(4)* nocapture readonly, i64, i1 immarg)
"""


def test_generic_pointers_get_their_space() -> None:
    module = parse_module(GENERIC)
    assert infer_address_spaces(module) == []
    text = module.text()
    assert "addrspace(4)" not in text
    assert "@llvm.memcpy.p0i8.p1i8.i64(" in text
    assemble('target triple = "air64-apple-macosx14.0.0"\n' + text)


def test_a_pointer_of_two_spaces_is_reported() -> None:
    mixed = GENERIC.replace(
        "%15 = select i1 %2, float addrspace(4)* %7, float addrspace(4)* %8",
        "%x = addrspacecast float addrspace(3)* %1 to float addrspace(4)*\n"
        "  %15 = select i1 %2, float addrspace(4)* %7, float addrspace(4)* %x",
    )
    assert infer_address_spaces(parse_module(mixed)) == ["f"]


@pytest.mark.parametrize(
    ("call", "declaration", "becomes"),
    [
        ("call i32 @llvm.abs.i32(i32 %0, i1 false)", "i32 @llvm.abs.i32(i32, i1 immarg)", "@air.abs.s.i32(i32 %0)"),
        ("call i32 @llvm.ctpop.i32(i32 %0)", "i32 @llvm.ctpop.i32(i32)", "@air.popcount.i32(i32 %0)"),
        ("call i32 @llvm.ctlz.i32(i32 %0, i1 true)", "i32 @llvm.ctlz.i32(i32, i1 immarg)",
         "@air.clz.i32(i32 %0, i1 true)"),
        ("call i32 @llvm.umax.i32(i32 %0, i32 7)", "i32 @llvm.umax.i32(i32, i32)", "@llvm.umax.i32(i32 %0, i32 7)"),
        ("call i32 @llvm.fshl.i32(i32 %0, i32 %0, i32 5)", "i32 @llvm.fshl.i32(i32, i32, i32)",
         "@shaderpack.fshl.i32(i32 %0, i32 %0, i32 5)"),
    ],
)  # fmt: skip
def test_intrinsics_are_replaced_by_what_apple_takes(call: str, declaration: str, becomes: str) -> None:
    module = parse_module(f"define i32 @f(i32 %0) {{\n  %2 = {call}\n  ret i32 %2\n}}\ndeclare {declaration}\n")
    assert lower_intrinsics(module) == []
    text = module.text()
    assert becomes in text
    assemble(text)


def test_an_intrinsic_without_a_stand_in_is_named() -> None:
    module = parse_module(
        "define i32 @f(i32 %0) {\n  %2 = call i32 @llvm.bswap.i32(i32 %0)\n  ret i32 %2\n}\n"
        "declare i32 @llvm.bswap.i32(i32)\n"
    )
    assert lower_intrinsics(module) == ["llvm.bswap.i32"]
