"""Depfiles: nasty names survive, make and ninja agree, what make would run is refused."""

from __future__ import annotations

import contextlib
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from shaderc_tool.formats.depfile import Rule, parse_depfile, parse_glslc_depfile, write_depfile
from shaderc_tool.formats.errors import FormatError
from tests.tools import require_tool

NASTY = st.text(alphabet="abC /\\#$:%'\"()é*~=\t", min_size=1, max_size=12)
NAMES = [
    "plain.glsl", "a b.glsl", "a#b.glsl", "a$b.glsl", "ü.glsl", "a  b.glsl", "x(1).glsl", "a:b", "key=value/../a.glsl",
    "a%b", "a\\b", "a\\ b", "a'b", "$(shell touch ran).h", "~a", "a, b",
]  # fmt: skip


@settings(max_examples=500)
@given(NASTY, st.lists(NASTY, max_size=4))
@example("C:\\out\\a b.spv", ["d:/x", "a: b", "\\ \\\\ #:x"])
def test_what_is_written_is_read_back(target: str, prerequisites: list[str]) -> None:
    assume(not any(name.endswith((":", "\\")) for name in [target, *prerequisites]))
    assert parse_depfile(write_depfile(target, prerequisites) * 2) == (Rule((target,), tuple(prerequisites)),) * 2


@pytest.mark.parametrize("name", ["a\nb", "a\rb", "a\0b", "", "a;touch ran", "a|b", "a:", "a\\", "a\\\\"])
def test_names_that_make_would_misread_are_refused(name: str) -> None:
    with pytest.raises(FormatError):
        write_depfile("x", [name])
    with pytest.raises(FormatError):
        write_depfile(name, [])


@pytest.mark.parametrize("name", NAMES)
def test_make_reads_the_same_names(name: str, tmp_path: Path) -> None:
    make = require_tool("make")
    (tmp_path / "key=value").mkdir()
    for path in ("first", name):
        (tmp_path / path).write_text("")
    (tmp_path / "rules.mk").write_text(write_depfile("out", ["first", name]) + "\t@echo made '$(words $+)'\n")
    done = subprocess.run([make, "-rRsf", "rules.mk", "out"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"made {1 + len(name.split())}\n"), done.stderr
    assert not (tmp_path / "ran").exists()


def test_ninja_reads_the_same_names(tmp_path: Path) -> None:
    ninja = require_tool("ninja")
    names = [name for name in NAMES if "'" not in name]
    (tmp_path / "made.d").write_text(write_depfile("out", names))
    (tmp_path / "build.ninja").write_text(
        "rule r\n  command = cp made.d out.d && touch out\n  depfile = out.d\n  deps = gcc\nbuild out: r\n"
    )
    subprocess.run([ninja], cwd=tmp_path, check=True, capture_output=True)
    told = subprocess.run([ninja, "-t", "deps", "out"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert [line[4:] for line in told.stdout.splitlines()[1:] if line] == [
        n.replace("key=value/../", "") for n in names
    ]


def test_what_compilers_write() -> None:
    text = "out.o: src/a.c \\\n  inc/b.h \\\n  inc/with\\ space.h c:/win/x.h\n\nother.o : y.h\n"
    assert parse_depfile(text) == (
        Rule(("out.o",), ("src/a.c", "inc/b.h", "inc/with space.h", "c:/win/x.h")),
        Rule(("other.o",), ("y.h",)),
    )


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("a b: c\n", Rule(("a", "b"), ("c",))),
        ("a:\\\n b\\\r\n c\r\n", Rule(("a",), ("b", "c"))),
        ("C:\\o\\a.o: C:\\s\\a.c\n", Rule(("C:\\o\\a.o",), ("C:\\s\\a.c",))),
        ("C:\\out\\: a\n", Rule(("C:\\out\\",), ("a",))),
        ("C\\:/a.o: d\\:e\n", Rule(("C:/a.o",), ("d:e",))),
        ("a: b\\#c $$d b\\\\ e\n", Rule(("a",), ("b#c", "$d", "b\\\\", "e"))),
        ("a: b\\\\\n", Rule(("a",), ("b\\\\",))),
        ("a:", Rule(("a",), ())),
    ],
)
def test_forms_of_a_rule(text: str, rule: Rule) -> None:
    assert parse_depfile(text) == (rule,)


def test_rules_of_gcc(tmp_path: Path) -> None:
    gcc = require_tool("gcc")
    (tmp_path / "a b").mkdir()
    for name in ("a b/x y#1.h", "a b/$z.h"):
        (tmp_path / name).write_text("")
    (tmp_path / "m.c").write_text('#include "a b/x y#1.h"\n#include "a b/$z.h"\n')
    argv = [gcc, "-c", "-MMD", "-MP", "-MF", "m.d", "m.c"]
    subprocess.run(argv, cwd=tmp_path, check=True)
    rule, *phony = parse_depfile((tmp_path / "m.d").read_text())
    assert rule == Rule(("m.o",), ("m.c", "a b/x y#1.h", "a b/$z.h"))
    assert phony == [Rule((name,), ()) for name in rule.prerequisites[1:]]


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


@pytest.mark.parametrize("prefix", ["", "/some/folder/"])
def test_many_includes_of_glslc_are_never_asked_for_as_one_name(prefix: str, tmp_path: Path) -> None:
    names = [f"{prefix}include-{i}.glsl" for i in range(300)]
    asked = 0

    def exists(name: str) -> bool:
        nonlocal asked
        asked += 1
        (tmp_path / name).exists()  # OSError for a name that no file system can hold
        return name in names

    assert parse_glslc_depfile(f"o: {' '.join(names)}\n", "o", exists) == tuple(names)
    assert asked < 250 * len(names)


def test_names_that_glslc_wrote_and_nothing_holds_stay_words() -> None:
    assert parse_glslc_depfile("o: a b\n", "o", lambda _: False) == ("a", "b")
    with pytest.raises(FormatError):
        parse_glslc_depfile("p: a\n", "o", lambda _: True)


@pytest.mark.parametrize("text", ["no colon here\n", ": x\n"])
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(FormatError):
        parse_depfile(text)


@given(st.text(alphabet="a\\ :#$\n\r", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(FormatError):
        parse_depfile(text)


def test_a_long_file_is_read_in_linear_time() -> None:
    begun = time.monotonic()
    assert len(parse_depfile("o:" + " a\\b\\" * 200_000 + " " * 200_000 + "\\" * 200_000)[0].prerequisites) == 2
    assert time.monotonic() - begun < 5
