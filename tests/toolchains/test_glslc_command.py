"""glslc command lines are read as glslc reads them; anything else than one plain compile is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shaderc_tool.toolchains.glslang_command import read_glslang
from shaderc_tool.toolchains.glslc_command import NotPlainError, read_glslc


def test_the_call_of_vulkan_shaders_gen() -> None:
    line = "-fshader-stage=compute --target-env=vulkan1.2 d/a.comp -o o/a_f32.spv -O -MD -MF a.cpp.d -DA=float -DB=1"
    command = read_glslc(line.split())
    assert (command.source, command.output, command.depfile) == ("d/a.comp", "o/a_f32.spv", "a.cpp.d")
    assert (command.env, command.optimize, command.stage) == ("vulkan1.2", "speed", "compute")
    assert command.defines == (("A", "float"), ("B", "1"))


def test_joined_and_separate_values_are_one() -> None:
    joined = read_glslc(["-DA=1", "-Iinc", "-oo.spv", "a.comp"])
    separate = read_glslc(["-D", "A=1", "-I", "inc", "-o", "o.spv", "a.comp"])
    assert joined == separate


def test_the_last_of_two_macros_and_levels_counts() -> None:
    command = read_glslc(["-DA=1", "-DB", "-DA=2", "-O", "-O0", "a.comp", "-o", "x"])
    assert command.defines == (("B", ""), ("A", "2"))
    assert command.optimize == "none"


@pytest.mark.parametrize(
    "line",
    [
        "a.comp",
        "a.comp -o -",
        "a.comp b.comp -o x",
        "a.vert -o x",
        "- -o x",
        "-S a.comp -o x",
        "-E a.comp -o x",
        "-M a.comp -o x",
        "-mfmt=c a.comp -o x",
        "-std=450 a.comp -o x",
        "-x hlsl a.comp -o x",
        "--target-env=opengl a.comp -o x",
        "-fauto-map-locations a.comp -o x",
        "-fshader-stage=vertex a.comp -o x",
        "-MD -MT y a.comp -o x",
        "@file -o x a.comp",
        "a.comp -o",
    ],
)
def test_what_is_not_one_plain_compile_is_refused(line: str) -> None:
    with pytest.raises(NotPlainError):
        read_glslc(line.split())


@given(st.lists(st.text(max_size=6), max_size=6))
def test_any_words_are_read_or_refused(words: list[str]) -> None:
    try:
        command = read_glslc(words)
    except NotPlainError:
        return
    assert command.source in words
    assert command.output


def test_glslang_in_the_same_terms() -> None:
    line = "-V --target-env vulkan1.2 -S comp -DA=1 -Iinc -g -o a.spv a.glsl"
    command = read_glslang(line.split())
    assert (command.source, command.output, command.env, command.debug) == ("a.glsl", "a.spv", "vulkan1.2", True)
    with pytest.raises(NotPlainError):
        read_glslang(["-l", "a.comp"])
    with pytest.raises(NotPlainError):
        read_glslang(["-V", "-S", "vert", "a.glsl", "-o", "x"])
