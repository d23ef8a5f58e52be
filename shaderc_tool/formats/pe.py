"""PE images and COFF objects: sections, exports, defined symbols (Microsoft PE and COFF specification)."""

from __future__ import annotations

import struct
from typing import Final

from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.image_model import Image, Names, Section, Symbol, part, unpack, with_sizes

_MACHINES: Final = {0x8664: "x86_64", 0x014C: "i386", 0xAA64: "arm64"}
_SECTION: Final = struct.Struct("<8s6I2HI")
_SYMBOL: Final = struct.Struct("<8sIhH2B")
_UNINITIALIZED: Final = 0x80
_COMDAT: Final = 0x1000
_EXTERNAL, _STATIC = 2, 3
_OPTIONAL: Final = {0x10B: 96, 0x20B: 112}
"""Where the data directories start in the optional header, by its magic number."""

_Row = tuple[str, int, int, int, int, bool]
"""Name, address, size in memory, offset and size in the file, and whether the linker keeps one of many (COMDAT)."""


def read_pe(data: memoryview) -> Image:
    """Read one image. Raises `FormatError`."""
    (at,) = unpack("<I", data, 0x3C, "the offset of the PE header")
    if bytes(data[:2]) != b"MZ" or bytes(data[at : at + 4]) != b"PE\0\0":
        raise FormatError("not a PE file", 0)
    machine, count, _, symbols_at, symbol_count, optional, _ = unpack("<2H3I2H", data, at + 4, "the COFF header")
    head = at + 24
    sections = _sections(data, head + optional, count, symbols_at + symbol_count * _SYMBOL.size if symbols_at else 0)
    found: list[Symbol] = []
    if optional >= 2:
        (magic,) = unpack("<H", data, head, "the optional header")
        directories = _OPTIONAL.get(magic, 0)
        if directories and optional >= directories + 8:
            exports, _ = unpack("<2I", data, head + directories, "the export directory")
            found = _exports(data, exports, sections) if exports else []
    return _image("pe", machine, sections, found)


def read_coff(data: memoryview) -> Image:
    """Read one object. Raises `FormatError`."""
    machine, count, _, symbols_at, symbol_count, optional, _ = unpack("<2H3I2H", data, 0, "the COFF header")
    names_at = symbols_at + symbol_count * _SYMBOL.size
    sections = _sections(data, 20 + optional, count, names_at if symbols_at else 0)
    found = _coff_symbols(data, symbols_at, symbol_count, sections) if symbols_at else []
    return _image("coff", machine, sections, found)


def _image(kind: str, machine: int, sections: list[_Row], found: list[Symbol]) -> Image:
    bounds = [(offset, offset + size) for _, _, _, offset, size, _ in sections if size]
    listed = tuple(Section(name, offset, size) for name, _, _, offset, size, _ in sections)
    return Image(kind, _MACHINES.get(machine, f"machine {machine:#x}"), listed, with_sizes(found, bounds))


def _sections(data: memoryview, at: int, count: int, names_at: int) -> list[_Row]:
    table = part(data, at, count * _SECTION.size, "the section table")
    names = _long_names(data, names_at)
    rows = []
    for raw, virtual, address, size, offset, *_, flags in _SECTION.iter_unpack(table):
        name = raw.rstrip(b"\0").decode("latin-1")
        if name.startswith("/") and name[1:].isdigit():
            name = names.at(int(name[1:])) or name
        rows.append((name, address, virtual, offset, 0 if flags & _UNINITIALIZED else size, bool(flags & _COMDAT)))
    return rows


def _long_names(data: memoryview, at: int) -> Names:
    """The string table behind the symbols; its first word is its size."""
    if not at or at + 4 > len(data):
        return Names(b"")
    (size,) = struct.unpack_from("<I", data, at)
    return Names(bytes(data[at : at + min(size, len(data) - at)]))


def _offset(address: int, sections: list[_Row]) -> int:
    for _, start, virtual, offset, size, _ in sections:
        if start <= address < start + max(virtual, size) and address - start < size:
            return offset + address - start
    return -1


def _exports(data: memoryview, address: int, sections: list[_Row]) -> list[Symbol]:
    at = _offset(address, sections)
    functions, count, functions_at, names_at, ordinals_at = unpack("<5I", data, at + 20, "the export directory")
    tables = (_offset(a, sections) for a in (functions_at, names_at, ordinals_at))
    functions_at, names_at, ordinals_at = tables
    addresses = part(data, functions_at, 4 * functions, "the export addresses")
    pointers = part(data, names_at, 4 * count, "the export names")
    ordinals = part(data, ordinals_at, 2 * count, "the export ordinals")
    names = Names(bytes(data))
    found = []
    for (pointer,), (ordinal,) in zip(
        struct.iter_unpack("<I", pointers), struct.iter_unpack("<H", ordinals), strict=True
    ):
        name = names.at(_offset(pointer, sections))
        if name and ordinal < functions:
            (target,) = struct.unpack_from("<I", addresses, 4 * ordinal)
            found.append(Symbol(name, _offset(target, sections), 0, True))
    return found


def _coff_symbols(data: memoryview, at: int, count: int, sections: list[_Row]) -> list[Symbol]:
    table = part(data, at, count * _SYMBOL.size, "the symbol table")
    names = _long_names(data, at + count * _SYMBOL.size)
    found, index = [], 0
    while index < count:
        raw, value, section, _, storage, extra = _SYMBOL.unpack_from(table, index * _SYMBOL.size)
        index += 1 + extra
        if not 0 < section <= len(sections) or storage not in (_EXTERNAL, _STATIC):
            continue
        long = raw[:4] == b"\0\0\0\0"
        name = names.at(int.from_bytes(raw[4:], "little")) if long else raw.rstrip(b"\0").decode("utf-8", "replace")
        home = sections[section - 1]
        # A static symbol of a section's own name stands for the section.
        if name and not (storage == _STATIC and name == home[0]):
            offset = home[3] + value if home[4] and value <= home[4] else -1
            found.append(Symbol(name, offset, 0, storage == _EXTERNAL, home[5]))
    return found
