"""Metal libraries inside other files: fat files, static archives, Mach-O, ELF and PE images.

A library is found by its header at any alignment, as every embedding form keeps its bytes whole; the image's section
table, read with lief, then says which section of which architecture holds it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.images import KINDS, read_image
from shaderc_tool.formats.metallib import MAGIC, read_header
from shaderc_tool.formats.views import searchable

AR_MAGIC: Final = b"!<arch>\n"
FAT_MAGIC: Final = 0xCAFEBABE
CPU_TYPES: Final = {
    0x01000017: "air64",
    0x01000013: "applegpu",
    0x01000014: "amdgpu",
    0x01000015: "intelgpu",
    0x01000007: "x86_64",
    0x0100000C: "arm64",
    0x00000007: "i386",
    0x0000000C: "arm",
    0x0200000C: "arm64_32",
}
_MACH_O: Final = {b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xfe\xed\xfa\xce"}
_COFF_MACHINES: Final = {0x8664: "x86_64", 0x014C: "i386", 0xAA64: "arm64"}
_MAX_SLICES: Final = 64
_NESTING: Final = 4


@dataclass(frozen=True)
class Embedded:
    """A library at `offset` in the outermost file. `where` names its container, section or slice, empty for none."""

    offset: int
    size: int
    where: str = ""


@dataclass(frozen=True)
class Part:
    """A slice of a fat file or a member of an archive."""

    name: str
    offset: int
    size: int


def detect(data: bytes | memoryview) -> str:
    """The kind of file by its first bytes, empty when unknown.

    `metallib`, `air`, `spirv`, `fat`, `mach-o`, `elf`, `pe`, `coff`, `archive` or `zip`.
    """
    head = bytes(data[:8])
    exact = {
        MAGIC: "metallib",
        b"\x7fELF": "elf",
        b"PK\x03\x04": "zip",
        b"BC\xc0\xde": "air",
        b"\xde\xc0\x17\x0b": "air",
        b"\x03\x02\x23\x07": "spirv",
        b"\x07\x23\x02\x03": "spirv",
    }
    if head[:4] in exact:
        return exact[head[:4]]
    if head[:4] in _MACH_O:
        return "mach-o"
    if head == AR_MAGIC:
        return "archive"
    if head[:2] == b"MZ":
        return "pe"
    # A Java class file shares the magic; its next word is a version of 45 and more.
    if len(head) == 8 and struct.unpack(">2I", head)[0] == FAT_MAGIC and head[7] < 40 and not any(head[4:7]):
        return "fat"
    # An object has no optional header, so its size field is zero.
    if len(data) >= 20 and int.from_bytes(head[:2], "little") in _COFF_MACHINES and not any(data[16:18]):
        return "coff"
    return ""


def fat_slices(data: bytes | memoryview) -> tuple[Part, ...]:
    """The slices of a fat file; numbers are big-endian. Raises `FormatError`."""
    if len(data) < 8 or struct.unpack_from(">I", data)[0] != FAT_MAGIC:
        raise FormatError("not a fat file", 0)
    (count,) = struct.unpack_from(">I", data, 4)
    if count > _MAX_SLICES or 8 + 20 * count > len(data):
        raise FormatError(f"{count} slices do not fit", 4)
    found = []
    for at in range(8, 8 + 20 * count, 20):
        cpu, _, offset, size, _ = struct.unpack_from(">5I", data, at)
        if offset < 8 + 20 * count or offset + size > len(data):
            raise FormatError("a slice lies outside the file", at)
        found.append(Part(CPU_TYPES.get(cpu, f"cpu {cpu:#x}"), offset, size))
    return tuple(found)


def archive_members(data: bytes | memoryview) -> tuple[Part, ...]:
    """The members of a static archive in BSD or GNU form, symbol and name tables left out. Raises `FormatError`."""
    if bytes(data[:8]) != AR_MAGIC:
        raise FormatError("not a static archive", 0)
    found: list[Part] = []
    names, at = b"", 8
    while at < len(data):
        header = bytes(data[at : at + 60])
        if len(header) < 60 or header[58:] != b"`\n" or not header[48:58].strip().isdigit():
            raise FormatError("no member header where one must start", at)
        size, start = int(header[48:58]), at + 60
        if start + size > len(data):
            raise FormatError("a member runs past the end of the archive", at)
        name = header[:16].decode("latin-1").rstrip()
        at = start + size + (size & 1)
        if name == "//":
            names = bytes(data[start : start + size])
        elif name.startswith("#1/") and name[3:].isdigit():
            length = min(int(name[3:]), size)
            name = bytes(data[start : start + length]).rstrip(b"\0").decode("utf-8", "replace")
            start, size = start + length, size - length
        elif name.startswith("/") and name[1:].isdigit():
            tail = names[int(name[1:]) :].split(b"\n", 1)[0]
            name = tail.rstrip(b"/").decode("utf-8", "replace")
        if name not in ("/", "//", "/SYM64/") and not name.startswith("__.SYMDEF"):
            found.append(Part(name.rstrip("/"), start, size))
    return tuple(found)


def find_libraries(data: bytes | memoryview) -> list[Embedded]:
    """Every Metal library in a file, in file order, each once. Damaged containers are scanned all the same."""
    view = memoryview(data).cast("B")
    return _find(view, 0, "", _NESTING)


def _find(view: memoryview, base: int, where: str, depth: int) -> list[Embedded]:
    kind = detect(view)
    if kind in ("fat", "archive") and depth:
        try:
            parts = fat_slices(view) if kind == "fat" else archive_members(view)
        except FormatError:
            parts = ()
        if parts:
            return [
                found
                for part in parts
                for found in _find(
                    view[part.offset : part.offset + part.size], base + part.offset, _join(where, part.name), depth - 1
                )
            ]
    hits = list(_scan(view))
    sections = _name_sections(view, kind, [at for at, _ in hits]) if hits and kind in KINDS else [""] * len(hits)
    return [
        Embedded(base + at, size, _join(where, section)) for (at, size), section in zip(hits, sections, strict=True)
    ]


def _join(outer: str, inner: str) -> str:
    return f"{outer} {inner}".strip()


def _scan(view: memoryview) -> Iterator[tuple[int, int]]:
    """(offset, size) of each header that holds together. Selector strings of the Metal framework hold "MTLB" too."""
    data = searchable(view)
    at = data.find(MAGIC)
    while at >= 0:
        step = len(MAGIC)
        try:
            header = read_header(view, at)
        except FormatError:
            header = None
        if header and header.functions.offset == 88 and at + header.file_size <= len(view):
            yield at, header.file_size
            step = header.file_size
        at = data.find(MAGIC, at + step)


def _name_sections(view: memoryview, kind: str, offsets: list[int]) -> list[str]:
    try:
        image = read_image(view, kind)
    except FormatError:
        return [""] * len(offsets)
    return [image.section_at(offset) for offset in offsets]
