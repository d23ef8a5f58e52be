"""Sizes and alignments of LLVM types in their textual form, under the AIR data layout.

The AIR data layout has been the same from AIR 2.0 to 2.8 in what matters here: 64-bit pointers in every address
space, natural alignment for scalars, vectors aligned to their size rounded up to a power of two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from shaderc_tool.formats.errors import FormatError

_SCALAR_BITS: Final = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
_TOKEN: Final = re.compile(r'i\d+|half|bfloat|float|double|void|metadata|opaque|%"[^"]*"|%[-\w.$]+')
_POINTER: Final = re.compile(r"\s*(?:addrspace\(\d+\))?\*")
_COUNT: Final = re.compile(r"\s*(\d+) x ")
_STRUCT_LINE: Final = re.compile(r'^(%(?:"[^"]*"|[-\w.$]+)) = type (.*)$', re.MULTILINE)
_MAX_DEPTH: Final = 64


@dataclass(frozen=True)
class TypeLayout:
    """Bytes a value occupies in an array (`alloc`), bytes a load or store touches (`store`), and its alignment."""

    alloc: int
    store: int
    align: int


def _up(value: int, align: int) -> int:
    return (value + align - 1) // align * align


@dataclass
class TypeTable:
    """The named struct types of one module; resolves type text to layouts."""

    structs: dict[str, str] = field(default_factory=dict)
    _known: dict[str, TypeLayout] = field(default_factory=dict)

    @classmethod
    def of_module(cls, text: str) -> TypeTable:
        """Collect the `%name = type …` lines of a module in textual form."""
        return cls(dict(_STRUCT_LINE.findall(text)))

    def layout(self, text: str) -> TypeLayout:
        """The layout of one type. Raises `FormatError` when the text is no sized type."""
        known = self._known.get(text)
        if known is None:
            known, end = self._parse(text, 0, 0)
            if text[end:].strip():
                raise FormatError(f"no LLVM type: {text[:80]!r}")
            self._known[text] = known
        return known

    def type_end(self, text: str, start: int = 0) -> int:
        """The position right after the type that begins at `start`."""
        return self._parse(text, start, 0)[1]

    def _parse(self, text: str, start: int, depth: int) -> tuple[TypeLayout, int]:
        if depth > _MAX_DEPTH:
            raise FormatError("types nested too deeply")
        while text[start : start + 1] == " ":
            start += 1
        layout, end = self._parse_base(text, start, depth)
        while True:
            pointer = _POINTER.match(text, end)
            if pointer:
                layout, end = TypeLayout(8, 8, 8), pointer.end()
            elif text.startswith(" (", end):
                layout, end = TypeLayout(0, 0, 1), _closing(text, end + 1)
            else:
                return layout, end

    def _parse_base(self, text: str, start: int, depth: int) -> tuple[TypeLayout, int]:
        if text.startswith("<{", start):
            layout, end = self._parse_struct(text, start + 2, depth, packed=True)
            return layout, end + 1
        head = text[start : start + 1]
        if head == "{":
            return self._parse_struct(text, start + 1, depth, packed=False)
        if head in ("[", "<"):
            return self._parse_sequence(text, start, depth)
        token = _TOKEN.match(text, start)
        if not token:
            raise FormatError(f"no LLVM type: {text[start : start + 80]!r}")
        return self._scalar(token.group(), depth), token.end()

    def _parse_sequence(self, text: str, start: int, depth: int) -> tuple[TypeLayout, int]:
        count = _COUNT.match(text, start + 1)
        if not count:
            raise FormatError(f"no LLVM array or vector type: {text[start : start + 80]!r}")
        element, end = self._parse(text, count.end(), depth + 1)
        n = int(count.group(1))
        if text[start] == "[":
            return TypeLayout(n * element.alloc, n * element.alloc, element.align), end + 1
        bits = element.store * 8 * n if text[count.end() : end] != "i1" else n
        store = max(1, (bits + 7) // 8)
        align = 1 << (store - 1).bit_length()
        return TypeLayout(_up(store, align), store, align), end + 1

    def _parse_struct(self, text: str, start: int, depth: int, *, packed: bool) -> tuple[TypeLayout, int]:
        size, align, pos = 0, 1, start
        while True:
            while text[pos : pos + 1] in (" ", ","):
                pos += 1
            if text[pos : pos + 1] == "}":
                size = _up(size, align)
                return TypeLayout(size, size, align), pos + 1
            member, pos = self._parse(text, pos, depth + 1)
            if not packed:
                align = max(align, member.align)
                size = _up(size, member.align)
            size += member.alloc

    def _scalar(self, token: str, depth: int) -> TypeLayout:
        if token.startswith("%"):
            body = self.structs.get(token)
            if body is None:
                raise FormatError(f"unknown type {token}")
            known = self._known.get(token)
            if known is None:
                known = self._known[token] = self._parse(body, 0, depth + 1)[0]
            return known
        bits = _SCALAR_BITS.get(token) or (int(token[1:]) if token[0] == "i" else 0)
        store = (bits + 7) // 8
        align = 1 << max(0, store - 1).bit_length() if store else 1
        return TypeLayout(_up(store, align), store, align)


def _closing(text: str, start: int) -> int:
    """The position after the parenthesis that closes the one at `start`."""
    depth = 0
    for pos in range(start, len(text)):
        if text[pos] == "(":
            depth += 1
        elif text[pos] == ")":
            depth -= 1
            if depth == 0:
                return pos + 1
    raise FormatError("unbalanced parenthesis in a function type")
