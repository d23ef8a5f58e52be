"""The SPIR-V reader on modules that no compiler writes: every fault is named, time and memory stay linear."""

from __future__ import annotations

import struct
import time
import tracemalloc
from collections.abc import Callable
from typing import TypeVar

import pytest

from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.spirv import Module, read_module

_Result = TypeVar("_Result")

BLOCK, BINDING, BUILT_IN = 2, 33, 11
UINT = 2


def instruction(opcode: int, *operands: int) -> list[int]:
    return [(len(operands) + 1) << 16 | opcode, *operands]


def module(*instructions: list[int], bound: int = 1_000_000) -> bytes:
    """A module without functions: capability Linkage, so that it needs no entry point."""
    words = [0x07230203, 0x00010500, 0, bound, 0, *instruction(17, 5), *instruction(14, 0, 1)]
    for item in instructions:
        words += item
    return struct.pack(f"<{len(words)}I", *words)


def uint(identifier: int = UINT) -> list[int]:
    return instruction(21, identifier, 32, 0)


def block(identifier: int) -> list[int]:
    return instruction(71, identifier, BLOCK)


def name(identifier: int, text: str) -> list[int]:
    raw = text.encode() + b"\0" * (4 - len(text) % 4)
    return instruction(5, identifier, *struct.unpack(f"<{len(raw) // 4}I", raw))


def below(depth: int, call: Callable[[], _Result]) -> _Result:
    return below(depth - 1, call) if depth else call()


@pytest.mark.parametrize(
    ("instructions", "words"),
    [
        ([block(5), instruction(30, 5, 5)], "contains itself"),
        ([instruction(30, 5, 6), instruction(30, 6, 5)], "contains itself"),
        ([instruction(28, 5, 5, 7)], "contains itself"),
        ([uint(), instruction(43, UINT, UINT, 1)], "defined twice"),
        ([uint(), instruction(23, UINT, UINT, 2)], "defined twice"),
        ([instruction(54, 1, 9, 0, 2), instruction(56), instruction(54, 1, 9, 0, 2), instruction(56)], "defined twice"),
        ([instruction(7, 9, 0), instruction(11, 9, 0)], "defined twice"),
        ([uint(1_000_000)], "outside the bound"),
        ([uint(0)], "outside the bound"),
        ([instruction(30, 5, 1_000_001)], "outside the bound"),
        ([instruction(71, 0, BLOCK)], "outside the bound"),
        ([instruction(5, 1_000_000, 0)], "outside the bound"),
        ([instruction(71, 9, BINDING, 1), instruction(71, 9, BINDING, 2)], "decorated twice"),
        ([instruction(15, 5, 9, 0x61, 0), instruction(15, 5, 8, 0x61, 0)], "declared twice"),
        ([instruction(5, 9, 0x61616161)], "string has no end"),
        ([instruction(5, 9)], "lacks operands"),
        ([instruction(31)], "lacks operands"),
        ([uint(), instruction(30, 5, *[UINT] * 16_384)], "more levels or members"),
        ([uint(), *(instruction(29, i, i - 1) for i in range(3, 300))], "more levels or members"),
        ([uint(), instruction(30, 5, UINT), instruction(23, 6, 5, 4)], "not made of"),
        ([uint(), instruction(24, 6, UINT, 4)], "not made of"),
        ([instruction(59, 7, 8, 12), instruction(71, 8, BINDING, 0)], "not a pointer"),
        ([instruction(15, 5, 9, 0x61, 0)], "function that is not there"),
    ],
)
def test_each_fault_is_named_from_any_stack_depth(instructions: list[list[int]], words: str) -> None:
    data = module(*instructions)
    with pytest.raises(FormatError, match=words):
        below(600, lambda: read_module(data))


def test_every_instruction_may_be_cut_to_any_length() -> None:
    for opcode in range(400):
        for count in range(6):
            for filler in (0, 1, 5):
                try:
                    read_module(module(instruction(opcode, *[filler] * count)))
                except FormatError:
                    continue


def many_arrays_of_one_name() -> bytes:
    arrays = [instruction(29, i, 3) for i in range(10, 8_000)]
    outer = [instruction(29, 10_000 + i, i) for i in range(10, 8_000)]
    return module(
        name(3, "n" * 200_000), block(4), uint(), instruction(30, 3, UINT), *arrays, *outer,
        instruction(30, 4, *range(10_010, 18_000)),
    )  # fmt: skip


def many_bindings_of_one_block() -> bytes:
    variables = [instruction(59, 4, 100 + i, 12) for i in range(8_000)]
    bindings = [instruction(71, 100 + i, BINDING, i) for i in range(8_000)]
    members = instruction(30, 3, *[UINT] * 8_000)
    return module(*bindings, block(3), uint(), members, instruction(32, 4, 12, 3), *variables)


def many_entry_points_and_decorations() -> bytes:
    entries = [instruction(15, 5, 9, 0x30303030 + i % 64 + (i // 64 << 8), 0) for i in range(4_000)]
    decorations = [instruction(71, 20 + i, BUILT_IN, 4) for i in range(8_000)]
    return module(*entries, *decorations, instruction(54, 1, 9, 0, 2), instruction(56))


def structs_that_share_members() -> bytes:
    structs = [instruction(30, i, i - 1, i - 1) for i in range(3, 200)]
    return module(block(199), uint(), *structs)


def one_group_on_many_targets() -> bytes:
    return module(*(instruction(71, 9, d, 1) for d in range(40)), instruction(74, 9, *range(10, 60_000)))


@pytest.mark.parametrize(
    "make",
    [
        many_arrays_of_one_name, many_bindings_of_one_block, many_entry_points_and_decorations,
        structs_that_share_members, one_group_on_many_targets,
    ],
)  # fmt: skip
def test_time_and_memory_are_linear(make: Callable[[], bytes]) -> None:
    data = make()
    begun = time.monotonic()
    read_module(data)
    assert time.monotonic() - begun < 2
    tracemalloc.start()
    try:
        read_module(data)
        assert tracemalloc.get_traced_memory()[1] < 300 * len(data)
    finally:
        tracemalloc.stop()


def test_a_pointer_may_be_named_before_it_is_declared() -> None:
    forward = [instruction(39, 6, 5349), uint(), instruction(30, 5, 6, UINT), instruction(32, 6, 5349, 5)]
    read: Module = read_module(module(block(5), instruction(72, 5, 1, 35, 8), *forward))
    (found,) = read.structs
    assert [(m.offset, m.size, m.type) for m in found.members] == [(0, 8, "pointer"), (8, 4, "uint")]
