"""Inlining into one Metal source: the T14 cases, real preprocessing, and clang as the judge of `#line`."""

from __future__ import annotations

import itertools
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shaderc_tool.emit.msl_merge import MergedSource, line_places
from tests.emit.support import codes, merge, only
from tests.tools import require_tool


def body(merged: MergedSource) -> list[str]:
    """The lines that are neither empty nor added."""
    return [line for line in merged.text.split("\n") if line.strip() and not line.startswith("#line ")]


@pytest.mark.parametrize(
    "header", ["int a;", "int a;\n", "int a;\r\n", "\ufeffint a;\r", "int a; // \\", "int a; // é"]
)
def test_what_follows_an_include_stays_on_its_own_line(header: str) -> None:
    merged = merge({"main.metal": '#include "a.h"\n#define NEXT 1\nint b;', "a.h": header})
    assert merged.diagnostics == ()
    lines = body(merged)
    assert lines[0].startswith("int a;")
    assert lines[-2:] == ["#define NEXT 1", "int b;"]
    assert "\r" not in merged.text
    assert "\ufeff" not in merged.text
    assert merged.text.endswith("\n")
    assert merged.files == ("main.metal", "a.h")


@pytest.mark.parametrize(
    "text",
    [
        '// #include "gone.h"\n',
        '/*\n#include "gone.h"\n*/\n',
        '/* a\n*/ int x; /*\n#include "gone.h"\n__embed_gone.h__\n*/\n',
        'constant char s[] = "\\\n#include \\"gone.h\\"\\\n";\n',
        '// a comment that goes on \\\n#include "gone.h"\n',
        'constant char s[] = R"(\n#include "gone.h"\n)";\n',
        "// __embed_gone.h__\n",
        'constant char s[] = "__embed_gone.h__";\n',
        "int x = 1; __embed_y;\n",
        "#include <gone.h>\n",
    ],
)
def test_what_only_looks_like_an_include_stays(text: str) -> None:
    merged = merge({"main.metal": text})
    assert merged.diagnostics == ()
    assert text in merged.text


def test_text_with_replacement_characters_is_copied_as_it_is() -> None:
    header = "#define REF(x) ((x) & 1) // & \\1 \\g<0> $1 %s {}\n"
    merged = merge({"main.metal": "__embed_a.h__\n", "a.h": header})
    assert header in merged.text


@pytest.mark.parametrize(
    "include",
    [
        '#include "a.h"',
        '#  include\t"a.h" // why',
        '/* x */ #include "a.h"',
        '#include /* y */ "a.h"',
        '#include \\\n"a.h"',
    ],
)
def test_spellings_of_an_include(include: str) -> None:
    merged = merge({"main.metal": f"{include}\nint last;\n", "a.h": "int a;\n"})
    assert [line for line in body(merged) if "/*" not in line] == ["int a;", "int last;"]
    places = line_places(merged.text)
    at = merged.text.split("\n").index("int last;")
    assert str(places[at]) == f"main.metal:{include.count(chr(10)) + 2}"


def test_comment_that_ends_before_an_include_stays_closed() -> None:
    merged = merge({"main.metal": '/* open\n*/ #include "a.h"\nint b;\n', "a.h": "int a;\n"})
    assert body(merged) == ["/* open", "*/ ", "int a;", "int b;"]


def test_look_up_order_is_substitution_then_folder_then_include_folders() -> None:
    files = {
        "k/main.metal": '#include "a.h"\n#include "b.h"\n#include "../c.h"\n#include "d.h"\n',
        "k/a.h": "int near_a;\n",
        "inc/a.h": "int far_a;\n",
        "inc/b.h": "int far_b;\n",
        "c.h": "int c;\n",
        "k/d.h": "int near_d;\n",
        "other/d.h": "int other_d;\n",
    }
    merged = merge(files, "k/main.metal", include_dirs=["inc"], substitutions={"d.h": "other/d.h"})
    assert body(merged) == ["int near_a;", "int far_b;", "int c;", "int other_d;"]
    assert merged.files == ("k/main.metal", "k/a.h", "inc/b.h", "c.h", "other/d.h")


def test_missing_header_is_reported_with_its_place() -> None:
    merged = merge({"main.metal": 'int a;\n#include "gone.h"\nint b;\n'})
    diagnostic = only(merged)
    assert (diagnostic.code, str(diagnostic.place), diagnostic.subject) == ("SP3011", "main.metal:2", "gone.h")


def test_missing_root_marker_file_and_computed_include_are_reported() -> None:
    assert codes(merge({}, "gone.metal")) == ["SP3010"]
    assert codes(merge({"main.metal": "__embed_gone.h__\n"})) == ["SP3011"]
    assert codes(merge({"main.metal": "__embed_gone.h__ int x;\n"})) == ["SP4042"]
    assert codes(merge({"main.metal": "#include HEADER\n"})) == ["SP4047"]


def test_no_include_and_no_marker_is_left() -> None:
    files = {
        "main.metal": '#include "a.h"\n__embed_b.h__\n',
        "a.h": '#include "b.h"\n',
        "b.h": "#pragma once\nint b;\n",
    }
    merged = merge(files)
    assert not re.search(r'#\s*include\s*"|__embed_|#pragma once', merged.text)
    assert body(merged) == ["int b;"]


def test_include_cycles() -> None:
    cycle = {"main.metal": '#include "a.h"\n', "a.h": '#include "main.metal"\nint a;\n'}
    assert codes(merge(cycle)) == ["SP4043"]
    guarded = {
        "main.metal": '#include "a.h"\n',
        "a.h": '#pragma once\n#include "b.h"\nint a;\n',
        "b.h": '#include "a.h"\nint b;\n',
    }
    merged = merge(guarded)
    assert merged.diagnostics == ()
    assert body(merged) == ["int b;", "int a;"]


@pytest.mark.parametrize(
    "once",
    [
        "#pragma once\nint a;\n",
        "#ifndef A_H\n#define A_H\nint a;\n#endif\n",
        "#if !defined(A_H)\n#define A_H 1\nint a;\n#endif // A_H\n",
    ],
)
def test_a_header_counts_once_by_path_and_by_content(once: str) -> None:
    files = {
        "x.metal": '#include "a.h"\n',
        "y.metal": '#include "./a.h"\n#include "copy/a.h"\n',
        "a.h": once,
        "copy/a.h": once,
    }
    merged = merge(files, "x.metal", "y.metal")
    assert merged.text.count("int a;") == 1
    assert merged.diagnostics == ()


def test_a_list_that_is_included_for_its_expansion_is_included_each_time() -> None:
    files = {
        "main.metal": "".join(f'#define X(n) int {name}##n;\n#include "list.def"\n#undef X\n' for name in ("a", "b")),
        "list.def": "X(1)\nX(2)\n",
    }
    assert merge(files).text.count("X(1)") == 2


def preprocess(text: str, *flags: str, folder: Path) -> str:
    """What clang's preprocessor makes of `text`: tokens, one blank between them."""
    argv = [require_tool("clang"), "-E", "-P", "-x", "c++", *flags, "-"]
    result = subprocess.run(argv, input=text, cwd=folder, capture_output=True, text=True, timeout=30)
    assert result.returncode == 0, result.stderr
    return " ".join(result.stdout.split())


CONDITIONAL = {
    "main.metal": """
#ifdef FAST
#include "once.h"
#include "guard.h"
#endif
#if defined(EMBED)
__embed_plain.h__
#else
#include "plain.h"
#endif
#include "once.h"
#include "guard.h"
#if FAST && LEVEL > 1
#include "once.h"
#elif defined(EMBED)
#include "guard.h"
#endif
int end;
""",
    "once.h": '#pragma once\n#include "plain.h"\nint once;\n',
    "guard.h": "#ifndef GUARD_H\n#define GUARD_H\nint guard;\n#endif\n",
    "plain.h": "#ifdef EMBED\nLIST(embed)\n#else\nLIST(plain)\n#endif\nLIST(1)\n",
}


@pytest.mark.parametrize(
    "flags", [[], ["-DFAST"], ["-DEMBED"], ["-DFAST=1", "-DEMBED", "-DLEVEL=2"], ["-DFAST=1", "-DLEVEL=2"]]
)
def test_conditional_includes_mean_the_same_as_before(flags: list[str], tmp_path: Path) -> None:
    """The merged text and the original, which a real preprocessor puts together, give the same tokens."""
    for name, text in CONDITIONAL.items():
        (tmp_path / name).write_text(text.replace("__embed_plain.h__", '#include "plain.h"'))
    original = preprocess((tmp_path / "main.metal").read_text(), "-I.", *flags, folder=tmp_path)
    merged = merge(CONDITIONAL)
    assert merged.diagnostics == ()
    assert preprocess(merged.text, *flags, folder=tmp_path / "..") == original


def test_another_file_s_guard_is_a_condition_like_any_other() -> None:
    files = {
        "main.metal": '#include "guard.h"\n#ifndef GUARD_H\n#include "once.h"\n#endif\n#include "once.h"\n',
        "guard.h": "#ifndef GUARD_H\n#define GUARD_H\nint guard;\n#endif\n",
        "once.h": "#pragma once\nint once;\n",
    }
    merged = merge(files)
    assert merged.text.count("int once;") == 2
    assert merged.diagnostics == ()


def test_branches_known_to_be_dead_are_not_filled_in() -> None:
    files = {
        "main.metal": '#if defined(EMBED)\n__embed_a.h__\n#else\n#include "a.h"\n#include "not_there.h"\n#endif\n',
        "a.h": "int a;\n",
    }
    merged = merge(files, defined=["EMBED"])
    assert merged.text.count("int a;") == 1
    assert merged.diagnostics == ()


def test_two_headers_with_one_guard_are_reported() -> None:
    guarded = "#ifndef COMMON_H\n#define COMMON_H\n{}\n#endif\n"
    files = {
        "x.metal": '#include "x/common.h"\n',
        "y.metal": '#include "y/common.h"\n',
        "x/common.h": guarded.format("int x;"),
        "y/common.h": guarded.format("int y;"),
    }
    diagnostic = only(merge(files, "x.metal", "y.metal"))
    assert (diagnostic.code, diagnostic.subject) == ("SP4044", "COMMON_H")
    assert [str(r.place) for r in diagnostic.related] == ["x/common.h:1"]


@pytest.mark.parametrize("header", ["int a; /* open\n", "#if A\nint a;\n", "#endif\n", "/*/\n"])
def test_a_header_that_swallows_what_follows_is_reported(header: str) -> None:
    merged = merge({"main.metal": '#if 1\n#include "a.h"\n#endif\nint b;\n', "a.h": header})
    assert codes(merged)[:1] == ["SP4045"]


# --- #line


def test_clang_reports_the_original_file_and_line(tmp_path: Path) -> None:
    files = {
        "kernels/main.metal": (
            '#include "sub dir/a.h"\nint ok;\n\nint bad_main = nowhere1;\n__embed_b.h__\nint bad_last = nowhere2;\n'
        ),
        "kernels/sub dir/a.h": "#pragma once\n/* a\n   b */ int bad_a = nowhere3;\n",
        "kernels/b.h": 'int b;\n#include "sub dir/a.h"\nint bad_b = nowhere4;\n',
    }
    merged = merge(files, "kernels/main.metal")
    (tmp_path / "merged.cpp").write_text(merged.text)
    argv = [require_tool("clang"), "-fsyntax-only", "-fno-caret-diagnostics", "merged.cpp"]
    result = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=30)
    found = set(re.findall(r"^(.+):(\d+):\d+: error: use of undeclared identifier '(\w+)'", result.stderr, re.M))
    assert found == {
        ("kernels/main.metal", "4", "nowhere1"),
        ("kernels/main.metal", "6", "nowhere2"),
        ("kernels/sub dir/a.h", "3", "nowhere3"),
        ("kernels/b.h", "3", "nowhere4"),
    }


PIECES = [
    "int v{n};",
    "// text {n}",
    "/* a\n{n}\nb */ int w{n};",
    '#include "a.h"',
    '#include "b.h"',
    '#include "c.h" // again',
    "__embed_a.h__",
    "#define M{n} \\\n  {n}",
    "#ifdef C{n}\nint x{n};\n#else\nint y{n};\n#endif",
    "",
    "struct same {{ int a; }};",
    "#pragma once",
]


@st.composite
def sources(draw: st.DrawFn) -> dict[str, str]:
    """Four files; each includes only later ones. Every line that is no directive names its file and
    number.
    """
    files = {}
    names = ["main.metal", "a.h", "b.h", "c.h"]
    for index, name in enumerate(names):
        allowed = [p for p in PIECES if not any(f'"{n}"' in p or f"_{n}_" in p for n in names[: index + 1])]
        pieces = draw(st.lists(st.sampled_from(allowed), max_size=8))
        text = "\n".join(piece.format(n=f"{index}_{i}") for i, piece in enumerate(pieces))
        files[name] = text + draw(st.sampled_from(["", "\n", "\r\n"]))
    return files


@given(sources())
@settings(max_examples=200, deadline=None)
def test_every_line_maps_back_to_its_origin(files: dict[str, str]) -> None:
    merged = merge(files)
    for line, place in zip(merged.text.split("\n"), line_places(merged.text), strict=True):
        if line.strip() and not line.startswith(("#line ", "#ifndef SHADERPACK", "#define SHADERPACK", "#endif")):
            original = files[place.file].replace("\r\n", "\n").split("\n")[place.line - 1]
            assert line.strip() in original


# --- against a real preprocessor


MACROS = ("A", "B")


@st.composite
def conditional_sources(draw: st.DrawFn) -> dict[str, str]:
    """Headers with every kind of protection, which include later ones under conditions and define macros."""
    names = ["main.metal", "a.h", "b.h", "c.h"]
    files = {}
    for index, name in enumerate(names):
        counter = itertools.count()

        def block(depth: int, index: int = index, counter: itertools.count[int] = counter) -> list[str]:
            lines: list[str] = []
            for kind in draw(st.lists(st.sampled_from("liiccd"), max_size=4)):
                mark = f"{index}_{next(counter)}"
                if kind == "l":
                    lines.append(f"L({mark})")
                elif kind == "d":
                    lines.append(f"#define {draw(st.sampled_from(MACROS))}")
                elif kind == "i" and index + 1 < len(names):
                    lines.append(f'#include "{draw(st.sampled_from(names[index + 1 :]))}"')
                elif kind == "c" and depth < 2:
                    macro, other = draw(st.permutations(MACROS))
                    opening = draw(st.sampled_from(["#ifdef {}", "#ifndef {}", "#if defined({})", "#if !defined {}"]))
                    middle = draw(st.sampled_from([f"#elif defined({other})", "#else"]))
                    lines += [opening.format(macro), *block(depth + 1), middle, *block(depth + 1), "#endif"]
            return lines

        lines = block(0)
        protection = draw(st.sampled_from(["", "once", "guard"])) if index else ""
        if protection == "once":
            lines.insert(0, "#pragma once")
        elif protection == "guard":
            lines = [f"#ifndef G{index}", f"#define G{index}", *lines, "#endif"]
        files[name] = "\n".join(lines)
    return files


@given(conditional_sources(), st.lists(st.sampled_from(["-DA", "-DB"]), unique=True))
@settings(max_examples=25, deadline=None)
def test_merged_text_means_what_the_files_mean(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str], flags: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("sources")
    for name, text in files.items():
        (folder / name).write_text(text + "\n")
    original = preprocess(files["main.metal"], "-I.", *flags, folder=folder)
    merged = merge(files)
    assert merged.diagnostics == ()
    assert preprocess(merged.text, *flags, folder=folder) == original
