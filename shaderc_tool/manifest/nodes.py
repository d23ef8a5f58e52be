"""YAML text to nodes that know their place.

Values stay as written: `min_os: 14.10` is the text «14.10», not the number 14.1. What a scalar means is decided by the
shape that is expected at its place (`shapes.py`), so the classic YAML traps (`no`, `1.20`, `0o7`) do not arise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from shaderc_tool.diagnostics import Diagnostic, Place, UsageError

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MAX_DEPTH = 24
"""Deeper nesting than any manifest needs; keeps hostile input from exhausting the stack."""


@dataclass(frozen=True)
class Node:
    """One YAML value. Exactly one of `text`, `items`, `entries` is set; an empty value is `text == ""`."""

    place: Place
    text: str | None = None
    items: tuple[Node, ...] | None = None
    entries: dict[str, Node] | None = None
    key_places: dict[str, Place] = field(default_factory=dict)
    quoted: bool = False

    @property
    def kind(self) -> str:
        if self.entries is not None:
            return "mapping"
        return "list" if self.items is not None else "scalar"

    def get(self, key: str) -> Node | None:
        return (self.entries or {}).get(key)

    def __getitem__(self, key: str) -> Node:
        return (self.entries or {})[key]

    def pairs(self) -> Iterator[tuple[str, Node]]:
        return iter((self.entries or {}).items())

    def string(self) -> str:
        """The scalar's text; "" for anything else."""
        return self.text or ""

    def texts(self) -> tuple[str, ...]:
        """The texts of a list of scalars, or of one scalar standing for a list of one."""
        if self.items is None:
            return (self.string(),)
        return tuple(item.string() for item in self.items)


def parse(text: str, file: str) -> tuple[Node, list[Diagnostic]]:
    """Parse one YAML document. Raises UsageError (SP1001) when it is not YAML; duplicate keys come back as SP1006."""
    try:
        root = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
        raise _not_yaml(place, error.problem or "not valid YAML") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise _not_yaml(Place(file), str(error) or "nested too deeply") from error
    if root is None:
        raise _not_yaml(Place(file, 1, 1), "the file is empty")
    diagnostics: list[Diagnostic] = []
    return _convert(root, file, diagnostics, 0, {}), diagnostics


def _not_yaml(place: Place, problem: str) -> UsageError:
    return UsageError(
        Diagnostic(
            "SP1001",
            f"the manifest is not valid YAML: {problem}",
            place,
            cause="the YAML parser stopped here",
            fix="check indentation, quotes and brackets; `shaderpack init` writes a valid example",
        )
    )


def _convert(raw: Any, file: str, out: list[Diagnostic], depth: int, seen: dict[int, Node]) -> Node:
    place = Place(file, raw.start_mark.line + 1, raw.start_mark.column + 1)
    if depth > MAX_DEPTH:
        raise _not_yaml(place, f"nested deeper than {MAX_DEPTH} levels")
    # An alias gives the same raw node again; converting it once keeps «billion laughs» input linear.
    known = seen.get(id(raw))
    if known is not None:
        return known
    if isinstance(raw, yaml.ScalarNode):
        text = "" if raw.tag == "tag:yaml.org,2002:null" and raw.value in ("~", "null") else str(raw.value)
        node = Node(place, text=text, quoted=raw.style in ("'", '"'))
    elif isinstance(raw, yaml.SequenceNode):
        node = Node(place, items=tuple(_convert(item, file, out, depth + 1, seen) for item in raw.value))
    else:
        node = _convert_mapping(raw, place, file, out, depth, seen)
    seen[id(raw)] = node
    return node


def _convert_mapping(
    raw: Any, place: Place, file: str, out: list[Diagnostic], depth: int, seen: dict[int, Node]
) -> Node:
    entries: dict[str, Node] = {}
    key_places: dict[str, Place] = {}
    for raw_key, raw_value in raw.value:
        key_place = Place(file, raw_key.start_mark.line + 1, raw_key.start_mark.column + 1)
        if not isinstance(raw_key, yaml.ScalarNode):
            out.append(
                Diagnostic(
                    "SP1004",
                    "a key must be plain text",
                    key_place,
                    cause="the key is a list or a mapping",
                    fix="write a simple word before the colon",
                )
            )
            continue
        key = str(raw_key.value)
        if key in entries:
            out.append(
                Diagnostic(
                    "SP1006",
                    f"key «{key}» is given twice",
                    key_place,
                    cause=f"it was given first at line {key_places[key].line}; YAML would silently drop one of the two",
                    fix="remove or rename one of them",
                    subject=key,
                )
            )
            continue
        entries[key] = _convert(raw_value, file, out, depth + 1, seen)
        key_places[key] = key_place
    return Node(place, entries=entries, key_places=key_places)
