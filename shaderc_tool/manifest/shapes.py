"""Shapes: what may stand at a place of the manifest. One description drives the checker and the JSON Schema."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shaderc_tool.diagnostics import Diagnostic, Place
from shaderc_tool.manifest.nodes import Node

Found = list[Diagnostic]


class Shape:
    """Base of all shapes."""

    name = "value"

    def check(self, node: Node, path: str, out: Found) -> None:
        """Append a diagnostic for everything at or below `node` that does not fit."""
        raise NotImplementedError

    def schema(self) -> dict[str, Any]:
        """This shape as JSON Schema (draft 2020-12)."""
        raise NotImplementedError


def wrong_type(node: Node, path: str, wanted: str) -> Diagnostic:
    """The SP1004 diagnostic for a node that is not a `wanted`."""
    return Diagnostic(
        "SP1004",
        f"«{path}» must be {wanted}, not a {node.kind}",
        node.place,
        cause=f"a {node.kind} stands here",
        fix=f"write {wanted}",
        subject=path,
    )


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """« did you mean «x»?» or the list of what is known."""
    known = sorted(known)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if close:
        return f"did you mean «{close[0]}»?"
    return "known here: " + ", ".join(known) if known else "nothing is known here"


@dataclass(frozen=True)
class Text(Shape):
    """A scalar: one of `allowed`, or text that matches `pattern`."""

    allowed: tuple[str, ...] = ()
    pattern: str = ""
    hint: str = ""
    name = "text"

    def check(self, node: Node, path: str, out: Found) -> None:
        if node.text is None:
            out.append(wrong_type(node, path, "text"))
        elif self.allowed and node.text not in self.allowed:
            out.append(
                Diagnostic(
                    "SP1005",
                    f"«{path}» cannot be «{node.text}»",
                    node.place,
                    cause="allowed: " + ", ".join(self.allowed),
                    fix=did_you_mean(node.text, self.allowed),
                    subject=path,
                )
            )
        elif not self.allowed and not node.text and not node.quoted:
            out.append(wrong_type_empty(node, path))
        elif self.pattern and not re.fullmatch(self.pattern, node.text):
            out.append(
                Diagnostic(
                    "SP1009",
                    f"«{path}» cannot be «{node.text}»",
                    node.place,
                    cause=f"it must be {self.hint or 'text that matches ' + self.pattern}",
                    fix=f"write {self.hint or 'another value'}",
                    subject=path,
                )
            )

    def schema(self) -> dict[str, Any]:
        if self.allowed:
            return {"enum": list(self.allowed)}
        text: dict[str, Any] = {"type": ["string", "number", "boolean"]}
        if self.pattern:
            text = {"type": ["string", "number"], "pattern": f"^(?:{self.pattern})$"}
        return text


def wrong_type_empty(node: Node, path: str) -> Diagnostic:
    """The SP1004 diagnostic for a key with nothing behind the colon."""
    return Diagnostic(
        "SP1004",
        f"«{path}» has no value",
        node.place,
        cause="nothing stands behind the colon",
        fix="give it a value or remove the key",
        subject=path,
    )


@dataclass(frozen=True)
class Integer(Shape):
    """A whole number of at least `minimum`; decimal or 0x."""

    minimum: int = 0
    name = "a whole number"

    def check(self, node: Node, path: str, out: Found) -> None:
        value = as_int(node)
        if value is None or value < self.minimum:
            out.append(
                Diagnostic(
                    "SP1004",
                    f"«{path}» must be a whole number of at least {self.minimum}",
                    node.place,
                    cause=f"«{node.text}» stands here" if node.text is not None else f"a {node.kind} stands here",
                    fix="write a number such as 32",
                    subject=path,
                )
            )

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.minimum}


@dataclass(frozen=True)
class Flag(Shape):
    """true or false."""

    name = "true or false"

    def check(self, node: Node, path: str, out: Found) -> None:
        if node.text not in ("true", "false"):
            out.append(wrong_type(node, path, "true or false"))

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True)
class ListOf(Shape):
    """A list; with `single`, one value may stand for a list of one."""

    item: Shape
    single: bool = True
    minimum: int = 0
    name = "a list"

    def check(self, node: Node, path: str, out: Found) -> None:
        if node.items is None:
            if self.single and (node.entries is None or isinstance(self.item, Record)):
                self.item.check(node, path, out)
            else:
                out.append(wrong_type(node, path, "a list"))
            return
        if len(node.items) < self.minimum:
            out.append(
                Diagnostic(
                    "SP1004",
                    f"«{path}» needs at least {self.minimum} entries",
                    node.place,
                    cause=f"it has {len(node.items)}",
                    fix="add what is missing",
                    subject=path,
                )
            )
        for index, item in enumerate(node.items):
            self.item.check(item, f"{path}[{index}]", out)

    def schema(self) -> dict[str, Any]:
        array: dict[str, Any] = {"type": "array", "items": self.item.schema()}
        if self.minimum:
            array["minItems"] = self.minimum
        return {"anyOf": [array, self.item.schema()]} if self.single else array


@dataclass(frozen=True)
class MapOf(Shape):
    """A mapping with free keys that match `key_pattern`."""

    value: Shape
    key_pattern: str = ""
    key_hint: str = ""
    name = "a mapping"

    def check(self, node: Node, path: str, out: Found) -> None:
        if node.entries is None:
            out.append(wrong_type(node, path, "a mapping"))
            return
        for key, value in node.entries.items():
            if self.key_pattern and not re.fullmatch(self.key_pattern, key):
                out.append(
                    Diagnostic(
                        "SP1009",
                        f"«{key}» is not a valid name in «{path}»",
                        node.key_places[key],
                        cause=f"it must be {self.key_hint}",
                        fix="rename it",
                        subject=key,
                    )
                )
            self.value.check(value, f"{path}.{key}" if path else key, out)

    def schema(self) -> dict[str, Any]:
        if self.key_pattern:
            return {
                "type": "object",
                "patternProperties": {f"^(?:{self.key_pattern})$": self.value.schema()},
                "additionalProperties": False,
            }
        return {"type": "object", "additionalProperties": self.value.schema()}


@dataclass(frozen=True)
class Key:
    """One key of a record: its shape, whether it must be there, and the sentence that the schema shows."""

    shape: Shape
    about: str
    required: bool = False


@dataclass(frozen=True)
class Record(Shape):
    """A mapping with known keys; an unknown one is an error with a «did you mean»."""

    keys: Mapping[str, Key] = field(default_factory=dict)
    name = "a mapping"

    def check(self, node: Node, path: str, out: Found) -> None:
        if node.entries is None:
            out.append(wrong_type(node, path or "manifest", "a mapping"))
            return
        for key, value in node.entries.items():
            known = self.keys.get(key)
            where = f"{path}.{key}" if path else key
            if known is None:
                out.append(_unknown(key, path, node.key_places[key], self.keys))
            else:
                known.shape.check(value, where, out)
        for key, wanted in self.keys.items():
            if wanted.required and key not in node.entries:
                out.append(
                    Diagnostic(
                        "SP1003",
                        f"«{path or 'manifest'}» lacks the key «{key}»",
                        node.place,
                        cause=wanted.about,
                        fix=f"add `{key}: …`",
                        subject=f"{path}.{key}" if path else key,
                    )
                )

    def schema(self) -> dict[str, Any]:
        properties = {key: {**k.shape.schema(), "description": k.about} for key, k in self.keys.items()}
        result: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
        required = [key for key, k in self.keys.items() if k.required]
        if required:
            result["required"] = required
        return result


@dataclass(frozen=True)
class Either(Shape):
    """Another shape for each node kind: scalar, list or mapping."""

    by_kind: Mapping[str, Shape]

    def check(self, node: Node, path: str, out: Found) -> None:
        shape = self.by_kind.get(node.kind)
        if shape is None:
            out.append(wrong_type(node, path, " or ".join(s.name for s in self.by_kind.values())))
        else:
            shape.check(node, path, out)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [shape.schema() for shape in self.by_kind.values()]}


def _unknown(key: str, path: str, place: Place, known: Iterable[str]) -> Diagnostic:
    where = f"«{path}»" if path else "the manifest"
    return Diagnostic(
        "SP1002",
        f"unknown key «{key}» in {where}",
        place,
        cause="unknown keys are errors, so that a typing slip is seen",
        fix=did_you_mean(key, known),
        subject=f"{path}.{key}" if path else key,
    )


def as_int(node: Node) -> int | None:
    """The node's whole number, or None when it is not one."""
    try:
        return int(node.text or "", 0)
    except ValueError:
        return None
