"""Static libraries and universal files, byte for byte the same on every run.

The layouts are those of `ar` with the symbol tables of GNU (`/`) and Darwin (`__.SYMDEF`), and of `<mach-o/fat.h>`.
Dates, users and groups are zero and modes fixed, as `ar D` writes them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

MAGIC: Final = b"!<arch>\n"


@dataclass(frozen=True)
class Member:
    """One object in a library: file name, bytes, and the global symbols that it defines.

    `symbols` are spelled as in the object's symbol table. Raises ValueError for a name that no archive can
    hold.
    """

    name: str
    data: bytes
    symbols: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.name or any(c in "/\0\n" for c in self.name):
            raise ValueError(f"not an archive member name: {self.name!r}")


def _header(name: str, size: int, mode: str = "0") -> bytes:
    """The 60-byte header of a member: name, date, owner, group, mode, size."""
    return f"{name:<16}{0:<12}{0:<6}{0:<6}{mode:<8}{size:<10}`\n".encode("ascii")


def _padded(data: bytes, alignment: int, filler: bytes = b"\0") -> bytes:
    return data + filler * (-len(data) % alignment)


# --- GNU


def gnu_archive(members: Iterable[Member]) -> bytes:
    """A library for ELF and COFF linkers: `/` symbol table with 32-bit offsets, `//` table for long names.

    Raises ValueError when a member would begin beyond 4 GiB.
    """
    ordered = tuple(members)
    long_names = b""
    bodies: list[bytes] = []
    for member in ordered:
        encoded = member.name.encode() + b"/"
        label = encoded.decode("ascii", "replace")
        if len(encoded) > 16 or not encoded.isascii():
            label = f"/{len(long_names)}"
            long_names += encoded + b"\n"
        bodies.append(_header(label, len(member.data), "644") + _padded(member.data, 2, b"\n"))
    names = b"".join(symbol.encode() + b"\0" for member in ordered for symbol in member.symbols)
    count = sum(len(member.symbols) for member in ordered)
    table_size = len(_padded(bytes(4 + 4 * count) + names, 2))
    long_table = _long_name_table(long_names)
    start = len(MAGIC) + 60 + table_size + len(long_table)
    offsets = _offsets(ordered, bodies, start)
    table = _padded(struct.pack(f">{count + 1}I", count, *offsets) + names, 2)
    return MAGIC + _header("/", table_size) + table + long_table + b"".join(bodies)


def _long_name_table(names: bytes) -> bytes:
    """The `//` member, whose other header fields stay blank; nothing when no name is long."""
    if not names:
        return b""
    body = _padded(names, 2, b"\n")
    return f"{'//':<48}{len(body):<10}`\n".encode("ascii") + body


def _offsets(members: tuple[Member, ...], bodies: list[bytes], start: int) -> list[int]:
    """For each symbol the position of the header of the member that defines it."""
    result: list[int] = []
    for member, body in zip(members, bodies, strict=True):
        if start > 0xFFFFFFFF:
            raise ValueError("a symbol table with 32-bit offsets cannot reach beyond 4 GiB")
        result += [start] * len(member.symbols)
        start += len(body)
    return result


# --- Darwin


def darwin_archive(members: Iterable[Member]) -> bytes:
    """A library for Apple's linkers: `__.SYMDEF` first, and every member's data on an 8-byte boundary.

    ld64 maps members in place, which is why their data must be aligned. Raises ValueError beyond 4 GiB.
    """
    ordered = tuple(members)
    bodies = [_darwin_member(member.name, member.data, "644") for member in ordered]
    names, positions = b"", []
    for member in ordered:
        for symbol in member.symbols:
            positions.append(len(names))
            names += symbol.encode() + b"\0"
    table_size = 4 + 8 * len(positions) + 4 + len(names)
    prefix = len(_darwin_member("__.SYMDEF", bytes(table_size), "0"))
    offsets = _offsets(ordered, bodies, len(MAGIC) + prefix)
    entries = (value for pair in zip(positions, offsets, strict=True) for value in pair)
    table = struct.pack(f"<{1 + 2 * len(positions)}I", 8 * len(positions), *entries)
    table += struct.pack("<I", len(names)) + names
    return MAGIC + _darwin_member("__.SYMDEF", table, "0") + b"".join(bodies)


def _darwin_member(name: str, data: bytes, mode: str) -> bytes:
    """A member whose name stands before its data (`#1/length`); every member before it is a multiple of 8
    long.
    """
    encoded = name.encode()
    encoded += bytes(-(60 + len(encoded) + len(MAGIC)) % 8)
    body = _padded(data, 8)
    return _header(f"#1/{len(encoded)}", len(encoded) + len(body), mode) + encoded + body


# --- universal files


_CPU: Final = {
    # cputype, cpusubtype of <mach/machine.h>
    "arm64": (0x0100000C, 0),
    "arm64_32": (0x0200000C, 1),
    "x86_64": (0x01000007, 3),
}


def universal(slices: Mapping[str, bytes]) -> bytes:
    """A fat Mach-O file with one archive or object for each architecture, each on an 8-byte boundary.

    Raises KeyError for an architecture that is not Apple's and ValueError beyond 4 GiB.
    """
    ordered = sorted(slices.items(), key=lambda item: _CPU[item[0]])
    at = 8 + 20 * len(ordered)
    header, body = struct.pack(">2I", 0xCAFEBABE, len(ordered)), b""
    for arch, data in ordered:
        body += bytes(-(at + len(body)) % 8)
        offset = at + len(body)
        if offset + len(data) > 0xFFFFFFFF:
            raise ValueError("a universal file with 32-bit offsets cannot exceed 4 GiB")
        header += struct.pack(">5I", *_CPU[arch], offset, len(data), 3)
        body += data
    return header + body
