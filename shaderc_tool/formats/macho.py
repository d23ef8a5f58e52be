"""Thin Mach-O objects and images: sections, defined symbols, deployment target (mach-o/loader.h, nlist.h)."""

from __future__ import annotations

import struct
from typing import Final

from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.image_model import Image, Names, Section, Symbol, part, unpack, with_sizes

_CPUS: Final = {0x01000007: "x86_64", 0x0100000C: "arm64", 7: "i386", 12: "arm", 0x0200000C: "arm64_32"}
_MAGICS: Final = {
    b"\xcf\xfa\xed\xfe": ("<", True),
    b"\xce\xfa\xed\xfe": ("<", False),
    b"\xfe\xed\xfa\xcf": (">", True),
    b"\xfe\xed\xfa\xce": (">", False),
}
_SEGMENT, _SYMTAB, _SEGMENT_64, _BUILD_VERSION = 0x1, 0x2, 0x19, 0x32
_VERSION_MIN: Final = {0x24: "macos", 0x25: "ios", 0x2F: "tvos", 0x30: "watchos"}
PLATFORMS: Final = {
    1: "macos",
    2: "ios",
    3: "tvos",
    4: "watchos",
    6: "mac-catalyst",
    7: "ios-simulator",
    8: "tvos-simulator",
    9: "watchos-simulator",
    11: "visionos",
    12: "visionos-simulator",
}
_ZEROFILL: Final = (0x1, 0xC, 0x12)
_MAX_COMMANDS: Final = 1 << 16


class _Reader:
    def __init__(self, data: memoryview) -> None:
        known = _MAGICS.get(bytes(data[:4]))
        if known is None:
            raise FormatError("not a thin Mach-O file", 0)
        self.data = data
        self.order, self.wide = known
        self.sections: list[tuple[Section, int]] = []
        self.symtab: tuple[int, ...] = ()
        self.platform = ""
        self.min_os: tuple[int, ...] = ()

    def read(self) -> Image:
        cpu, _, _, count, size = unpack(self.order + "5I", self.data, 4, "the Mach-O header")
        at = 32 if self.wide else 28
        end = at + size
        if count > _MAX_COMMANDS or end > len(self.data):
            raise FormatError("the load commands run past the end of the file", 16)
        for _ in range(count):
            command, length = unpack(self.order + "2I", self.data, at, "a load command")
            if length < 8 or at + length > end:
                raise FormatError(f"a load command of {length} bytes", at)
            self._command(command, at, length)
            at += length
        bounds = [(s.offset, s.offset + s.size) for s, _ in self.sections if s.size]
        return Image(
            "mach-o",
            _CPUS.get(cpu, f"cpu {cpu:#x}"),
            tuple(section for section, _ in self.sections),
            with_sizes(self._symbols(), bounds),
            self.platform,
            self.min_os,
        )

    def _command(self, command: int, at: int, length: int) -> None:
        if command in (_SEGMENT, _SEGMENT_64):
            self._segment(at, length, command == _SEGMENT_64)
        elif command == _SYMTAB:
            self.symtab = unpack(self.order + "4I", self.data, at + 8, "the symbol table command")
        elif command == _BUILD_VERSION or command in _VERSION_MIN:
            first, second = unpack(self.order + "2I", self.data, at + 8, "the deployment target")
            build = command == _BUILD_VERSION
            version = second if build else first
            self.platform = PLATFORMS.get(first, f"platform {first}") if build else _VERSION_MIN[command]
            self.min_os = (version >> 16, version >> 8 & 0xFF, version & 0xFF)

    def _segment(self, at: int, length: int, wide: bool) -> None:
        head, row = (72, "<16s16s2Q8I") if wide else (56, "<16s16s9I")
        row = row.replace("<", self.order)
        (count,) = unpack(self.order + "I", self.data, at + head - 8, "a segment's section count")
        step = struct.calcsize(row)
        if head + count * step > length:
            raise FormatError(f"{count} sections do not fit their segment", at)
        for values in struct.iter_unpack(row, self.data[at + head : at + head + count * step]):
            name, segment, address, size, offset = values[:5]
            title = ",".join(text.split(b"\0", 1)[0].decode("latin-1") for text in (segment, name))
            empty = not offset or values[8] & 0xFF in _ZEROFILL
            self.sections.append((Section(title, offset, 0 if empty else size), address))

    def _symbols(self) -> list[Symbol]:
        if not self.symtab:
            return []
        at, count, names_at, names_size = self.symtab
        row = self.order + ("I2BHQ" if self.wide else "I2BHI")
        table = part(self.data, at, count * struct.calcsize(row), "the symbol table")
        names = Names(bytes(part(self.data, names_at, names_size, "the string table")))
        found = []
        for name, kind, section, description, value in struct.iter_unpack(row, table):
            # N_STAB entries are debug information; N_SECT says that a section defines the symbol.
            if kind & 0xE0 or kind & 0x0E != 0x0E:
                continue
            text = names.at(name).removeprefix("_")
            if not text:
                continue
            offset = -1
            if 0 < section <= len(self.sections):
                home, address = self.sections[section - 1]
                if home.size and 0 <= value - address <= home.size:
                    offset = home.offset + value - address
            # N_EXT: others see it. N_WEAK_DEF: the linker may drop it for another one.
            found.append(Symbol(text, offset, 0, bool(kind & 0x01), bool(description & 0x80)))
        return found


def read_macho(data: memoryview) -> Image:
    """Read one thin file. Raises `FormatError`."""
    return _Reader(data).read()
