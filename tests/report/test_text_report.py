"""The text report: whole expected outputs."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shaderc_tool.diagnostics import Diagnostic, Place, Related, Severity
from shaderc_tool.report import Context, render
from shaderc_tool.report.excerpt import WIDTH, excerpt
from shaderc_tool.report.text import render_text
from tests.report.samples import ALL, read

ANSI = re.compile(r"\x1b\[[0-9;]*m")

EXPECTED = """\
vulkan/turbo3.comp:3:2: error[SP1002]: milady_turbo3: unknown key 'foo'
    2 | void main() {
    3 |     foo = 1.0; // hé
      |     ^~~
  cause: 'foo' is not a key,
    and 'bar' is
  fix: rename it
  note: vulkan/turbo3.comp:2:6: the kernel
    1 | #version 450
    2 | void main() {
      |      ^~~~
  note: x.h:7: 50% of it
    tool says: a,b
      more

a.yaml: warning[SP1003]: missing key 'pack'

note[SP1001]: something

1 error, 1 warning, 1 note
"""


def lines_of(source: str, place: Place, *, color: bool = False) -> list[str]:
    return excerpt(source, place, color=color)


def test_whole_text() -> None:
    assert render_text(ALL, color=False, read=read) == EXPECTED


def test_dispatch_gives_the_same_text() -> None:
    assert render("text", ALL, Context(read=read)) == EXPECTED


def test_without_sources_there_is_no_excerpt() -> None:
    assert "|" not in render("text", ALL, Context())


def test_nothing_found_is_no_text() -> None:
    assert render_text([], color=True, read=read) == ""


def test_colour_only_adds_escape_sequences() -> None:
    colored = render_text(ALL, color=True, read=read)
    assert ANSI.sub("", colored) == EXPECTED
    assert "\x1b[1;31merror[SP1002]\x1b[0m" in colored
    assert "\x1b[1;32m^~~\x1b[0m" in colored
    assert "\x1b[96mvoid\x1b[39;49;00m main" in colored


@pytest.mark.parametrize(
    ("file", "source", "word"),
    [
        ("a.metal", "kernel void f(device half4 *x);", "kernel"),
        ("a.metal", "kernel void f(device half4 *x);", "device"),
        ("a.metal", "kernel void f(device half4 *x);", "half4"),
        ("a.h", "packed_float3 x;", "packed_float3"),
        ("a.comp", "layout(local_size_x = 32) in;", "layout"),
        ("a.glsl", "uniform vec4 x;", "vec4"),
        ("m.yaml", "pack: milady", "pack"),
    ],
)
def test_words_of_each_language_are_coloured(file: str, source: str, word: str) -> None:
    text = lines_of(source, Place(file, 1, 1), color=True)[0]
    assert re.search(rf"\x1b\[[0-9]+m{word}\x1b", text)


def test_words_of_metal_are_plain_names_in_a_file_without_a_lexer() -> None:
    assert ANSI.sub("", lines_of("kernel x", Place("a.txt", 1), color=True)[0]).endswith("kernel x")
    assert "\x1b[96m" not in lines_of("kernel x", Place("a.txt", 1), color=True)[0]


def test_a_comment_opened_earlier_is_coloured_as_a_comment() -> None:
    row = lines_of("/* a\n   kernel\n*/", Place("a.metal", 2), color=True)[-1]
    assert "\x1b[90m   kernel\x1b" in row


def test_caret_counts_terminal_cells() -> None:
    assert lines_of("日本 x", Place("a.txt", 1, 4)) == ["    1 | 日本 x", "      |      ^"]
    combining = unicodedata.normalize("NFD", "é") + "x"
    assert lines_of(combining, Place("a.txt", 1, 3))[1] == "      |  ^"


def test_caret_may_stand_behind_the_line_but_not_farther() -> None:
    assert lines_of("ab", Place("a.txt", 1, 3))[1] == "      |   ^"
    assert lines_of("ab", Place("a.txt", 1, 30))[1] == "      |   ^"


def test_no_caret_without_a_column() -> None:
    assert lines_of("ab\ncd", Place("a.txt", 2)) == ["    1 | ab", "    2 | cd"]


def test_line_out_of_the_file_gives_no_excerpt() -> None:
    assert lines_of("ab\n", Place("a.txt", 3, 1)) == []
    assert lines_of("ab\n", Place("a.txt", 0, 0)) == []


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_every_newline_counts_and_form_feed_does_not(newline: str) -> None:
    source = newline.join(["a\x0cb", "c"])
    assert lines_of(source, Place("a.txt", 2, 1)) == ["    1 | a\\x0cb", "    2 | c", "      | ^"]


def test_long_lines_are_cut_around_the_caret() -> None:
    source = "a " * 5000 + "here" + " b" * 5000
    row, caret = lines_of(source, Place("a.metal", 1, 10001), color=True)
    row, caret = ANSI.sub("", row), ANSI.sub("", caret)
    assert len(row) < WIDTH + 12
    assert row[caret.index("^") :].startswith("here b")
    assert row.endswith("…")


def test_text_cannot_drive_the_terminal() -> None:
    nasty = "\x1b[2J\x9b\u202e\udc80"
    found = Diagnostic(
        "SP1001",
        nasty,
        Place(f"x{nasty}\n.comp", 1, 1),
        cause=nasty,
        fix=nasty,
        related=(Related(Place(nasty), nasty),),
        detail=nasty,
        severity=Severity.ERROR,
    )
    text = render_text([found], color=False, read=lambda _file: nasty)
    assert all(char == "\n" or char.isprintable() for char in text)
    assert text.splitlines()[0].startswith("x\\x1b[2J\\x9b\\u202e\\udc80\\n.comp:1:1: error[SP1001]: ")


@given(
    message=st.text(),
    source=st.text(max_size=200),
    line=st.integers(0, 6),
    column=st.integers(0, 220),
    suffix=st.sampled_from(["comp", "metal", "yaml", "json", "txt"]),
)
def test_any_text_renders_and_colour_changes_nothing_else(
    message: str, source: str, line: int, column: int, suffix: str
) -> None:
    found = [Diagnostic("SP1001", message, Place(f"a.{suffix}", line, column))]
    plain = render_text(found, color=False, read=lambda _file: source)
    colored = render_text(found, color=True, read=lambda _file: source)
    assert ANSI.sub("", colored) == plain
    assert all(char in "\n\t" or not unicodedata.category(char).startswith("Cc") for char in plain)
