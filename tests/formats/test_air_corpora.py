"""The AIR reader on every function of the pinned libraries, against what their containers record."""

from __future__ import annotations

import random

import pytest

from shaderc_tool.formats.air import read_air
from shaderc_tool.formats.metallib import Function, Library, read_library
from tests.corpora import metallibs

SMALL = ["gpt4all", "msplat"]
LARGE = ["pennylane-metal", "metal-linalg", "metal-flash-sdpa", "mlx", "mlx-metal"]
SAMPLE = 1500


def _functions(package: str) -> list[tuple[Library, Function]]:
    libraries = [read_library(data) for _, data in metallibs(package)]
    found = [(library, function) for library in libraries for function in library.functions]
    return random.Random(package).sample(found, SAMPLE) if len(found) > SAMPLE else found


def _check(library: Library, function: Function) -> None:
    module = read_air(bytes(function.bitcode))
    (entry,) = module.entry_points
    assert (entry.name, entry.stage) == (function.name, function.type_name)
    assert module.air_version == function.air_version
    assert module.language_version == function.language_version
    assert module.platform == "macos"
    assert module.deployment_target[:2] == library.os_version[:2]
    assert module.compiler.startswith("Apple metal version ")
    assert module.fast_math is not None
    assert sorted((c.index, c.name) for c in module.function_constants) == sorted(
        (c.index, c.name) for c in function.constants
    )
    assert [a.position for a in entry.arguments] == list(range(len(entry.arguments)))
    for argument in entry.arguments:
        assert argument.name
        assert argument.type_name
        if argument.is_buffer:
            assert argument.index >= 0
            assert argument.address_space in (1, 2, 3)
            assert argument.access in ("read", "read_write", "write")
            assert argument.type_name == "void" or argument.size > 0
            for field in argument.fields:
                assert field.offset + field.size * max(1, field.count) <= max(argument.size, argument.buffer_size)


@pytest.mark.parametrize("package", [*SMALL, *(pytest.param(p, marks=pytest.mark.corpus) for p in LARGE)])
def test_air_agrees_with_its_container(package: str) -> None:
    functions = _functions(package)
    assert functions
    for library, function in functions:
        _check(library, function)


def test_struct_layout_of_a_known_kernel() -> None:
    """`metal::_atomic<uint>` of msplat's tile counter, and a vector passed by reference."""
    module = next(
        read_air(bytes(f.bitcode)) for _, f in _functions("msplat") if f.name == "scatter_to_prealloc_bins_kernel"
    )
    entry = module.entry_points[0]
    counters = entry.buffer(6)
    bounds = entry.buffer(5)
    assert counters is not None
    assert bounds is not None
    assert [(f.name, f.type_name, f.offset, f.size) for f in counters.fields] == [("__s", "uint", 0, 4)]
    assert (bounds.type_name, bounds.size, bounds.align, bounds.buffer_size) == ("uint3", 16, 16, 16)
    assert module.intrinsics == (
        "air.atomic.global.add.u.i32",
        "air.atomic.global.store.i32",
        "air.convert.s.i32.f.f32",
        "air.max.s.i32",
        "air.min.s.i32",
    )
