"""What applying patches to a tree would do, decided before anything is written. Pure: the tree is read by a callback.

Every hunk and copy gets a verdict; nothing stops at the first one that does not fit.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from shaderc_tool.diagnostics import Diagnostic, Place, has_errors
from shaderc_tool.patch import report
from shaderc_tool.patch.copies import Stamp, stamp_of
from shaderc_tool.patch.lines import Block, Lines, blocks, decode, encode, find
from shaderc_tool.patch.model import Action, Copy, Guard, Hunk, Patch, Version


class Files(Protocol):
    """Files by path: relative to the root of a checkout, with forward slashes."""

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, None when there is no such file."""


class Tree(Files, Protocol):
    """A checkout."""

    def glob(self, pattern: str) -> list[str]:
        """The files that match, sorted."""


class Verdict(enum.Enum):
    """Where one hunk or copy stands. The first three can be applied; the others stop the whole run."""

    APPLIED = "applied"
    TO_APPLY = "to apply"
    STALE = "stale"
    EDITED = "edited"
    HALF_APPLIED = "half-applied"
    NO_ANCHOR = "anchor missing"
    AMBIGUOUS = "anchor ambiguous"
    NO_FILE = "file missing"
    IN_THE_WAY = "in the way"

    @property
    def fits(self) -> bool:
        return self in (Verdict.APPLIED, Verdict.TO_APPLY, Verdict.STALE)

    @property
    def present(self) -> bool:
        """Something of the hunk is in the tree already."""
        return self in (Verdict.APPLIED, Verdict.STALE, Verdict.EDITED, Verdict.HALF_APPLIED)


@dataclass(frozen=True)
class Item:
    """One hunk or copy with its verdict. `place` is in the tree."""

    patch: str
    name: str
    verdict: Verdict
    place: Place


@dataclass(frozen=True)
class Edit:
    """What undoes one block: put `removed` in its place."""

    path: str
    sentinel: str
    action: Action
    removed: str


@dataclass(frozen=True)
class Change:
    """One file to write, or to remove when `after` is None. `before` is what must be there; None for no file."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True)
class Plan:
    """All verdicts, and what to write when every one of them fits. `versions` is the chosen version by patch.

    `edits` are of the blocks that are or will be in the tree, the damaged ones included.
    """

    items: tuple[Item, ...]
    changes: tuple[Change, ...]
    edits: tuple[Edit, ...]
    diagnostics: tuple[Diagnostic, ...]
    versions: Mapping[str, str]

    @property
    def fits(self) -> bool:
        return not has_errors(self.diagnostics)


Removed = Mapping[tuple[str, str], str]
"""(path, sentinel) → the lines that an earlier run took out for this block."""


def plan_patches(
    tree: Tree, patches: Sequence[Patch], copies: Mapping[str, Sequence[Copy]], removed: Removed | None = None
) -> Plan:
    """Plan all patches on `tree`. `copies` are by patch name; `removed` is what the tree's record knows."""
    planner = _Planner(tree, removed or {})
    for patch in patches:
        for guard in patch.guards:
            planner.guard(guard)
        planner.patch(patch)
        for copy in copies.get(patch.name, ()):
            planner.copy(patch.name, copy)
    return planner.plan()


@dataclass(frozen=True)
class _Outcome:
    item: Item
    lines: Lines | None = None
    edit: Edit | None = None
    diagnostic: Diagnostic | None = None


@dataclass
class _Planner:
    tree: Tree
    removed: Removed
    originals: dict[str, bytes | None] = field(default_factory=dict)
    texts: dict[str, Lines] = field(default_factory=dict)
    items: list[Item] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)

    def plan(self) -> Plan:
        found = tuple(self.diagnostics)
        changes = tuple(
            Change(path, self.originals[path], after)
            for path, lines in self.texts.items()
            if (after := encode(lines.text)) != self.originals[path]
        )
        return Plan(tuple(self.items), () if has_errors(found) else changes, tuple(self.edits), found, self.versions)

    def guard(self, guard: Guard) -> None:
        for path in dict.fromkeys(path for glob in guard.globs for path in self.tree.glob(glob)):
            data = self._original(path) or b""
            at = data.find(guard.text.encode())
            if at >= 0:
                place = Place(path, data.count(b"\n", 0, at) + 1)
                self.diagnostics.append(report.forbidden(guard, place))

    def patch(self, patch: Patch) -> None:
        """Take the version of the highest rank, the first of several."""
        trials = [(version, self._try(patch.name, version)) for version in patch.versions]
        version, outcomes = max(trials, key=lambda trial: _rank(trial[1]))
        self.versions[patch.name] = version.name
        for outcome in outcomes:
            self.items.append(outcome.item)
            if outcome.lines is not None:
                self.texts[outcome.item.place.file] = outcome.lines
            if outcome.edit is not None:
                self.edits.append(outcome.edit)
            if outcome.diagnostic is not None:
                self.diagnostics.append(outcome.diagnostic)

    def _try(self, patch: str, version: Version) -> list[_Outcome]:
        texts = dict(self.texts)
        outcomes = []
        for hunk in version.hunks:
            lines = texts.get(hunk.file) or self._lines(hunk.file)
            if lines is None:
                item = Item(patch, hunk.sentinel, Verdict.NO_FILE, Place(hunk.file))
                outcome = _Outcome(item, diagnostic=report.no_file(hunk))
            else:
                outcome = _place_hunk(patch, hunk, lines, self.removed.get((hunk.file, hunk.sentinel)))
            if outcome.lines is not None:
                texts[hunk.file] = outcome.lines
            outcomes.append(outcome)
        return outcomes

    def copy(self, patch: str, copy: Copy) -> None:
        """A copy goes where nothing is, or over an older copy that nobody edited."""
        data = self._original(copy.destination)
        verdict = Verdict.TO_APPLY if data is None else _copy_verdict(decode(data), copy)
        if verdict in (Verdict.TO_APPLY, Verdict.STALE):
            self.texts[copy.destination] = Lines.of(copy.text)
        if verdict is Verdict.STALE:
            self.diagnostics.append(report.stale_copy(copy))
        elif not verdict.fits:
            self.diagnostics.append(report.bad_copy(copy, verdict.value))
        self.items.append(Item(patch, f"copy of {copy.source}", verdict, Place(copy.destination)))

    def _original(self, path: str) -> bytes | None:
        if path not in self.originals:
            self.originals[path] = self.tree.read(path)
        return self.originals[path]

    def _lines(self, path: str) -> Lines | None:
        data = self._original(path)
        return None if data is None else Lines.of(decode(data))


def _rank(outcomes: Iterable[_Outcome]) -> tuple[int, int, float]:
    """First the version that is in the tree already, so that none is put over it; then the one that fits best."""
    verdicts = [outcome.item.verdict for outcome in outcomes]
    applied = sum(v is Verdict.APPLIED for v in verdicts)
    present = sum(v.present for v in verdicts)
    return applied, present, sum(v.fits for v in verdicts) / len(verdicts) if verdicts else 1.0


def _copy_verdict(text: str, copy: Copy) -> Verdict:
    if text.replace("\r\n", "\n") == copy.text:
        return Verdict.APPLIED
    by_stamp = {Stamp.ABSENT: Verdict.IN_THE_WAY, Stamp.MATCHES: Verdict.STALE, Stamp.DIFFERS: Verdict.EDITED}
    return by_stamp[stamp_of(text)]


# --- one hunk


def _place_hunk(patch: str, hunk: Hunk, lines: Lines, removed: str | None) -> _Outcome:
    whole, broken = blocks(lines)

    def item(verdict: Verdict, line: int = -1) -> Item:
        return Item(patch, hunk.sentinel, verdict, Place(hunk.file, line + 1))

    if hunk.sentinel in broken:
        edit = Edit(hunk.file, hunk.sentinel, hunk.action, "")
        return _Outcome(item(Verdict.HALF_APPLIED), edit=edit, diagnostic=report.half_applied(hunk, lines))
    block = whole.get(hunk.sentinel)
    if block is not None:
        edit = Edit(hunk.file, hunk.sentinel, hunk.action, _taken_out(hunk, lines, block, removed))
        if not block.intact:
            return _Outcome(item(Verdict.EDITED, block.start), None, edit, report.edited(hunk, lines, block))
        if block.digest == hunk.digest:
            return _Outcome(item(Verdict.APPLIED, block.start), edit=edit)
        newer = _replace(lines, block.start, block.end, hunk.block())
        return _Outcome(item(Verdict.STALE, block.start), newer, edit, report.stale(hunk, block))
    places = find(lines, hunk.anchor, whole.values())
    if not places:
        return _Outcome(item(Verdict.NO_ANCHOR), diagnostic=report.no_anchor(hunk, lines))
    if len(places) > 1:
        return _Outcome(item(Verdict.AMBIGUOUS), diagnostic=report.ambiguous(hunk, places))
    return _inject(item(Verdict.TO_APPLY, places[0]), hunk, lines, places[0])


def _inject(item: Item, hunk: Hunk, lines: Lines, at: int) -> _Outcome:
    end = at + len(hunk.anchor)
    start, stop = {"before": (at, at), "after": (end, end), "replace": (at, end)}[hunk.action]
    taken = "".join(lines.items[start:stop])
    edit = Edit(hunk.file, hunk.sentinel, hunk.action, taken)
    return _Outcome(item, _replace(lines, start, stop, hunk.block()), edit)


def _replace(lines: Lines, start: int, stop: int, new: Sequence[str]) -> Lines:
    """`new` (without line ends) in place of the lines from `start` to `stop`."""
    items, eol = lines.items, lines.eol
    text = eol.join(new)
    before = "".join(items[:start])
    if before and not before.endswith("\n"):
        return Lines.of(before + eol + text)  # behind a last line that has no end
    ended = stop < len(items) or start == stop or items[stop - 1].endswith("\n")
    return Lines.of(before + text + (eol if ended else "") + "".join(items[stop:]))


def _taken_out(hunk: Hunk, lines: Lines, block: Block, removed: str | None) -> str:
    """What stood where the block is: by the record, else by the anchor of the patch."""
    if removed is not None or hunk.action != "replace":
        return removed or ""
    ended = lines.items[block.end - 1].endswith("\n")
    return lines.eol.join(hunk.anchor) + (lines.eol if ended else "")


def undo(lines: Lines, block: Block, action: Action, removed: str) -> Lines:
    """`lines` without the block; the inverse of applying it, to the byte."""
    before = "".join(lines.items[: block.start])
    if action == "after" and not lines.items[block.end - 1].endswith("\n"):
        before = before.removesuffix(lines.eol)  # the end that the injection gave to the last line
    return Lines.of(before + removed + "".join(lines.items[block.end :]))
