"""Verdicts: what each hunk and copy is found to be, and that taking a block out is the inverse of putting it in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shaderc_tool.diagnostics import Diagnostic, Place, Severity
from shaderc_tool.patch.copies import stamped
from shaderc_tool.patch.lines import Lines, blocks, decode, encode, nearest
from shaderc_tool.patch.model import Action, Copy, Guard, Hunk, Patch, Version
from shaderc_tool.patch.plan import Plan, Verdict, plan_patches
from shaderc_tool.patch.revert import plan_revert
from shaderc_tool.patch.state import FileDigests, Record, sha256


class Files(dict[str, bytes]):
    """A tree in memory."""

    def read(self, path: str) -> bytes | None:
        return self.get(path)

    def glob(self, pattern: str) -> list[str]:
        return sorted(path for path in self if fnmatchcase(path, pattern))

    def take(self, plan: Plan) -> None:
        for change in plan.changes:
            assert self.get(change.path) == change.before
            if change.after is None:
                del self[change.path]
            else:
                self[change.path] = change.after


def hunk(
    anchor: str, body: str, action: Action = "before", sentinel: str = "s", file: str = "a.c", marker: str = ""
) -> Hunk:
    lines = tuple(anchor.split("\n"))
    return Hunk(file, sentinel, lines, action, tuple(body.split("\n")), Place("demo.patch", 3), marker)


def patch(*hunks: Hunk, name: str = "demo", guards: Sequence[Guard] = ()) -> Patch:
    return Patch(name, f"{name}.patch", (Version("", hunks),), tuple(guards))


def plan(files: Files, *patches: Patch, copies: Mapping[str, Sequence[Copy]] | None = None) -> Plan:
    return plan_patches(files, patches, copies or {})


def verdicts(plan: Plan) -> list[tuple[str, str]]:
    return [(item.name, item.verdict.value) for item in plan.items]


def only(plan: Plan) -> Diagnostic:
    (found,) = plan.diagnostics
    return found


A = b"one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("action", "expected"),
    [("before", "one\n{}two\nthree\n"), ("after", "one\ntwo\n{}three\n"), ("replace", "one\n{}three\n")],
)
def test_a_hunk_goes_where_it_says_and_is_found_applied_afterwards(action: Action, expected: str) -> None:
    files = Files({"a.c": A})
    wanted = patch(hunk("two", "new", action))
    block = "".join(line + "\n" for line in wanted.versions[0].hunks[0].block())
    files.take(plan(files, wanted))
    assert files["a.c"].decode() == expected.format(block)
    again = plan(files, wanted)
    assert (verdicts(again), again.changes, again.diagnostics) == ([("s", "applied")], (), ())


def test_a_missing_anchor_names_the_nearest_lines_of_the_tree() -> None:
    files = Files({"a.c": b"int a;\nint wait(int x)\n{\n    return x;\n}\n"})
    found = plan(files, patch(hunk("int wait(long x)\n{", "new")))
    diagnostic = only(found)
    assert (diagnostic.code, str(diagnostic.place)) == ("SP6002", "demo.patch:3")
    (near,) = diagnostic.related
    assert str(near.place) == "a.c:2"
    assert "-int wait(long x)\n+int wait(int x)\n {" in diagnostic.detail
    assert not found.changes


def test_nothing_alike_is_not_called_a_match() -> None:
    diagnostic = only(plan(Files({"a.c": b"#\n"}), patch(hunk("int wait(long x)", "new"))))
    assert (diagnostic.code, diagnostic.related, diagnostic.detail) == ("SP6002", (), "")


def test_the_nearest_lines_are_those_with_the_highest_ratio() -> None:
    near = nearest(Lines.of("abcd\nabcx\nabxx\n"), ("abcy",))
    assert near is not None
    assert (near.start, near.likeness) == (0, 0.75)
    assert nearest(Lines.of(""), ("x",)) is None


def test_an_anchor_that_is_there_twice_is_not_guessed() -> None:
    diagnostic = only(plan(Files({"a.c": b"x\ny\nx\n"}), patch(hunk("x", "new"))))
    assert (diagnostic.code, [str(r.place) for r in diagnostic.related]) == ("SP6003", ["a.c:1", "a.c:3"])


def test_an_anchor_is_not_looked_for_inside_of_a_block() -> None:
    files = Files({"a.c": b"x\ny\n"})
    wanted = patch(hunk("x", "y", "after"), hunk("y", "z", sentinel="t"))
    files.take(plan(files, wanted))
    assert verdicts(plan(files, wanted)) == [("s", "applied"), ("t", "applied")]


def test_every_hunk_is_reported_and_one_that_does_not_fit_stops_all() -> None:
    files = Files({"a.c": A})
    found = plan(
        files, patch(hunk("one", "1"), hunk("gone", "2", sentinel="t"), hunk("x", "3", sentinel="u", file="b.c"))
    )
    assert verdicts(found) == [("s", "to apply"), ("t", "anchor missing"), ("u", "file missing")]
    assert [d.code for d in found.diagnostics] == ["SP6002", "SP6006"]
    assert (found.fits, found.changes) == (False, ())


def test_an_edited_block_is_told_from_an_applied_one() -> None:
    files = Files({"a.c": A})
    wanted = patch(hunk("two", "new"))
    files.take(plan(files, wanted))
    files["a.c"] = files["a.c"].replace(b"\nnew\n", b"\nnew, by hand\n")
    found = plan(files, wanted)
    assert verdicts(found) == [("s", "edited")]
    assert (only(found).code, str(only(found).place)) == ("SP6004", "a.c:2")
    assert "-new\n+new, by hand" in only(found).detail
    reverted = plan_revert(files, Record(found.edits))
    assert ([d.code for d in reverted.diagnostics], reverted.changes) == (["SP6004"], ())


def test_a_block_that_is_there_twice_is_not_called_applied() -> None:
    files = Files({"a.c": A})
    wanted = patch(hunk("two", "new"))
    files.take(plan(files, wanted))
    block = b"\n".join(line.encode() for line in wanted.versions[0].hunks[0].block()) + b"\n"
    files["a.c"] = files["a.c"].replace(block, block + block)
    assert verdicts(plan(files, wanted)) == [("s", "half-applied")]


@pytest.mark.parametrize("lost", [b">>>", b"<<<"])
def test_a_block_without_one_of_its_markers_is_half_applied(lost: bytes) -> None:
    files = Files({"a.c": A})
    wanted = patch(hunk("two", "new"))
    files.take(plan(files, wanted))
    kept = [line for line in files["a.c"].splitlines(keepends=True) if lost not in line]
    files["a.c"] = b"".join(kept)
    found = plan(files, wanted)
    assert (verdicts(found), only(found).code) == ([("s", "half-applied")], "SP6005")
    reverted = plan_revert(files, Record(found.edits))
    assert ([d.code for d in reverted.diagnostics], reverted.changes) == (["SP6005"], ())


def test_an_older_form_that_nobody_edited_is_brought_up_to_date_and_still_reverts() -> None:
    files = Files({"a.c": A})
    old = plan(files, patch(hunk("two", "old", "replace")))
    files.take(old)
    removed = {(edit.path, edit.sentinel): edit.removed for edit in old.edits}
    found = plan_patches(files, [patch(hunk("two, as it is called now", "new", "replace"))], {}, removed)
    assert (verdicts(found), only(found).code, only(found).severity) == ([("s", "stale")], "SP6008", Severity.WARNING)
    files.take(found)
    assert b"new" in files["a.c"] and b"old" not in files["a.c"]
    files.take(plan_revert(files, Record(found.edits)))
    assert files["a.c"] == A


def test_the_version_that_fits_is_chosen_and_later_ones_only_by_fitting_better() -> None:
    both = Patch(
        "demo",
        "demo.patch",
        (
            Version("new", (hunk("one", "1"), hunk("four", "4", sentinel="t"))),
            Version("old", (hunk("one", "1"), hunk("three", "3", sentinel="t"))),
            Version("older", (hunk("one", "1"),)),
        ),
    )
    assert plan(Files({"a.c": A}), both).versions == {"demo": "old"}
    assert plan(Files({"a.c": b"one\nthree\nfour\n"}), both).versions == {"demo": "new"}


def test_when_no_version_fits_the_closest_is_reported_and_the_one_that_is_applied_before_all() -> None:
    new = Version("new", (hunk("n1", "1", sentinel="a"), hunk("n2", "2", sentinel="b")))
    old = Version("old", (hunk("o1", "1", sentinel="c"), hunk("o2", "2", sentinel="d")))
    both = Patch("demo", "demo.patch", (new, old))
    assert plan(Files({"a.c": b"o1\n"}), both).versions == {"demo": "old"}
    files = Files({"a.c": b"o1\no2\nn1\n"})
    files.take(plan(files, both))
    files["a.c"] = files["a.c"].replace(b"\n2\n", b"\nby hand\n")
    found = plan(files, both)
    assert (found.versions, verdicts(found)) == ({"demo": "old"}, [("c", "applied"), ("d", "edited")])


def test_text_that_must_not_be_there_stops_all_and_names_place_and_fix() -> None:
    guard = Guard("OLD-PATCH", ("src/*.c",), "restore it", Place("demo.patch", 2))
    files = Files({"a.c": A, "src/x.c": b"\n// OLD-PATCH\n", "y.c": b"OLD-PATCH"})
    found = plan(files, patch(hunk("one", "1"), guards=[guard]))
    assert (only(found).code, str(only(found).place), only(found).fix) == ("SP6009", "src/x.c:2", "restore it")
    assert not found.changes


def test_a_version_is_not_put_over_what_is_left_of_another_one() -> None:
    old = Version("old", (hunk("o1", "1", sentinel="c"), hunk("o2", "2", sentinel="d")))
    new = Version("new", (hunk("n1", "1", sentinel="a"),))
    both = Patch("demo", "demo.patch", (new, old))
    files = Files({"a.c": b"o1\no2\n"})
    files.take(plan(files, both))
    files["a.c"] = files["a.c"].partition(b"// >>> shaderpack d")[0] + b"n1\n"
    found = plan(files, both)
    assert (found.versions, found.fits) == ({"demo": "old"}, False)


def test_an_edited_block_of_one_version_is_reported_where_another_one_would_fit() -> None:
    new, old = Version("new", (hunk("n", "1", sentinel="a"),)), Version("old", (hunk("o", "2", sentinel="b"),))
    both = Patch("demo", "demo.patch", (new, old))
    files = Files({"a.c": b"o\n"})
    files.take(plan(files, both))
    files["a.c"] = files["a.c"].replace(b"\n2\n", b"\nby hand\n") + b"n\n"
    assert verdicts(plan(files, both)) == [("b", "edited")]


def test_a_block_of_one_version_is_not_an_older_form_of_the_other_one() -> None:
    new, old = Version("new", (hunk("n", "1"),)), Version("old", (hunk("o", "2"),))
    both = Patch("demo", "demo.patch", (new, old))
    files = Files({"a.c": b"o\n"})
    files.take(plan(files, both))
    found = plan(files, both)
    assert (found.versions, verdicts(found), found.changes) == ({"demo": "old"}, [("s", "applied")], ())


# --- copies


def test_a_copy_is_made_found_brought_up_to_date_and_protected() -> None:
    files = Files()
    copies = {"demo": [stamped("a.comp", "x/a.comp", "pack", "void main() {}\n")]}
    newer = {"demo": [stamped("a.comp", "x/a.comp", "pack", "void main() { }\n")]}
    empty = patch()
    files.take(plan(files, empty, copies=copies))
    assert files["x/a.comp"].startswith(b"// shaderpack copy of a.comp, pack pack, sha256:")
    assert verdicts(plan(files, empty, copies=copies)) == [("copy of a.comp", "applied")]
    stale = plan(files, empty, copies=newer)
    assert (verdicts(stale), only(stale).code, stale.fits) == ([("copy of a.comp", "stale")], "SP6008", True)
    files["x/a.comp"] += b"// by hand\n"
    edited = plan(files, empty, copies=copies)
    assert (verdicts(edited), only(edited).code) == ([("copy of a.comp", "edited")], "SP6007")
    reverted = plan_revert(files, Record(copies=("x/a.comp",)))
    assert ([d.code for d in reverted.diagnostics], reverted.changes) == (["SP6007"], ())
    files["x/a.comp"] = b"void main() {}\n"
    foreign = plan(files, empty, copies=copies)
    assert (verdicts(foreign), foreign.changes) == ([("copy of a.comp", "in the way")], ())


def test_a_copy_with_other_line_ends_is_the_same_copy() -> None:
    copy = stamped("a.comp", "a.comp", "pack", "void main() {}\n")
    files = Files({"a.comp": copy.text.replace("\n", "\r\n").encode()})
    assert verdicts(plan(files, patch(), copies={"demo": [copy]})) == [("copy of a.comp", "applied")]
    assert plan_revert(files, Record(copies=("a.comp",))).changes[0].after is None


# --- taking out


def test_a_revert_that_does_not_give_the_recorded_bytes_is_refused() -> None:
    files = Files({"a.c": A})
    made = plan(files, patch(hunk("two", "new")))
    files.take(made)
    digests = FileDigests(before=sha256(b"something else"), after=sha256(files["a.c"]))
    reverted = plan_revert(files, Record(made.edits, (("a.c", digests),)))
    assert ([d.code for d in reverted.diagnostics], reverted.changes) == (["SP6010"], ())


def test_other_edits_of_a_patched_file_survive_the_revert() -> None:
    files = Files({"a.c": A})
    made = plan(files, patch(hunk("two", "new", "replace")))
    files.take(made)
    digests = FileDigests(before=sha256(A), after=sha256(files["a.c"]))
    files["a.c"] = b"zero\n" + files["a.c"]
    files.take(plan_revert(files, Record(made.edits, (("a.c", digests),))))
    assert files["a.c"] == b"zero\n" + A


def test_what_is_gone_already_is_no_fault() -> None:
    files = Files({"a.c": A})
    made = plan(files, patch(hunk("two", "new")), copies={"demo": [stamped("b", "b.c", "p", "b\n")]})
    reverted = plan_revert(files, Record(made.edits, (), ("b.c",)))
    assert (reverted.fits, reverted.changes) == (True, ())
    assert {item.verdict for item in reverted.items} == {Verdict.TO_APPLY}


PIECE = st.sampled_from(["one", "two", "  three", "", "\f", "é", "\udcff", "x\u2028y"])
ENDS = st.sampled_from(["\n", "\r\n"])


@st.composite
def cases(draw: st.DrawFn) -> tuple[bytes, list[Hunk]]:
    """A file with three unique anchors somewhere in it, and hunks for them; the last line may have no end."""
    names = draw(st.permutations(["ANCHOR-A", "ANCHOR-B", "ANCHOR-C"]))
    lines: list[str] = []
    for name in names:
        lines += [*draw(st.lists(PIECE, max_size=3)), name]
    lines += draw(st.lists(PIECE, max_size=2))
    text = "".join(line + draw(ENDS) for line in lines)
    if draw(st.booleans()):
        text = text.rstrip("\r\n")
    actions: st.SearchStrategy[Action] = st.sampled_from(("before", "after", "replace"))
    bodies = st.lists(st.sampled_from(["new", "ANCHOR-A", "", "é"]), min_size=1, max_size=3)
    hunks = [
        hunk(name, "\n".join(draw(bodies)), draw(actions), sentinel=name.lower())
        for name in draw(st.lists(st.sampled_from(names), unique=True))
    ]
    return encode(text), hunks


@given(cases())
def test_taking_out_restores_every_byte_with_and_without_a_record(case: tuple[bytes, list[Hunk]]) -> None:
    data, hunks = case
    files = Files({"a.c": data})
    made = plan(files, patch(*hunks))
    assert made.fits, made.diagnostics
    files.take(made)
    whole, broken = blocks(Lines.of(decode(files["a.c"])))
    assert (set(whole), broken) == ({h.sentinel for h in hunks}, set())
    again = plan(files, patch(*hunks))
    assert (again.changes, {i.verdict for i in again.items} <= {Verdict.APPLIED}) == ((), True)
    mixed = b"\r\n" in data and data.count(b"\r\n") != data.count(b"\n")
    for edits in [made.edits] if mixed else [made.edits, again.edits]:
        back = Files(files)
        back.take(plan_revert(back, Record(edits)))
        assert back["a.c"] == data


@given(st.binary())
def test_text_is_read_and_written_without_loss(data: bytes) -> None:
    assert encode(Lines.of(decode(data)).text) == data
