"""The diagnostics of patching, each with what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from shaderc_tool.diagnostics import Diagnostic, Place, Related, Severity
from shaderc_tool.patch.lines import Block, Lines, nearest
from shaderc_tool.patch.model import BEGIN, END, Copy, Guard, Hunk

_LIKE = 0.4
"""Below this likeness (difflib's ratio) a match is noise and not worth a look."""


def _diff(old: Sequence[str], new: Sequence[str], old_name: str, new_name: str) -> str:
    return "\n".join(difflib.unified_diff(old, new, old_name, new_name, lineterm="", n=len(old)))


def forbidden(guard: Guard, place: Place) -> Diagnostic:
    return Diagnostic(
        "SP6009",
        f"the tree holds «{guard.text}»",
        place,
        cause="nothing is written into a tree with this patch in it",
        fix=guard.fix,
        subject=guard.text,
        related=(Related(guard.place, "the rule"),),
    )


def no_file(hunk: Hunk) -> Diagnostic:
    return Diagnostic(
        "SP6006",
        f"{hunk.sentinel}: {hunk.file} is not in the tree",
        hunk.place,
        cause="--tree is not the root of such a checkout, or upstream moved the file",
        fix="give the checkout's root, or add a VERSION for the new place",
        subject=hunk.sentinel,
    )


def no_anchor(hunk: Hunk, lines: Lines) -> Diagnostic:
    near = nearest(lines, hunk.anchor)
    related: tuple[Related, ...] = ()
    detail = ""
    if near is not None and near.likeness >= _LIKE:
        place = Place(hunk.file, near.start + 1)
        related = (Related(place, f"nearest match, {near.likeness:.0%} alike"),)
        detail = _diff(hunk.anchor, near.lines, "anchor", str(place))
    return Diagnostic(
        "SP6002",
        f"{hunk.sentinel}: the anchor is not in {hunk.file}",
        hunk.place,
        cause="upstream changed these lines" if related else "nothing in the file is like it",
        fix="check the nearest match and correct the anchor, or add a VERSION with it",
        subject=hunk.sentinel,
        related=related,
        detail=detail,
    )


def ambiguous(hunk: Hunk, places: Iterable[int]) -> Diagnostic:
    return Diagnostic(
        "SP6003",
        f"{hunk.sentinel}: the anchor is in {hunk.file} more than once",
        hunk.place,
        cause="it is not clear which of them is meant",
        fix="add lines to the anchor until it is unique",
        subject=hunk.sentinel,
        related=tuple(Related(Place(hunk.file, at + 1), "here") for at in places),
    )


def edited(hunk: Hunk, lines: Lines, block: Block) -> Diagnostic:
    place = Place(hunk.file, block.start + 1)
    actual = lines.bare()[block.start + 1 : block.end - 1]
    return Diagnostic(
        "SP6004",
        f"{hunk.sentinel}: the patched lines were edited",
        place,
        cause="their digest is not the one in the marker line",
        fix="move the edit into the patch file, or undo it, then run again",
        subject=hunk.sentinel,
        related=(Related(hunk.place, "the hunk"),),
        detail=_diff(hunk.body, actual, str(hunk.place), str(place)),
    )


def half_applied(hunk: Hunk, lines: Lines) -> Diagnostic:
    marks = [
        Related(Place(hunk.file, number), "a marker")
        for number, line in enumerate(lines.bare(), 1)
        if f"{BEGIN} {hunk.sentinel} " in line or line.rstrip(" */\\").endswith(f"{END} {hunk.sentinel}")
    ]
    return Diagnostic(
        "SP6005",
        f"{hunk.sentinel}: the patch is there in part",
        marks[0].place if marks else Place(hunk.file),
        cause="its markers are not one pair, so where it begins or ends is unknown",
        fix=f"restore {hunk.file} from version control, then run again",
        subject=hunk.sentinel,
        related=tuple(marks[1:]),
    )


def stale(hunk: Hunk, block: Block) -> Diagnostic:
    return Diagnostic(
        "SP6008",
        f"{hunk.sentinel}: the tree has an older form of this patch",
        Place(hunk.file, block.start + 1),
        cause=f"it has digest {block.digest}, the patch file {hunk.digest}",
        fix="run `shaderpack patch` again to bring it up to date",
        subject=hunk.sentinel,
        severity=Severity.WARNING,
    )


def stale_copy(copy: Copy) -> Diagnostic:
    return Diagnostic(
        "SP6008",
        f"the copy of {copy.source} is stale",
        Place(copy.destination, 1),
        cause="the source or one of its includes changed since it was copied",
        fix="run `shaderpack patch` again to bring it up to date",
        subject=copy.destination,
        severity=Severity.WARNING,
    )


def bad_copy(copy: Copy, verdict: str) -> Diagnostic:
    return Diagnostic(
        "SP6007",
        f"the copy of {copy.source} is {verdict}",
        Place(copy.destination, 1),
        cause="the content is not what its stamp says, or the file has no stamp",
        fix=f"move the edit to {copy.source}, or rename or remove this file",
        subject=copy.destination,
    )
