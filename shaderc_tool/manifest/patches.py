"""The manifest's `patches:`: which patch files, and which sources go into the tree with them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from shaderc_tool.diagnostics import Diagnostic, Place
from shaderc_tool.manifest.audit_keys import unknown_target
from shaderc_tool.manifest.model import PatchCopy, PatchSet, Target
from shaderc_tool.manifest.nodes import Node

_FIELD: Final = re.compile(r"\{([^{}]*)\}")
_FIELDS: Final = {"vulkan": ("stem", "symbol"), "metal": ("stem",)}


def load_patches(
    entries: Iterable[Node],
    targets: Mapping[str, Target],
    root: Path,
    below_root: Callable[[Node], str | None],
    found: list[Diagnostic],
) -> tuple[PatchSet, ...]:
    """The patch sets, shapes checked before. Appends SP1008, SP1011 and SP1012 to `found`."""
    sets = []
    for entry in entries:
        node = entry["file"]
        file = below_root(node)
        if file is not None and not (root / file).is_file():
            found.append(_no_file(node))
        copy = entry.get("copy")
        wanted = () if copy is None else copy.items if copy.items is not None else (copy,)
        copies = tuple(_copy(item, targets, found) for item in wanted)
        sets.append(PatchSet(file or "", entry.place, copies))
    return tuple(sets)


def _copy(entry: Node, targets: Mapping[str, Target], found: list[Diagnostic]) -> PatchCopy:
    name, to = entry["target"].string(), entry["to"].string()
    target = targets.get(name)
    if target is None:
        found.append(unknown_target(name, entry["target"].place, targets))
    else:
        found += (
            _no_field(field, target, entry["to"].place)
            for field in _FIELD.findall(to)
            if field not in _FIELDS[target.api]
        )
    normal = posixpath.normpath(to)
    if posixpath.isabs(to) or normal == ".." or normal.startswith("../") or re.search(r"[\\:]", to):
        found.append(_outside(entry["to"]))
    return PatchCopy(name, normal)


def _no_file(node: Node) -> Diagnostic:
    return Diagnostic(
        "SP1008",
        f"the patch file «{node.string()}» is not there",
        node.place,
        cause="no file at this place",
        fix="correct the path; it is relative to the manifest",
        subject=node.string(),
    )


def _outside(node: Node) -> Diagnostic:
    return Diagnostic(
        "SP1008",
        f"«{node.string()}» is not a path below the tree",
        node.place,
        cause="copies stay inside the tree that is patched",
        fix="write it relative to the tree's root, with forward slashes",
        subject=node.string(),
    )


def _no_field(field: str, target: Target, place: Place) -> Diagnostic:
    return Diagnostic(
        "SP1012",
        f"«{{{field}}}» means nothing for the {target.api} target «{target.name}»",
        place,
        cause="known are " + " and ".join(f"{{{name}}}" for name in _FIELDS[target.api]),
        fix="use one of them",
        subject=field,
    )
