"""The AIR reader on modules written for the purpose: every kind of argument, old and new metadata, damage."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shaderc_tool.formats.air import read_air, read_air_text
from shaderc_tool.formats.bitcode import disassemble, unwrap
from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.llvm_metadata import Metadata, Ref, Symbol, split_operands, unescape
from shaderc_tool.formats.llvm_types import TypeLayout, TypeTable
from tests.verify.air_text import Buffer, Builtin, assemble, module_text

PARAMS = (Buffer(0, "float", 2, reference=4, name="scale"), Buffer(3, "i32", name="data"), Builtin("threads_per_grid"))
TEXT = module_text(PARAMS, "  ret void")


def test_kernel_arguments() -> None:
    entry = read_air(assemble(TEXT)).entry_point("k")
    scale, data, builtin = entry.arguments
    assert (scale.kind, scale.index, scale.name, scale.access, scale.address_space) == ("buffer", 0, "scale", "read", 2)
    assert (scale.type_name, scale.size, scale.align, scale.buffer_size) == ("float", 4, 4, 4)
    assert (data.index, data.access, data.address_space, data.buffer_size) == (3, "read_write", 1, 0)
    assert (builtin.kind, builtin.index, builtin.is_builtin) == ("threads_per_grid", -1, True)
    assert entry.buffer(3) == data
    assert entry.buffer(1) is None
    with pytest.raises(KeyError):
        read_air(assemble(TEXT)).entry_point("other")


def test_module_facts() -> None:
    module = read_air(assemble(TEXT))
    assert (module.air_version, module.language, module.language_version) == ((2, 6, 0), "Metal", (3, 1, 0))
    assert module.compiler == "test compiler 1.0"
    assert (module.fast_math, module.denormals_flushed) == (False, True)
    assert module.source_name == "k"


@pytest.mark.parametrize(
    ("triple", "platform", "target"),
    [
        ("air64-apple-macosx12.6.0", "macos", (12, 6, 0)),
        ("air64_v26-apple-macosx14.0.0", "macos", (14, 0, 0)),
        ("air64_v28-apple-ios26.0.0-simulator", "ios-simulator", (26, 0, 0)),
        ("air64-apple-ios11.3.0", "ios", (11, 3, 0)),
        ("air64-apple-ios16.0.0-macabi", "mac-catalyst", (16, 0, 0)),
        ("air64_v27-apple-xros2.0.0", "visionos", (2, 0, 0)),
        ("air64-apple-tvos17.0.0", "tvos", (17, 0, 0)),
        ("air64-apple-watchos9.0.0-simulator", "watchos-simulator", (9, 0, 0)),
        ("air64-apple-plan9", "unknown", (9,)),
    ],
)
def test_platform(triple: str, platform: str, target: tuple[int, ...]) -> None:
    module = read_air_text(TEXT.replace("air64-apple-macosx14.0.0", triple))
    assert (module.platform, module.deployment_target) == (platform, target)


def test_address_space_from_the_function_type() -> None:
    """AIR 2.4 and older do not record it in the argument."""
    text = TEXT.replace('!"air.address_space", i32 1, ', "").replace('!"air.address_space", i32 2, ', "")
    scale, data, _ = read_air_text(text).entry_points[0].arguments
    assert (scale.address_space, data.address_space) == (2, 1)


GRAPHICS = """
source_filename = "shade"
target triple = "air64-apple-ios11.3.0"
define <4 x float> @vert(i32 %0, <4 x float> addrspace(1)* %1) {
  ret <4 x float> zeroinitializer
}
define <4 x float> @frag(<4 x float> %0, i8 addrspace(1)* %1, i8 addrspace(2)* %2) {
  ret <4 x float> zeroinitializer
}
!air.vertex = !{!0}
!air.fragment = !{!8}
!air.version = !{!15}
!air.language_version = !{!16}
!0 = !{<4 x float> (i32, <4 x float> addrspace(1)*)* @vert, !1, !4}
!1 = !{!2, !3}
!2 = !{!"air.position", !"air.arg_type_name", !"float4", !"air.arg_name", !"pos"}
!3 = !{!"air.vertex_output", !"generated(5colorDv4_f)", !"air.arg_type_name", !"float4", !"air.arg_name", !"color"}
!4 = !{!5, !6}
!5 = !{i32 0, !"air.vertex_id", !"air.arg_type_name", !"uint", !"air.arg_name", !"id"}
!6 = !{i32 1, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.arg_type_size", i32 16, !"air.arg_type_align_size", i32 16, !"air.arg_type_name", !"float4", !"air.arg_name", !"\\CF\\80"}
!8 = !{<4 x float> (<4 x float>, i8 addrspace(1)*, i8 addrspace(2)*)* @frag, !9, !11}
!9 = !{!10}
!10 = !{!"air.render_target", i32 0, i32 0, !"air.arg_type_name", !"float4"}
!11 = !{!12, !13, !14}
!12 = !{i32 0, !"air.fragment_input", !"generated(5colorDv4_f)", !"air.center", !"air.perspective", !"air.arg_type_name", !"float4", !"air.arg_name", !"color"}
!13 = !{i32 1, !"air.texture", !"air.location_index", i32 2, i32 1, !"air.sample", !"air.arg_type_name", !"texture2d<float, sample>", !"air.arg_name", !"image"}
!14 = !{i32 2, !"air.sampler", !"air.location_index", i32 5, i32 1, !"air.arg_type_name", !"sampler", !"air.arg_name", !"filter", !"air.arg_unused"}
!15 = !{i32 2, i32 0, i32 0}
!16 = !{!"Metal", i32 2, i32 0, i32 0}
"""  # noqa: E501


def test_vertex_and_fragment_functions_of_air_2_0() -> None:
    module = read_air_text(GRAPHICS)
    vertex, fragment = module.entry_points
    assert (vertex.name, vertex.stage, fragment.name, fragment.stage) == ("vert", "vertex", "frag", "fragment")
    assert [(o.kind, o.name, o.type_name) for o in vertex.outputs] == [
        ("position", "pos", "float4"),
        ("vertex_output", "color", "float4"),
    ]
    assert vertex.arguments[1].name == "π"
    color, image, sampler = fragment.arguments
    assert color.qualifiers == ("generated(5colorDv4_f)", "air.center", "air.perspective")
    assert (image.kind, image.index, image.access) == ("texture", 2, "sample")
    assert (sampler.kind, sampler.index, sampler.unused) == ("sampler", 5, True)
    assert fragment.outputs[0].kind == "render_target"
    assert (module.air_version, module.fast_math) == ((2, 0, 0), None)


STRUCTS = """
!40 = !{i32 0, i32 4, i32 0, !"int", !"n", !"air.struct_type_info", !41, i32 8, i32 8, i32 3, !"Pair", !"pairs"}
!41 = !{i32 0, i32 4, i32 0, !"float", !"x", i32 4, i32 4, i32 0, !"float", !"y"}
!42 = !{i8 addrspace(2)* @pred, !"bool", !"has_mask"}
"""


def test_struct_fields_predicates_and_limits() -> None:
    text = module_text(
        PARAMS,
        "  ret void",
        before="@pred = internal addrspace(2) global i8 0\n"
        "%struct.S = type { i8, <3 x float>, [2 x i16] }\n"
        "@shared = internal unnamed_addr addrspace(3) global [4 x %struct.S] undef, align 16\n"
        "declare void @air.wg.barrier(i32, i32)\n"
        "declare void @helper()\n",
        nodes=STRUCTS,
        attributes='!"air.max_work_group_size", i32 256',
    )
    text = text.replace(
        '"air.buffer", !"air.location_index", i32 3',
        '"air.function_constant", !42, !"air.buffer", !"air.struct_type_info", !40, !"air.location_index", i32 3',
    )
    text = text.replace('i32 1, !"air.function_constant"', 'i32 1, !"air.function_constant"')
    module = read_air(assemble(text))
    data = module.entry_points[0].arguments[1]
    assert data.constant == "has_mask"
    n, pairs = data.fields
    assert (n.name, n.offset, n.size, n.count) == ("n", 0, 4, 0)
    assert (pairs.name, pairs.type_name, pairs.offset, pairs.count) == ("pairs", "Pair", 8, 3)
    assert [(f.name, f.offset) for f in pairs.fields] == [("x", 0), ("y", 4)]
    assert module.entry_points[0].max_threads == 256
    assert module.threadgroup_bytes == 4 * 48
    assert module.intrinsics == ("air.wg.barrier",)
    assert module.externals == ("helper",)


# --- LLVM types


@pytest.mark.parametrize(
    ("text", "alloc", "store", "align"),
    [
        ("i1", 1, 1, 1),
        ("i64", 8, 8, 8),
        ("half", 2, 2, 2),
        ("<3 x float>", 16, 12, 16),
        ("<3 x half>", 8, 6, 8),
        ("<3 x i8>", 4, 3, 4),
        ("<64 x float>", 256, 256, 256),
        ("<2 x i1>", 1, 1, 1),
        ("[5 x <3 x float>]", 80, 80, 16),
        ("float addrspace(1)*", 8, 8, 8),
        ("[2 x i8 addrspace(3)*]", 16, 16, 8),
        ("{ i8, i32, i8 }", 12, 12, 4),
        ("<{ i8, i32, i8 }>", 6, 6, 1),
        ("void (i32, { i8, i8 })*", 8, 8, 8),
        ("%struct.S", 24, 24, 8),
        ('[2 x %"struct.metal::array"]', 48, 48, 8),
    ],
)
def test_type_layout(text: str, alloc: int, store: int, align: int) -> None:
    types = TypeTable({"%struct.S": "{ i8, i64, i8 }", '%"struct.metal::array"': "{ %struct.S }"})
    assert types.layout(text) == TypeLayout(alloc, store, align)


@pytest.mark.parametrize("text", ["", "banana", "[3 y i32]", "{ i32", "<4 x >", "%unknown", "i32 )", "void (i32"])
def test_bad_types(text: str) -> None:
    with pytest.raises(FormatError):
        TypeTable().layout(text)


def test_a_type_that_contains_itself() -> None:
    with pytest.raises(FormatError):
        TypeTable({"%a": "{ %a }"}).layout("%a")


# --- metadata


def test_metadata_operands() -> None:
    metadata = Metadata(
        '\n!n = !{!0}\n!0 = distinct !{!1, i32 -3, i1 true, null, !"a\\22,b", [2 x i32] [i32 4, i32 5]}\n'
    )
    (node,) = metadata.named("n")
    assert node == (Ref(1), -3, True, None, 'a",b', (4, 5))
    assert metadata.named("absent") == []
    with pytest.raises(FormatError):
        metadata.node(Ref(1))


def test_metadata_symbols_keep_their_type() -> None:
    metadata = Metadata('\n!n = !{!0}\n!0 = !{void (i32, i8 addrspace(1)*)* @"a b", i8 addrspace(2)* @c}\n')
    assert metadata.named("n")[0] == (Symbol("a b", "void (i32, i8 addrspace(1)*)*"), Symbol("c", "i8 addrspace(2)*"))


@given(st.text(max_size=40))
def test_unescape_undoes_llvm_escapes(text: str) -> None:
    escaped = "".join(f"\\{byte:02X}" for byte in text.encode("utf-8", "replace"))
    assert unescape(escaped) == text.encode("utf-8", "replace").decode()


@given(st.lists(st.sampled_from(["i32 1", '!"a, b"', "{ i8, i8 } undef", "f (i8, [2 x i8])* @x"]), max_size=6))
def test_split_operands(parts: list[str]) -> None:
    assert split_operands(", ".join(parts)) == parts


# --- damage

BITCODE = assemble(TEXT)


def test_wrapper_and_raw_bitcode_read_alike() -> None:
    assert struct.unpack_from("<I", BITCODE)[0] == 0x0B17C0DE
    raw = unwrap(BITCODE)
    assert raw.startswith(b"BC\xc0\xde")
    assert disassemble(raw) == disassemble(BITCODE)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"BC",
        b"MTLB" + bytes(100),
        b"BC\xc0\xde",
        b"BC\xc0\xde" + bytes(64),
        struct.pack("<5I", 0x0B17C0DE, 0, 20, 100, 7),
        struct.pack("<5I", 0x0B17C0DE, 0, 4, 16, 7) + bytes(32),
        BITCODE[:-200],
        BITCODE[: len(BITCODE) // 2],
    ],
)
def test_damage_is_a_format_error(data: bytes) -> None:
    with pytest.raises(FormatError):
        read_air(data)


def test_other_targets_are_refused() -> None:
    with pytest.raises(FormatError, match="not AIR"):
        read_air_text('target triple = "x86_64-linux-gnu"\n')


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('!{i32 0, !"air.buffer"', '!{!"air.buffer"'),
        ("!3 = !{!100", "!3 = !{i32 5"),
        ('i32 3, i32 1, !"air.read_write"', 'i32 3, i32 1, !"air.arg_name"'),
        ("!1 = !{void (float addrspace(2)*", "!1 = !{i32 5}\n!99 = !{void (float addrspace(2)*"),
    ],
)
def test_metadata_of_unknown_shape(old: str, new: str) -> None:
    assert old in TEXT
    text = TEXT.replace(old, new)
    if "arg_name" in new:
        text = text.replace(
            ', !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"i32", !"air.arg_name", !"data"',  # noqa: E501
            "",
        )
        text = text.replace(', !"air.address_space", i32 1', "")
    with pytest.raises(FormatError):
        read_air_text(text)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_mutated_metadata_text_never_raises_anything_else(data: st.DataObject) -> None:
    start = TEXT.index("!llvm.ident")
    at = data.draw(st.integers(start, len(TEXT) - 1))
    end = data.draw(st.integers(at, min(len(TEXT), at + 12)))
    text = TEXT[:at] + data.draw(st.text(st.sampled_from('!{}"i32 ,@()x5\n'), max_size=6)) + TEXT[end:]
    with contextlib.suppress(FormatError):
        read_air_text(text)
