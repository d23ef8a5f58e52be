"""The values of object files and linked images, shared by the readers of each format."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from typing import Final

from shaderc_tool.formats.errors import FormatError

_LONGEST_NAME: Final = 1 << 16
"""Bytes of the longest symbol name that is read; C++ templates reach some thousand."""


@dataclass(frozen=True)
class Section:
    """`name` is `segment,section` in Mach-O. A section without bytes in the file has size 0."""

    name: str
    offset: int
    size: int


@dataclass(frozen=True)
class Symbol:
    """A defined symbol in C spelling. `offset` is its place in the file, -1 when it has no bytes there.

    `size` is what the format records (ELF), or the distance to the next symbol or the section's end. A `weak` one may
    be defined many times: the linker keeps one.
    """

    name: str
    offset: int
    size: int
    external: bool
    weak: bool = False


@dataclass(frozen=True)
class Image:
    """One object or linked image. `symbols` are the external names that it defines, sorted.

    `places` are all defined symbols by place. `platform` and `min_os` are what a Mach-O file records of its deployment
    target, such as `ios` and (17, 0, 0); empty elsewhere.
    """

    kind: str
    architecture: str
    sections: tuple[Section, ...]
    places: tuple[Symbol, ...] = ()
    platform: str = ""
    min_os: tuple[int, ...] = ()

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(sorted({symbol.name for symbol in self.places if symbol.external}))

    def section_at(self, offset: int) -> str:
        """The name of the section that holds this byte of the file, empty for none."""
        for section in self.sections:
            if section.offset <= offset < section.offset + section.size:
                return section.name
        return ""


@dataclass
class Names:
    """A string table. All names together may not be longer than the budget: a crafted file cannot ask for more."""

    data: bytes
    budget: int = field(default=0)

    def __post_init__(self) -> None:
        self.budget = self.budget or 16 * len(self.data) + (1 << 20)

    def at(self, offset: int) -> str:
        """The zero-terminated name at `offset`, empty when it lies outside. Raises `FormatError` past the budget."""
        if not 0 <= offset < len(self.data):
            return ""
        end = self.data.find(b"\0", offset, offset + _LONGEST_NAME)
        name = self.data[offset : end if end >= 0 else offset + _LONGEST_NAME]
        self.budget -= len(name)
        if self.budget < 0:
            raise FormatError("symbol names overlap beyond measure", offset)
        return name.decode("utf-8", "replace")


def unpack(layout: str, data: memoryview, at: int, what: str) -> tuple[int, ...]:
    """Fixed-size numbers at `at`. Raises `FormatError` when they lie outside the file."""
    if at < 0 or at + struct.calcsize(layout) > len(data):
        raise FormatError(f"{what} lies outside the file", max(at, 0))
    return struct.unpack_from(layout, data, at)


def part(data: memoryview, at: int, size: int, what: str) -> memoryview:
    """A part of the file. Raises `FormatError` when it lies outside."""
    if at < 0 or size < 0 or at + size > len(data):
        raise FormatError(f"{what} of {size} bytes lies outside the file", max(at, 0))
    return data[at : at + size]


def with_sizes(found: list[Symbol], ends: list[tuple[int, int]]) -> tuple[Symbol, ...]:
    """Symbols by place; a size of 0 becomes the distance to what follows.

    `ends` are the (start, end) of the sections in the file.
    """
    found.sort(key=lambda symbol: symbol.offset)
    starts = sorted({symbol.offset for symbol in found if symbol.offset >= 0})
    following = dict(zip(starts, [*starts[1:], 1 << 62], strict=False))
    bounds = sorted(ends)
    symbols, index = [], 0
    for symbol in found:
        size, offset = symbol.size, symbol.offset
        if not size and offset >= 0:
            while index + 1 < len(bounds) and bounds[index + 1][0] <= offset:
                index += 1
            end = bounds[index][1] if bounds and bounds[index][0] <= offset < bounds[index][1] else offset
            size = min(following[offset], end) - offset
        symbols.append(replace(symbol, size=max(size, 0)))
    return tuple(symbols)
