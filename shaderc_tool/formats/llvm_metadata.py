"""Numbered and named metadata of a textual LLVM module, read lazily."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from shaderc_tool.formats.errors import FormatError

_LINE: Final = re.compile(r"^!(\d+) = (?:distinct )?!\{(.*)\}$", re.MULTILINE)
_NAMED: Final = re.compile(r"^!([A-Za-z][-\w.$]*) = !\{(.*)\}$", re.MULTILINE)
_ESCAPE: Final = re.compile(rb"\\([0-9A-Fa-f]{2})")
_INTEGER: Final = re.compile(r"i\d+ (-?\d+)\Z")
_INTEGERS: Final = re.compile(r"\[\d+ x i\d+\] \[(.*)\]\Z")
_SYMBOL: Final = re.compile(r'@(?:"([^"]*)"|([-\w.$]+))')


@dataclass(frozen=True)
class Symbol:
    """A reference from metadata to a function or global: its name without `@`, and the text of its pointer type."""

    name: str
    type_text: str = ""


@dataclass(frozen=True)
class Ref:
    """A reference to a numbered node."""

    number: int


Operand: TypeAlias = "str | int | bool | tuple[int, ...] | Symbol | Ref | None"


def unescape(text: str) -> str:
    r"""Text of a quoted LLVM string: `\xx` escapes decoded as UTF-8."""
    if "\\" not in text:
        return text
    raw = _ESCAPE.sub(lambda match: bytes([int(match.group(1), 16)]), text.encode())
    return raw.decode("utf-8", "replace")


def _operand(text: str) -> Operand:
    if text.startswith('!"'):
        return unescape(text[2:-1])
    if text.startswith("!") and text[1:].isdigit():
        return Ref(int(text[1:]))
    if text in ("i1 true", "i1 false"):
        return text == "i1 true"
    integer = _INTEGER.match(text)
    if integer:
        return int(integer.group(1))
    integers = _INTEGERS.match(text)
    if integers:
        return tuple(int(item.split()[-1]) for item in integers.group(1).split(","))
    symbol = _SYMBOL.search(text)
    if symbol:
        return Symbol(unescape(symbol.group(1) or symbol.group(2)), text[: symbol.start()].strip())
    return None


def split_operands(body: str) -> list[str]:
    """Split at the commas outside of brackets and quotes, as between the operands of a `!{…}`."""
    parts = []
    depth = start = 0
    quoted = False
    for pos, char in enumerate(body):
        if char == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif char in "([{<":
            depth += 1
        elif char in ")]}>":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(body[start:pos].strip())
            start = pos + 1
    last = body[start:].strip()
    return [*parts, last] if last else parts


class Metadata:
    """All metadata of one module; nodes are tuples of operands."""

    def __init__(self, text: str) -> None:
        start = text.find("\n!")  # metadata follows all functions and declarations
        text = text[start + 1 :] if start >= 0 else ""
        self._numbered = {int(number): body for number, body in _LINE.findall(text)}
        self._named = dict(_NAMED.findall(text))
        self._nodes: dict[int, tuple[Operand, ...]] = {}

    def node(self, ref: Operand) -> tuple[Operand, ...]:
        """The node behind a reference; empty for `null`. Raises `FormatError` when it is no node."""
        if ref is None:
            return ()
        if not isinstance(ref, Ref) or ref.number not in self._numbered:
            raise FormatError(f"metadata operand {ref!r} is no node")
        if ref.number not in self._nodes:
            self._nodes[ref.number] = tuple(map(_operand, split_operands(self._numbered[ref.number])))
        return self._nodes[ref.number]

    def named(self, name: str) -> list[tuple[Operand, ...]]:
        """The nodes of `!name = !{…}`; empty when the module has none."""
        return [self.node(_operand(part)) for part in split_operands(self._named.get(name, ""))]
