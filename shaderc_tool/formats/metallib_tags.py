"""Tags of a Metal library: a four-character name, a 16-bit length, a payload; a bare `ENDT` closes each group."""

from __future__ import annotations

import enum
import struct
from dataclasses import dataclass
from typing import Final, NamedTuple

from shaderc_tool.formats.errors import FormatError

END: Final = b"ENDT"
FUNCTION_TAGS: Final = ("NAME", "TYPE", "HASH", "MDSZ", "OFFT", "VERS", "SOFF", "RFLT", "LAYR", "TESS")
PUBLIC_TAGS: Final = ("CNST", "VATT", "VATY", "RETR", "ARGR")
PRIVATE_TAGS: Final = ("DEBI", "DEPF")
BLOB_TAGS: Final = ("HSRC", "HSRD", "HDYN", "VLST", "ILST", "RLST", "SLST")
"""Header extension tags whose payload is the (offset, size) of bytes elsewhere in the file."""

_HEAD: Final = struct.Struct("<4sH")
_NAMES: Final = {name.encode(): name for name in (*FUNCTION_TAGS, *PUBLIC_TAGS, *PRIVATE_TAGS, *BLOB_TAGS, "UUID")}


class Tag(NamedTuple):
    """One tag; `payload` is its bytes without name and length."""

    name: str
    payload: bytes


class FunctionType(enum.IntEnum):
    """The TYPE tag. `EXTERN` is a Core Image function, `VISIBLE` a `[[visible]]` or `[[stitchable]]` one."""

    VERTEX = 0
    FRAGMENT = 1
    KERNEL = 2
    UNQUALIFIED = 3
    VISIBLE = 4
    EXTERN = 5
    INTERSECTION = 6
    MESH = 7
    OBJECT = 8

    @property
    def word(self) -> str:
        return _TYPE_WORDS[self]


_TYPE_WORDS: Final = {kind: kind.name.lower() for kind in FunctionType}


@dataclass(frozen=True)
class Constant:
    """A function constant of the CNST tag. `type_code` is an MTLDataType; `active` when the function uses it."""

    name: str
    type_code: int
    index: int
    active: bool

    @property
    def type_name(self) -> str:
        return data_type_name(self.type_code)


def read_tags(data: bytes, at: int, end: int, base: int) -> tuple[list[Tag], int]:
    """Tags from `at` to `ENDT`, and the position after it. `base` is where `data` starts in the file.

    Raises `FormatError` when the group has no `ENDT` before `end`, or a name that is not four printable characters.
    """
    tags: list[Tag] = []
    while True:
        raw = data[at : at + 4]
        if raw == END and at + 4 <= end:
            return tags, at + 4
        if at + 6 > end:
            raise FormatError("a tag group is not closed", base + at)
        name, length = _HEAD.unpack_from(data, at)
        start = at + 6
        if start + length > end:
            raise FormatError(f"tag {name!r} of {length} bytes runs past its group", base + at)
        tags.append(Tag(_NAMES.get(name) or _name(name, base + at), data[start : start + length]))
        at = start + length


def _name(raw: bytes, offset: int) -> str:
    if not all(0x20 < byte < 0x7F for byte in raw):
        raise FormatError(f"{raw!r} is not the name of a tag", offset)
    return raw.decode("ascii")


def write_tags(tags: tuple[Tag, ...]) -> bytes:
    """The tags and the closing `ENDT`. Raises `FormatError` for a payload of 64 KiB or more."""
    parts = []
    for name, payload in tags:
        if len(payload) > 0xFFFF:
            raise FormatError(f"tag {name} holds {len(payload)} bytes, at most 65535 fit")
        parts += [_HEAD.pack(name.encode("ascii"), len(payload)), payload]
    return b"".join([*parts, END])


def c_string(payload: bytes, what: str, start: int = 0) -> tuple[str, int]:
    """The UTF-8 string from `start` to a NUL, and the position after the NUL. Raises `FormatError`."""
    end = payload.find(b"\0", start)
    if end < 0:
        raise FormatError(f"{what} has no terminating zero")
    try:
        return payload[start:end].decode("utf-8"), end + 1
    except UnicodeDecodeError as error:
        raise FormatError(f"{what} is not UTF-8") from error


def read_constants(payload: bytes) -> tuple[Constant, ...]:
    """CNST: 16-bit count, then name NUL, 8-bit type, 16-bit index, 8-bit active flag. Raises `FormatError`."""
    if len(payload) < 2:
        raise FormatError("CNST is shorter than its count")
    (count,) = struct.unpack_from("<H", payload)
    found, at = [], 2
    for _ in range(count):
        name, at = c_string(payload, "a function constant's name", at)
        if at + 4 > len(payload):
            raise FormatError("CNST ends inside a function constant")
        code, index, active = struct.unpack_from("<BHB", payload, at)
        found.append(Constant(name, code, index, bool(active)))
        at += 4
    if at != len(payload):
        raise FormatError(f"{len(payload) - at} bytes follow the function constants")
    return tuple(found)


def write_constants(constants: tuple[Constant, ...]) -> bytes:
    """The payload of a CNST tag."""
    parts = [struct.pack("<H", len(constants))]
    for c in constants:
        parts += [c.name.encode("utf-8"), b"\0", struct.pack("<BHB", c.type_code, c.index, c.active)]
    return b"".join(parts)


def read_debug_place(payload: bytes) -> tuple[str, int]:
    """DEBI: (path, line). Raises `FormatError`."""
    if len(payload) < 5:
        raise FormatError("DEBI is shorter than its line number")
    path, _ = c_string(payload, "the source path", 4)
    return path, int.from_bytes(payload[:4], "little")


def _data_types() -> dict[int, str]:
    """MTLDataType values of scalars and short vectors, from the Metal framework's headers."""
    scalars = {
        "float": 3, "half": 16, "int": 29, "uint": 33, "short": 37, "ushort": 41, "char": 45, "uchar": 49,
        "bool": 53, "long": 81, "ulong": 85, "bfloat": 121,
    }  # fmt: skip
    return {
        first + n: name + (str(n + 1) if n else "")
        for name, first in scalars.items()
        for n in range(4)
    }  # fmt: skip


DATA_TYPES: Final = _data_types()


def data_type_name(code: int) -> str:
    """The MSL spelling of an MTLDataType, or `type N` for one that no function constant can have."""
    return DATA_TYPES.get(code, f"type {code}")
