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
GAPS = ["", "  ", "\t", "/**/", " /* a\n * b // */", " \\\n ", "/* \" ' */", "/* \\\n */", " \\\r\n"]


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
    def text(gaps: list[str]) -> str:
        lines = [" ".join([token, data.draw(st.sampled_from(gaps))]) for token in tokens]
        return data.draw(st.sampled_from(["", "\n", "// head\n"])) + "".join(lines)

    assert normalise(text(GAPS)) == normalise(text([""]))


@given(st.lists(st.sampled_from(TOKENS), min_size=2, max_size=8), st.data())
def test_blank_and_commented_lines_never_matter(tokens: list[str], data: st.DataObject) -> None:
    between = st.sampled_from(
        ["\n", "\n\n", " // why \" ' /*\n", "\n/* a\n\n * b */\n", "\r\n#line 7\r\n", "\n \\\n\n"]
    )
    assert normalise("".join(t + data.draw(between) for t in tokens)) == normalise("\n".join(tokens))


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
    assert uses_line_numbers("int x = __LI\\\nNE__;")
    assert uses_line_numbers("f(__FILE_NAME__)")
    assert not uses_line_numbers("// __LINE__\nint __LINE__x;")


@pytest.mark.parametrize(
    ("text", "version", "line"),
    [
        ("#version 450\nvoid main() {}\n", "#version 450", 1),
        ("// first\n\n  # version 460 core // why\nx\n", "# version 460 core", 3),
        ("/*\n#version 300\n*/\n#version 310 es\n", "#version 310 es", 4),
        ("void main() {}\n", None, 0),
        ("\ufeff#version 450\r\nx\n", "#version 450", 1),
    ],
)
def test_split_version_keeps_every_line_in_place(text: str, version: str | None, line: int) -> None:
    found, rest, at = split_version(text)
    assert (found, at) == (version, line)
    assert rest.count("\n") == text.count("\n")
    if line:
        assert rest.split("\n")[line - 1] == ""


def test_split_version_keeps_comments_that_go_on() -> None:
    assert split_version("#version 450 /* a\nb */ x\n") == ("#version 450", " /* a\nb */ x\n", 1)
    assert split_version("/* a\n*/ #version 450\nx") == ("#version 450", "/* a\n*/ \nx", 2)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("#define A /*\n*/ 1\n", "#define A\n1\n"),
        ("int n = 1'000; /* see\nhttp://x */ foo();", "int n = 1'000; /* see\nhttp://x */ bar();"),
        ("#error don't /* see\nhttp://x */ foo();", "#error don't /* see\nhttp://x */ bar();"),
        ("#error don't /* isn't\nhttp://x */ foo();", "#error don't /* isn't\nhttp://x */ bar();"),
        ("// c\rfoo();", "// c\rbar();"),
        ("/\\\n* http://x */ foo();", "/\\\n* http://x */ bar();"),
        ("/* a *\\\n/ foo(); /**/", "/* a *\\\n/ bar(); /**/"),
        ("#version 330\n// c \\\nfoo();", "#version 330\n// c \\\nbar();"),
        ("// c \\ \nfoo();", "// c\nfoo();"),
        ("// c ??/\nfoo();", "// c\nfoo();"),
        ('auto s = R"(a\n  b)";', 'auto s = R"(a\n b)";'),
        ('auto s = u8R"-(a // )" )-"; foo();', 'auto s = u8R"-(a // )" )-"; bar();'),
        ("#include <a  b.h>", "#include <a b.h>"),
        ('x = "\\"  // a";', 'x = "\\"  // b";'),
        ("x = '\\'  /*'; foo(); /*'", "x = '\\'  /*'; bar(); /*'"),
        ("a \u00a0", "a"),
        ("#define F(x) x", "#define F (x) x"),
    ],
)
def test_texts_that_a_compiler_may_tell_apart_stay_apart(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


@pytest.mark.parametrize(
    "text", ["int n = 1'000'000; // a\n", "x = '\\x41' + '\\'' + 'abcd' + L'\"';  // a\n", 's("/*"); // a\n']
)
def test_literals_of_cpp_hide_no_comment(text: str) -> None:
    assert "//" not in normalise(text)


def test_a_scanned_directive_may_hold_comments_and_raw_strings_hold_none() -> None:
    text = '#include /* why\nnot */ "a.h"\n/* b\n*/ #include <c.h>\nauto s = R"(\n#include "no.h"\n)";\r#include "d.h"'
    assert scan_includes(text) == (Include("a.h", 1, False), Include("c.h", 4, True), Include("d.h", 8, False))


@given(st.text(alphabet="ab/*\"'\\\n ", max_size=60))
def test_stripping_comments_keeps_the_line_count(text: str) -> None:
    stripped = strip_comments(text)
    # A continued line comment is the one case where lines end inside what is removed.
    assert stripped.count("\n") == text.count("\n")
    normalise(text)
    scan_includes(text)
