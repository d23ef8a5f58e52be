"""What `shaderpack patch` does, without printing: a manifest and a tree in, plans out."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from shaderc_tool.diagnostics import Diagnostic, Place, ShaderpackError, UsageError
from shaderc_tool.manifest.load import load_manifest
from shaderc_tool.manifest.model import Manifest, PatchSet
from shaderc_tool.patch.apply import DiskTree, commit
from shaderc_tool.patch.copies import destination, self_contained, stamped
from shaderc_tool.patch.lines import Lines, decode, encode
from shaderc_tool.patch.model import Copy, Patch
from shaderc_tool.patch.parse import parse_patch
from shaderc_tool.patch.plan import Change, Plan, Verdict, plan_patches
from shaderc_tool.patch.revert import plan_revert
from shaderc_tool.patch.state import FileDigests, Record, load_record, record_name, sha256


@dataclass(frozen=True)
class Pack:
    """The patches of one manifest, read and checked. `copies` are by patch name."""

    name: str
    root: Path
    patches: tuple[Patch, ...]
    copies: dict[str, tuple[Copy, ...]]

    @property
    def destinations(self) -> tuple[str, ...]:
        return tuple(copy.destination for copies in self.copies.values() for copy in copies)


def load_pack(path: Path) -> Pack:
    """The patches that a manifest lists. Raises UsageError when it lists none or one is faulty, with all faults."""
    manifest = load_manifest(path)
    if not manifest.patches:
        raise UsageError(
            Diagnostic(
                "SP1013",
                "the manifest lists no patches",
                Place(manifest.file),
                cause="there is no key `patches:`",
                fix="add it; docs/manifest.md shows how",
            )
        )
    read = _reader(manifest.root)
    patches: list[Patch] = []
    copies: dict[str, tuple[Copy, ...]] = {}
    faults: list[Diagnostic] = []
    for entry in manifest.patches:
        try:
            patch = parse_patch(_patch_text(entry, read), entry.file)
            patches.append(patch)
            copies[patch.name] = _copies(manifest, entry, read)
        except ShaderpackError as error:
            faults += error.diagnostics
    faults += _shared_names(patches)
    faults += _shared_places(manifest, (copy for some in copies.values() for copy in some))
    if faults:
        raise UsageError(*faults)
    return Pack(manifest.pack, manifest.root, tuple(patches), copies)


def _patch_text(entry: PatchSet, read: Callable[[str], str | None]) -> str:
    text = read(entry.file)
    if text is not None:
        return text
    raise UsageError(
        Diagnostic(
            "SP6001",
            f"{entry.file} is not a text file",
            entry.place,
            cause="it cannot be read as UTF-8",
            fix="save it as UTF-8",
            subject=entry.file,
        )
    )


def _shared_names(patches: Sequence[Patch]) -> Iterator[Diagnostic]:
    """Names that two patch files share: they could not be told apart in the tree."""
    first: dict[tuple[str, ...], Place] = {}
    for patch in patches:
        places: dict[tuple[str, ...], Place] = {("PATCH", patch.name): Place(patch.file)}
        places |= {("SENTINEL", h.file, h.sentinel): h.place for v in patch.versions for h in v.hunks}
        for name, place in places.items():
            if name in first:
                yield Diagnostic(
                    "SP6001",
                    f"{name[0]} {name[-1]} is used by two patch files",
                    place,
                    cause=f"the other one is at {first[name]}",
                    fix="rename one of them",
                    subject=patch.file,
                )
            first.setdefault(name, place)


def _shared_places(manifest: Manifest, copies: Iterable[Copy]) -> Iterator[Diagnostic]:
    """Sources that would be copied over each other."""
    first: dict[str, Copy] = {}
    for copy in copies:
        other = first.setdefault(copy.destination, copy)
        if other.source != copy.source:
            yield Diagnostic(
                "SP1010",
                f"two sources go to {copy.destination}",
                Place(manifest.file),
                cause=f"{other.source} and {copy.source} get the same name",
                fix="put {symbol} into `to`, or rename one of the sources",
                subject=copy.destination,
            )


def _reader(root: Path) -> Callable[[str], str | None]:
    def read(path: str) -> str | None:
        try:
            return (root / path).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    return read


def _copies(manifest: Manifest, entry: PatchSet, read: Callable[[str], str | None]) -> tuple[Copy, ...]:
    copies = []
    for wanted in entry.copies:
        sources = [(job.file, job.symbol) for job in manifest.shaders if job.target == wanted.target]
        sources += [(unit.file, "") for unit in manifest.metal if unit.target == wanted.target]
        for source, symbol in sources:
            text = self_contained(source, read, manifest.include)
            copies.append(stamped(source, destination(wanted.to, source, symbol), manifest.pack, text))
    return tuple(dict.fromkeys(copies))


# --- the tree


def open_tree(folder: Path) -> DiskTree:
    """The checkout. Raises UsageError (SP1014) when it is no folder."""
    if folder.is_dir():
        return DiskTree(folder)
    raise UsageError(
        Diagnostic(
            "SP1014",
            f"there is no folder {folder}",
            cause="--tree names the checkout that is patched",
            fix="give the root folder of the checkout",
        )
    )


def read_record(pack: Pack, tree: DiskTree) -> Record | None:
    """The record of an earlier run, None when there is none. Raises ShaderpackError (SP6011)."""
    name = record_name(pack.name)
    data = tree.read(name)
    return None if data is None else load_record(data, name)


def survey(pack: Pack, tree: DiskTree) -> Plan:
    """Where every hunk and copy of the pack stands in this tree, and what applying them would write."""
    record = read_record(pack, tree)
    return plan_patches(tree, pack.patches, pack.copies, record.removed() if record else None)


def apply_plan(pack: Pack, tree: DiskTree, plan: Plan) -> tuple[Change, ...]:
    """Write what the plan says, and the record first, so that a run that was killed can be reverted."""
    if not plan.fits or not plan.changes:
        return ()
    name = record_name(pack.name)
    before = tree.read(name)
    record = _record(pack, tree, plan)
    commit(tree, (Change(name, before, record.dump()), *plan.changes))
    return plan.changes


def _record(pack: Pack, tree: DiskTree, plan: Plan) -> Record:
    """The record after this run: what it does, and what an earlier run did with patches that are no longer listed."""
    old = read_record(pack, tree) or Record()
    current = {(edit.path, edit.sentinel) for edit in plan.edits}
    edits = (*(edit for edit in old.edits if (edit.path, edit.sentinel) not in current), *plan.edits)
    copies = dict.fromkeys((*old.copies, *pack.destinations))
    folders = dict.fromkeys((*old.folders, *tree.missing_folders(change.path for change in plan.changes)))
    record = Record(edits, (), tuple(copies), tuple(folders))
    after = _After(tree, {change.path: change.after for change in plan.changes})
    reverted = {change.path: change.after for change in plan_revert(after, record).changes}
    digests = []
    for path in dict.fromkeys(edit.path for edit in edits):
        with_blocks, without = after.read(path), reverted.get(path)
        if with_blocks is not None and without is not None:
            digests.append((path, FileDigests(sha256(without), sha256(with_blocks))))
    return Record(edits, tuple(digests), tuple(copies), tuple(folders))


@dataclass(frozen=True)
class _After:
    """The tree as it will be."""

    tree: DiskTree
    written: dict[str, bytes | None]

    def read(self, path: str) -> bytes | None:
        return self.written[path] if path in self.written else self.tree.read(path)


def survey_revert(pack: Pack, tree: DiskTree) -> Plan:
    """What taking the patches out would write: by the tree's record, else by the patch files."""
    record = read_record(pack, tree)
    return plan_revert(tree, record or _record_from(pack, tree))


def _record_from(pack: Pack, tree: DiskTree) -> Record:
    plan = plan_patches(tree, pack.patches, pack.copies)
    stamped_here = tuple(
        item.place.file for item in plan.items if item.place.file in pack.destinations and item.verdict.present
    )
    return Record(plan.edits, (), stamped_here)


def revert_plan(pack: Pack, tree: DiskTree, plan: Plan) -> tuple[Change, ...]:
    """Write what `survey_revert` found; the record goes last."""
    if not plan.fits:
        return ()
    name = record_name(pack.name)
    data = tree.read(name)
    record = read_record(pack, tree)
    last = () if data is None else (Change(name, data, None),)
    commit(tree, (*plan.changes, *last), record.folders if record else ())
    return plan.changes


# --- how it reads


def patch_states(pack: Pack, plan: Plan) -> Iterator[tuple[str, str]]:
    """Each patch with one word for all its hunks and copies. A patch that changes nothing is never applied."""
    for patch in pack.patches:
        verdicts = {item.verdict for item in plan.items if item.patch == patch.name}
        yield patch.name, _state(verdicts)


def _state(verdicts: set[Verdict]) -> str:
    if verdicts <= {Verdict.TO_APPLY}:
        return "not-applied"
    if verdicts == {Verdict.APPLIED}:
        return "applied"
    if Verdict.EDITED in verdicts:
        return "edited"
    if any(v.present for v in verdicts) and not verdicts <= {Verdict.APPLIED, Verdict.STALE}:
        return "half-applied"
    return "stale" if Verdict.STALE in verdicts else "does-not-fit"


def unified_diff(changes: Sequence[Change]) -> Iterator[bytes]:
    """The changes as `git apply` reads them, one piece a file."""
    for change in changes:
        old, new = (Lines.of(decode(data or b"")).items for data in (change.before, change.after))
        names = (
            f"a/{change.path}" if change.before is not None else "/dev/null",
            f"b/{change.path}" if change.after is not None else "/dev/null",
        )
        lines = difflib.unified_diff(old, new, *names)
        unended = "\n\\ No newline at end of file\n"
        yield encode("".join(line if line.endswith("\n") else line + unended for line in lines))
