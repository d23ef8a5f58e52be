"""The record that a patched tree carries: what undoes each block, and the digests that prove a revert.

It is one JSON file in the tree's root. Without it a revert still works, from the patch files alone; with it an older
form of the patches can be taken out too.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, cast

from shaderc_tool.diagnostics import Diagnostic, Place, ShaderpackError
from shaderc_tool.patch.model import Action
from shaderc_tool.patch.parse import is_below
from shaderc_tool.patch.plan import Edit, Removed

SCHEMA = 1


def record_name(pack: str) -> str:
    """The record's path below the tree's root."""
    return f".shaderpack-{pack}.json"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class FileDigests:
    """SHA-256 of a file without the blocks and with them."""

    before: str
    after: str


@dataclass(frozen=True)
class Record:
    """What was done to a tree. `copies` are files and `folders` are folders that were not there before."""

    edits: tuple[Edit, ...] = ()
    files: tuple[tuple[str, FileDigests], ...] = ()
    copies: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()

    def removed(self) -> Removed:
        return {(edit.path, edit.sentinel): edit.removed for edit in self.edits}

    def dump(self) -> bytes:
        data = {
            "schema": SCHEMA,
            "edits": [
                {"path": e.path, "sentinel": e.sentinel, "action": e.action, "removed": e.removed} for e in self.edits
            ],
            "files": {path: {"before": d.before, "after": d.after} for path, d in self.files},
            "copies": list(self.copies),
            "folders": list(self.folders),
        }
        return (json.dumps(data, indent=1) + "\n").encode()


def load_record(data: bytes, name: str) -> Record:
    """Read a record. Raises ShaderpackError (SP6011) when it is not one that this version wrote."""
    try:
        raw: Any = json.loads(data)
        if raw["schema"] != SCHEMA:
            raise ValueError(f"schema {raw['schema']}")
        return Record(
            tuple(_edit(entry) for entry in raw["edits"]),
            tuple(
                (_path(path), FileDigests(_text(d["before"]), _text(d["after"]))) for path, d in raw["files"].items()
            ),
            tuple(_path(path) for path in raw["copies"]),
            tuple(_path(path) for path in raw["folders"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ShaderpackError(
            Diagnostic(
                "SP6011",
                f"the patch record {name} is damaged",
                Place(name),
                cause=str(error),
                fix=f"remove {name}; what the patch files of this pack put in can be reverted without it",
                subject=name,
            )
        ) from error


def _edit(entry: Any) -> Edit:
    action = _text(entry["action"])
    if action not in ("before", "after", "replace"):
        raise ValueError(f"action {action}")
    return Edit(_path(entry["path"]), _text(entry["sentinel"]), cast(Action, action), _text(entry["removed"]))


def _path(value: Any) -> str:
    """A path below the tree; a record that came with someone else's checkout must not reach outside."""
    if not is_below(_text(value)):
        raise ValueError(f"{value!r} leads out of the tree")
    return _text(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value
