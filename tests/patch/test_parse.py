"""Patch files to values, and every fault with its line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shaderc_tool.diagnostics import UsageError
from shaderc_tool.patch.model import Hunk
from shaderc_tool.patch.parse import is_below, parse_patch


def faults(text: str) -> list[tuple[str, int]]:
    with pytest.raises(UsageError) as caught:
        parse_patch(text, "demo.patch")
    assert {d.code for d in caught.value.diagnostics} == {"SP6001"}
    assert all(d.fix and d.cause for d in caught.value.diagnostics)
    return [(d.message, d.place.line if d.place else 0) for d in caught.value.diagnostics]


GOOD = """\
# what it is for
PATCH demo

FORBID OLD-MARK
IN a.txt src/*.c
FIX take it out

FILE a.c
ANCHOR
int x;

END
SENTINEL demo-x
INJECT after
    int y;
# not a comment here
END
VERSION new
FILE CMakeLists.txt
ANCHOR
one
END
SENTINEL demo-one
MARKER /* {} */ \\
REPLACE
two
END
VERSION old
"""


def test_everything_that_a_patch_file_can_say() -> None:
    patch = parse_patch(GOOD, "demo.patch")
    assert (patch.name, [v.name for v in patch.versions]) == ("demo", ["new", "old"])
    (guard,) = patch.guards
    assert (guard.text, guard.globs, guard.fix, guard.place.line) == (
        "OLD-MARK",
        ("a.txt", "src/*.c"),
        "take it out",
        4,
    )
    shared, own = patch.versions[0].hunks
    assert (shared.file, shared.sentinel, shared.action) == ("a.c", "demo-x", "after")
    assert (shared.anchor, shared.body) == (("int x;", ""), ("    int y;", "# not a comment here"))
    assert shared.place.line == 9
    assert (own.action, own.marker, own.anchor, own.body) == ("replace", "/* {} */ \\", ("one",), ("two",))
    assert patch.versions[1].hunks == (shared,)


def test_the_block_in_a_file_has_the_comment_style_of_the_file_and_the_indent_of_the_body() -> None:
    shared, own = parse_patch(GOOD, "demo.patch").versions[0].hunks
    begin, *body, end = shared.block()
    assert begin == f"    // >>> shaderpack demo-x sha256:{shared.digest}"
    assert (tuple(body), end) == (shared.body, "    // <<< shaderpack demo-x")
    assert own.block()[0] == f"/* >>> shaderpack demo-one sha256:{own.digest} */ \\"
    assert (
        parse_patch(GOOD.replace("FILE a.c\n", "FILE x.cmake\n"), "p")
        .versions[0]
        .hunks[0]
        .block()[0]
        .startswith("    # >>>")
    )


def test_a_file_with_windows_line_ends_says_the_same() -> None:
    windows = parse_patch("\ufeff" + GOOD.replace("\n", "\r\n"), "demo.patch")
    assert windows == parse_patch(GOOD, "demo.patch")


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("FILE a\n", "there is no PATCH line", 1),
        ("PATCH a b\n", "«a b» is not a name for PATCH", 1),
        ("PATCH a\nFILE ../a\n", "«../a» is not a path below the tree", 2),
        ("PATCH a\nFILE /a\n", "«/a» is not a path below the tree", 2),
        ("PATCH a\nFIEL b\n", "unknown keyword «FIEL»", 2),
        ("PATCH a\nFILE f\nANCHOR\nx\nEND\n", "ANCHOR without INJECT or REPLACE", 3),
        ("PATCH a\nFILE f\nANCHOR\nx\n", "the ANCHOR block has no END", 3),
        ("PATCH a\nFILE f\nANCHOR\nEND\nSENTINEL s\nREPLACE\ny\nEND\n", "the ANCHOR block is empty", 3),
        ("PATCH a\nFILE f\nANCHOR\nx\nEND\nREPLACE\ny\nEND\n", "REPLACE without SENTINEL", 6),
        ("PATCH a\nSENTINEL s\nREPLACE\ny\nEND\n", "REPLACE without FILE and ANCHOR", 3),
        (
            "PATCH a\nFILE f\nANCHOR\nx\nEND\nSENTINEL s\nINJECT above\ny\nEND\n",
            "«INJECT above» is not an action",
            7,
        ),
        ("PATCH a\nMARKER //\n", "MARKER needs one {}", 2),
        ("PATCH a\nFORBID x\nFIX y\n", "FORBID needs a line IN here", 3),
        ("PATCH a\nFORBID x\nIN y\n", "FORBID needs a line FIX here", 4),
    ],
)
def test_a_fault_is_reported_with_its_line(text: str, message: str, line: int) -> None:
    assert (message, line) in faults(text)


def test_all_faults_of_a_file_are_reported_in_one_run() -> None:
    assert [line for _, line in faults("PATCH a\nWHAT\nFILE ..\nWHY\n")] == [2, 3, 4]


def test_a_sentinel_is_unique_within_a_version_and_may_be_used_again_in_another() -> None:
    hunk = "ANCHOR\nx\nEND\nSENTINEL s\nREPLACE\ny\nEND\n"
    assert faults(f"PATCH a\nFILE f\n{hunk}{hunk}") == [("SENTINEL s is used twice", 10)]
    patch = parse_patch(f"PATCH a\nVERSION 1\nFILE f\n{hunk}VERSION 2\nFILE f\n{hunk}", "p")
    assert [len(v.hunks) for v in patch.versions] == [1, 1]


@pytest.mark.parametrize("path", ["..", ".", "", "a/../..", "/a", "C:/a", "a\\b", "-a"])
def test_paths_that_could_lead_out_are_refused(path: str) -> None:
    assert not is_below(path)


LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\ufeff")).filter(lambda t: t != "END")
BLOCK = st.lists(LINE, min_size=1, max_size=4).map(tuple)


@given(st.lists(st.tuples(BLOCK, st.sampled_from(["before", "after", "replace"]), BLOCK), max_size=4))
def test_what_is_written_is_what_is_read(parts: list[tuple[tuple[str, ...], str, tuple[str, ...]]]) -> None:
    text = "PATCH p\n"
    for number, (anchor, action, body) in enumerate(parts):
        keyword = "REPLACE" if action == "replace" else f"INJECT {action}"
        text += f"FILE f\nANCHOR\n{chr(10).join(anchor)}\nEND\nSENTINEL s{number}\n"
        text += f"{keyword}\n{chr(10).join(body)}\nEND\n"
    hunks = parse_patch(text, "p").versions[0].hunks
    assert [(h.anchor, h.action, h.body) for h in hunks] == parts


@given(st.text() | st.lists(st.sampled_from(GOOD.splitlines()), max_size=30).map("\n".join))
def test_any_text_is_read_or_refused_with_places(text: str) -> None:
    try:
        patch = parse_patch(text, "p")
    except UsageError as error:
        assert all(d.place is not None and d.place.line >= 1 for d in error.diagnostics)
    else:
        assert all(isinstance(h, Hunk) for v in patch.versions for h in v.hunks)
