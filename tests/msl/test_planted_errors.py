"""Mistakes planted in Metal source: each is reported once, on its own line, in Metal's words."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from shaderc_tool.msl.options import MslResult
from tests.msl.compiling import SNIPPETS, compile_text

FILES = sorted((SNIPPETS / "errors").glob("*.metal"))
_EXPECT = re.compile(r"// expect(-before)?: (.*)")
_FOREIGN = re.compile(r"__\w|OpenCL|address_space|ext_vector|SPIR|\(aka|-W[a-z]")
"""The shim's and clang's own words, which no message may show."""


@cache
def _compiled(path: Path) -> MslResult:
    return compile_text(path.read_text("utf-8"), f"errors/{path.name}", cwd=SNIPPETS)


def _expected(path: Path) -> dict[int, str]:
    found: dict[int, str] = {}
    for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
        match = _EXPECT.search(line)
        if match is not None:
            found[number - 1 if match[1] else number] = match[2]
    return found


def test_there_are_enough_of_them() -> None:
    assert sum(len(_expected(path)) for path in FILES) >= 40


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_mistake_is_reported_once_on_its_line(path: Path) -> None:
    result = _compiled(path)
    assert result.status == "error"
    got = sorted((d.place.line, d.message) for d in result.diagnostics if d.place is not None)
    expected = sorted(_expected(path).items())
    assert [line for line, _ in got] == [line for line, _ in expected], got
    for (line, message), (_, pattern) in zip(got, expected, strict=True):
        assert re.search(pattern, message), f"line {line}: {message!r} does not match {pattern!r}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_columns_point_into_the_users_line(path: Path) -> None:
    lines = path.read_text("utf-8").split("\n")
    for diagnostic in _compiled(path).diagnostics:
        assert diagnostic.place is not None
        assert diagnostic.place.file == f"errors/{path.name}"
        code = lines[diagnostic.place.line - 1].split("//")[0]
        assert 1 <= diagnostic.place.column <= len(code) + 1
        assert code[diagnostic.place.column - 1 :].strip()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_messages_are_in_metals_words(path: Path) -> None:
    for diagnostic in _compiled(path).diagnostics:
        shown = [diagnostic.message, diagnostic.cause, diagnostic.fix, *(r.message for r in diagnostic.related)]
        for text in shown:
            assert not _FOREIGN.search(text), text


def test_the_same_mistake_in_two_instantiations_is_reported_once() -> None:
    source = (
        "#include <metal_stdlib>\nusing namespace metal;\n"
        "template <typename T> kernel void f(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
        "    x[i] = undeclared_factor * sizeof(T) + x.y;\n}\n"
        'template [[host_name("a")]] kernel void f<float>(device float *, uint);\n'
        'template [[host_name("b")]] kernel void f<half>(device half *, uint);\n'
    )
    result = compile_text(source)
    assert [d.place.line for d in result.diagnostics if d.place] == [4]


def test_a_mistake_in_an_include_is_reported_there(tmp_path: Path) -> None:
    (tmp_path / "shaders").mkdir()
    (tmp_path / "shaders" / "helper.h").write_text("inline float helper(float x) {\n    return x * wieght;\n}\n")
    source = '#include <metal_stdlib>\n#include "helper.h"\n'
    result = compile_text(source, "shaders/main.metal", cwd=tmp_path)
    (diagnostic,) = result.diagnostics
    assert str(diagnostic.place) == "shaders/helper.h:2:16"
    assert result.dependencies == ("shaders/helper.h",)
