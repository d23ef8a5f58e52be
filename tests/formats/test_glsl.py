"""Shader text: includes, comments, normalisation, the version line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shaderc_tool.formats.glsl import (
    Include,
    normalise,
    scan_includes,
    split_version,
    strip_comments,
    uses_line_numbers,
)

TOKENS = ["foo", "bar", "1.0", "+", "(", ")", ";", "{", "}", "=", "<", "x2", "/", "*", '"a // b"', "'c'"]
GAPS = [" ", "  ", "\t", "\n", "\n\n", " // comment \" ' /* \n", " /* a\n * b // */", " \\\n "]


def test_includes_with_their_lines() -> None:
    text = """\
#version 450
  #  include "a.glsl"   // "not.glsl"
// #include "commented.glsl"
/*
#include "block.glsl"
*/
#include <sys/b.glsl>
const char *s = "#include \\"string.glsl\\"";
#include \\
  "continued.glsl"
#ifdef NEVER
#import "c.h"
#endif
#include MACRO
"""
    assert scan_includes(text) == (
        Include("a.glsl", 2, False),
        Include("sys/b.glsl", 7, True),
        Include("continued.glsl", 9, False),
        Include("c.h", 12, False),
    )


@given(st.lists(st.sampled_from(TOKENS), min_size=1, max_size=12), st.data())
def test_comments_and_blanks_never_matter(tokens: list[str], data: st.DataObject) -> None:
    def spaced() -> str:
        gaps = [g for g in GAPS if "\n" not in g or "\\" in g or "*" in g]
        return "".join(t + data.draw(st.sampled_from(gaps)) for t in tokens)

    assert _flat(normalise(spaced())) == _flat(normalise(" ".join(tokens)))


def _flat(text: str) -> str:
    return " ".join(text.split())


@given(st.lists(st.sampled_from(TOKENS), min_size=1, max_size=10), st.data())
def test_any_other_token_matters(tokens: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(tokens) - 1))
    changed = [*tokens[:at], "different", *tokens[at + 1 :]]
    assert normalise(" ".join(tokens)) != normalise(" ".join(changed))


def test_what_normalise_keeps_and_drops() -> None:
    assert normalise("\ufeff  a  b // c\r\n\r\n#line 7\n#define X  1\n") == "a b\n#define X 1\n"
    assert normalise("a/**/b") == normalise("a b")
    assert normalise("ab") != normalise("a b")
    assert normalise('x = "a  b"') != normalise('x = "a b"')
    assert normalise("#define A \\\n  1\n") == normalise("#define A 1\n")


def test_a_line_sensitive_text_is_told() -> None:
    assert uses_line_numbers("int x = __LINE__;")
    assert not uses_line_numbers("// __LINE__\nint __LINE__x;")


@pytest.mark.parametrize(
    ("text", "version", "line"),
    [
        ("#version 450\nvoid main() {}\n", "#version 450", 1),
        ("// first\n\n  # version 460 core // why\nx\n", "# version 460 core", 3),
        ("/*\n#version 300\n*/\n#version 310 es\n", "#version 310 es", 4),
        ("void main() {}\n", None, 0),
    ],
)
def test_split_version_keeps_every_line_in_place(text: str, version: str | None, line: int) -> None:
    found, rest, at = split_version(text)
    assert (found, at) == (version, line)
    assert rest.count("\n") == text.count("\n")
    if line:
        assert rest.split("\n")[line - 1] == ""


@given(st.text(alphabet="ab/*\"'\\\n ", max_size=60))
def test_stripping_comments_keeps_the_line_count(text: str) -> None:
    stripped = strip_comments(text)
    # A continued line comment is the one case where lines end inside what is removed.
    assert stripped.count("\n") == text.count("\n")
    normalise(text)
    scan_includes(text)
