"""Depfiles: nasty names survive, make agrees, newlines are refused."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shaderc_tool.formats.depfile import Rule, parse_depfile, parse_glslc_depfile, write_depfile
from shaderc_tool.formats.errors import FormatError
from tests.tools import require_tool

NASTY = st.text(alphabet="ab /\\#$:%'\"()é*~=", min_size=1, max_size=12)


@settings(max_examples=500)
@given(NASTY, st.lists(NASTY, max_size=4))
def test_what_is_written_is_read_back(target: str, prerequisites: list[str]) -> None:
    if target.endswith(":") or ": " in target or any(p.endswith("\\") for p in [target, *prerequisites]):
        return  # make itself cannot name these
    (rule,) = parse_depfile(write_depfile(target, prerequisites))
    assert rule == Rule((target,), tuple(prerequisites))


@pytest.mark.parametrize("name", ["a\nb", "a\rb", "a\0b", ""])
def test_names_that_make_would_misread_are_refused(name: str) -> None:
    with pytest.raises(FormatError):
        write_depfile("x", [name])
    with pytest.raises(FormatError):
        write_depfile(name, [])


@pytest.mark.parametrize("name", ["plain.glsl", "a b.glsl", "a#b.glsl", "a$b.glsl", "ü.glsl", "a  b.glsl", "x(1).glsl"])
def test_make_reads_the_same_names(name: str, tmp_path: Path) -> None:
    make = require_tool("make")
    (tmp_path / name).write_text("")
    (tmp_path / "rules.mk").write_text(write_depfile("out", [name]) + "\t@echo made\n")
    done = subprocess.run([make, "-s", "-f", "rules.mk", "out"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "made\n"), done.stderr


def test_what_compilers_write() -> None:
    text = "out.o: src/a.c \\\n  inc/b.h \\\n  inc/with\\ space.h c:/win/x.h\n\nother.o : y.h\n"
    assert parse_depfile(text) == (
        Rule(("out.o",), ("src/a.c", "inc/b.h", "inc/with space.h", "c:/win/x.h")),
        Rule(("other.o",), ("y.h",)),
    )


def test_glslc_does_not_escape(tmp_path: Path) -> None:
    glslc = require_tool("glslc")
    folder = tmp_path / "a b"
    folder.mkdir()
    (folder / "x.comp").write_text('#version 450\n#include "in c.glsl"\nvoid main() {}\n')
    (folder / "in c.glsl").write_text("// nothing\n")
    argv = [glslc, "-MD", "-MF", "d", str(folder / "x.comp"), "-o", str(folder / "x.spv")]
    subprocess.run(argv, check=True, cwd=tmp_path)
    found = parse_glslc_depfile((tmp_path / "d").read_text(), str(folder / "x.spv"), lambda p: Path(p).is_file())
    assert found == (str(folder / "x.comp"), str(folder / "in c.glsl"))


@pytest.mark.parametrize("text", ["no colon here\n", ": x\n"])
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(FormatError):
        parse_depfile(text)


@given(st.text(alphabet="a\\ :#$\n\r", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(FormatError):
        parse_depfile(text)
