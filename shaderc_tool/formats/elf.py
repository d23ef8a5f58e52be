"""ELF objects and images: sections and defined symbols (System V ABI, chapters 4 and 5)."""

from __future__ import annotations

import struct
from typing import Final

from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.image_model import Image, Names, Section, Symbol, part, unpack, with_sizes

_MACHINES: Final = {0x3E: "x86_64", 0xB7: "arm64", 0x03: "i386", 0x28: "arm", 0xF3: "riscv"}
_SYMTAB, _NOBITS, _DYNSYM = 2, 8, 11
_WEAK: Final = 2
_RELOCATABLE: Final = 1
_RESERVED_INDEX: Final = 0xFF00
_HEADER_INDEX_ESCAPE: Final = 0xFFFF


class _Header:
    def __init__(self, row: tuple[int, ...]) -> None:
        self.name, self.type, self.flags, self.address, self.offset, self.size, self.link, _, _, self.step = row


def read_elf(data: memoryview) -> Image:
    """Read one file. Raises `FormatError`."""
    if bytes(data[:4]) != b"\x7fELF" or len(data) < 52 or data[4] not in (1, 2) or data[5] not in (1, 2):
        raise FormatError("not an ELF file", 0)
    wide, order = data[4] == 2, "<" if data[5] == 1 else ">"
    layout = "2HI3QI6H" if wide else "2HI3II6H"
    head = unpack(order + layout, data, 16, "the ELF header")
    kind, machine, table, step, count, names_at = head[0], head[1], head[5], head[10], head[11], head[12]
    row = order + ("2I4Q2I2Q" if wide else "10I")
    headers: list[_Header] = []
    if table:
        if step != struct.calcsize(row):
            raise FormatError(f"section headers of {step} bytes", 16)
        first = _Header(unpack(row, data, table, "the section table"))
        count = count or first.size
        names_at = first.link if names_at == _HEADER_INDEX_ESCAPE else names_at
        rows = part(data, table, count * step, "the section table")
        headers = [_Header(values) for values in struct.iter_unpack(row, rows)]
    names = _table(data, headers, names_at)
    sections = tuple(Section(names.at(h.name), h.offset, 0 if h.type == _NOBITS else h.size) for h in headers[1:])
    found: dict[tuple[str, int], Symbol] = {}
    for header in headers:
        if header.type in (_SYMTAB, _DYNSYM):
            for symbol in _symbols(data, header, headers, order, wide, kind == _RELOCATABLE):
                found[symbol.name, symbol.offset] = symbol
    bounds = [(h.offset, h.offset + h.size) for h in headers if h.type != _NOBITS and h.size]
    return Image(
        "elf", _MACHINES.get(machine, f"machine {machine}"), sections, with_sizes(list(found.values()), bounds)
    )


def _table(data: memoryview, headers: list[_Header], index: int) -> Names:
    if not 0 < index < len(headers):
        return Names(b"")
    return Names(bytes(part(data, headers[index].offset, headers[index].size, "a string table")))


def _symbols(
    data: memoryview, header: _Header, headers: list[_Header], order: str, wide: bool, relocatable: bool
) -> list[Symbol]:
    row = order + ("I2BH2Q" if wide else "3I2BH")
    size = struct.calcsize(row)
    if header.step != size or header.size % size:
        raise FormatError("a symbol table of unknown shape", header.offset)
    names = _table(data, headers, header.link)
    found = []
    for values in struct.iter_unpack(row, part(data, header.offset, header.size, "a symbol table")):
        name, info, _, index, value, length = values if wide else (values[0], *values[3:], values[1], values[2])
        # FILE and SECTION symbols name no object of the program.
        if not index or info & 0xF in (3, 4):
            continue
        text = names.at(name)
        if not text:
            continue
        offset = -1
        if index < min(len(headers), _RESERVED_INDEX) and headers[index].type != _NOBITS:
            home = headers[index]
            offset = home.offset + value - (0 if relocatable else home.address)
            offset = offset if home.offset <= offset <= home.offset + home.size else -1
        found.append(Symbol(text, offset, length, info >> 4 != 0, info >> 4 == _WEAK))
    return found
