"""Undoing patches: every block that a record or the patch files know is taken out. Pure, like `plan.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shaderc_tool.diagnostics import Diagnostic, Place
from shaderc_tool.patch.copies import Stamp, stamp_of
from shaderc_tool.patch.lines import Lines, blocks, decode, encode
from shaderc_tool.patch.plan import Change, Edit, Files, Item, Plan, Verdict, undo
from shaderc_tool.patch.state import FileDigests, Record, sha256

_RESTORE = "undo the edit, or restore the file from version control, then run again"


def plan_revert(tree: Files, record: Record) -> Plan:
    """What to write so that the tree is as it was before what `record` says was done.

    An edited or half-removed block (SP6004, SP6005) or copy (SP6007) stops everything. What is gone already is no
    fault: its verdict is TO_APPLY. Where a file is still what the record says, the result is checked against its digest
    from before the patch (SP6010).
    """
    reverter = _Reverter(tree, dict(record.files))
    for path in dict.fromkeys(edit.path for edit in record.edits):
        reverter.file(path, [edit for edit in record.edits if edit.path == path])
    for path in record.copies:
        reverter.copy(path)
    changes = () if reverter.found else tuple(reverter.changes)
    return Plan(tuple(reverter.items), changes, (), tuple(reverter.found), {})


@dataclass
class _Reverter:
    tree: Files
    digests: Mapping[str, FileDigests]
    items: list[Item] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    found: list[Diagnostic] = field(default_factory=list)

    def file(self, path: str, edits: Sequence[Edit]) -> None:
        """Take the blocks of one file out."""
        data = self.tree.read(path)
        lines = Lines.of(decode(data or b""))
        for edit in edits:
            lines = self._take_out(edit, lines)
        after = encode(lines.text)
        known = self.digests.get(path)
        if data is None or after == data:
            return
        if known is not None and known.after == sha256(data) and known.before != sha256(after):
            self._refuse("SP6010", path, 0, "the result is not what the record says was there before")
            return
        self.changes.append(Change(path, data, after))

    def _take_out(self, edit: Edit, lines: Lines) -> Lines:
        whole, broken = blocks(lines)
        block = whole.get(edit.sentinel)
        if block is not None and block.intact:
            self._item(edit.sentinel, Verdict.APPLIED, edit.path, block.start + 1)
            return undo(lines, block, edit.action, edit.removed)
        if block is not None:
            self._item(edit.sentinel, Verdict.EDITED, edit.path, block.start + 1)
            self._refuse("SP6004", edit.path, block.start + 1, f"the patched lines of {edit.sentinel} were edited")
        elif edit.sentinel in broken:
            self._item(edit.sentinel, Verdict.HALF_APPLIED, edit.path, 0)
            self._refuse("SP6005", edit.path, 0, f"the markers of {edit.sentinel} are not one pair")
        else:
            self._item(edit.sentinel, Verdict.TO_APPLY, edit.path, 0)
        return lines

    def copy(self, path: str) -> None:
        """Remove a copy that nobody edited."""
        data = self.tree.read(path)
        if data is None:
            self._item("copy", Verdict.TO_APPLY, path, 0)
        elif stamp_of(decode(data)) is Stamp.MATCHES:
            self._item("copy", Verdict.APPLIED, path, 0)
            self.changes.append(Change(path, data, None))
        else:
            self._item("copy", Verdict.EDITED, path, 0)
            self._refuse("SP6007", path, 1, "the content is not what its stamp says, or the stamp is gone")

    def _item(self, name: str, verdict: Verdict, path: str, line: int) -> None:
        self.items.append(Item("", name, verdict, Place(path, line)))

    def _refuse(self, code: str, path: str, line: int, cause: str) -> None:
        message = f"{path} cannot be reverted"
        self.found.append(Diagnostic(code, message, Place(path, line), cause=cause, fix=_RESTORE, subject=path))
