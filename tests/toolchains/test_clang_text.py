"""The parser of compiler text, against what real compilers print."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shaderc_tool.diagnostics import Diagnostic, Place, Related, Severity
from shaderc_tool.toolchains.clang_text import parse
from tests.tools import require_tool

METAL = """\
In file included from metal/turbo3.metal:1:
In file included from metal/common.h:2:
metal/dequant.h:12:9: error: use of undeclared identifier 'nope'
    x = nope;
        ^
metal/dequant.h:3:5: note: expanded from macro 'X'
#define X nope
          ^
metal/turbo3.metal:7:20: warning: unused variable 'y' [-Wunused-variable]
    half y = 1;
         ^
1 warning and 1 error generated.
"""

GLSLC = """\
vulkan/turbo3.comp:4: error: 'nope' : undeclared identifier
vulkan/turbo3.comp:9: warning: 'x' : unused
2 errors generated.
"""


def test_clang_text() -> None:
    assert parse(METAL, subject="turbo3") == (
        Diagnostic(
            "SP3002",
            "use of undeclared identifier 'nope'",
            Place("metal/dequant.h", 12, 9),
            cause="the compiler refused it",
            fix="correct the source",
            subject="turbo3",
            related=(
                Related(Place("metal/turbo3.metal", 1), "included from here"),
                Related(Place("metal/common.h", 2), "included from here"),
                Related(Place("metal/dequant.h", 3, 5), "expanded from macro 'X'"),
            ),
        ),
        Diagnostic(
            "SP3003",
            "unused variable 'y' [-Wunused-variable]",
            Place("metal/turbo3.metal", 7, 20),
            cause="the compiler remarks on it",
            fix="correct the source",
            subject="turbo3",
            severity=Severity.WARNING,
        ),
    )


def test_glslc_text_has_no_column() -> None:
    error, warning = parse(GLSLC)
    assert (error.message, error.place) == ("'nope' : undeclared identifier", Place("vulkan/turbo3.comp", 4))
    assert (warning.place, warning.severity) == (Place("vulkan/turbo3.comp", 9), Severity.WARNING)


@pytest.mark.parametrize(
    ("line", "place", "message"),
    [
        ("error: no such file or directory: 'x.metal'", None, "no such file or directory: 'x.metal'"),
        ("metal: error: linker command failed", None, "linker command failed"),
        ("a b/é.metal:1:2: fatal error: 'x.h' file not found", Place("a b/é.metal", 1, 2), "'x.h' file not found"),
        ("C:\\src\\x.metal:3:4: error: bad", Place("C:\\src\\x.metal", 3, 4), "bad"),
        ("a:5:b.comp:3: error: bad: worse", Place("a:5:b.comp", 3), "bad: worse"),
        ("x.comp: error: empty file", Place("x.comp"), "empty file"),
        ("x.metal:1:2: error: says 'y.h:3:4: note: z'", Place("x.metal", 1, 2), "says 'y.h:3:4: note: z'"),
    ],
)
def test_single_lines(line: str, place: Place | None, message: str) -> None:
    (found,) = parse(line)
    assert (found.place, found.message, found.severity) == (place, message, Severity.ERROR)


def test_a_note_alone_is_kept() -> None:
    (found,) = parse("x.metal:1:2: note: hello")
    assert found.severity is Severity.NOTE


def test_byte_columns_become_characters() -> None:
    line = "float é = 日本;"
    column = line.encode().index("日本".encode()) + 1
    (found,) = parse(f"x.metal:1:{column}: error: bad", read={"x.metal": line}.get)
    assert found.place == Place("x.metal", 1, line.index("日本") + 1)
    (found,) = parse(f"y.metal:1:{column}: error: bad", read={"x.metal": line}.get)
    assert found.place == Place("y.metal", 1, column)
    (found,) = parse("x.metal:9:4: error: bad", read={"x.metal": line}.get)
    assert found.place == Place("x.metal", 9, 4)


NAMES = st.from_regex(r"[\w./ -]*[\w-]\.(metal|comp|h)", fullmatch=True)
MESSAGES = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1)


@given(NAMES, st.integers(1, 10**6), st.integers(1, 10**4), st.sampled_from(["error", "warning"]), MESSAGES)
def test_what_a_compiler_writes_is_read_back(file: str, line: int, column: int, kind: str, text: str) -> None:
    for place, where in ((Place(file, line, column), f"{line}:{column}"), (Place(file, line), f"{line}")):
        (found,) = parse(f"{file}:{where}: {kind}: {text}\n  x\n  ^\n1 {kind} generated.\n")
        assert (found.place, found.message, found.severity.word) == (place, text, kind)


@given(st.text())
def test_no_text_breaks_the_parser(text: str) -> None:
    parse(text)


def test_a_real_clang(tmp_path: Path) -> None:
    clang = require_tool("clang", "clang-19", "clang-14")
    source = '#include "a b.h"\nint f(void) { return é + nope; }\n'
    (tmp_path / "a b.h").write_text("int g(void) { return missing; }\n", "utf-8")
    (tmp_path / "x.c").write_text(source, "utf-8")
    done = subprocess.run(
        [clang, "-fsyntax-only", "x.c"], cwd=tmp_path, capture_output=True, check=False, env={"LC_ALL": "C.UTF-8"}
    )
    found = parse(done.stderr.decode("utf-8"), read=lambda file: (tmp_path / file).read_text("utf-8"))
    errors = [d for d in found if d.severity is Severity.ERROR]
    assert [d.message.split("'")[1] for d in errors] == ["missing", "é", "nope"]
    assert errors[0].place is not None
    assert errors[0].place.file.endswith("a b.h")
    assert errors[0].related[0].place == Place("x.c", 1)
    assert [d.place for d in errors[1:]] == [Place("x.c", 2, 22), Place("x.c", 2, 26)]
