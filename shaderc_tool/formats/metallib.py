"""Metal libraries (`.metallib`): the reader, and the names of the whole format.

A library is an 88-byte header, a function list, an optional header extension, public and private metadata, bitcode,
and the parts that the extension names. All numbers are little-endian. Nothing large is copied: bitcode and recorded
sources are views into the input. Reading takes time and memory in proportion to the function list and the metadata.

Source: the layout was measured on libraries of Apple's tools for macOS 10.13 to 26.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.metallib_model import Bytes, Dialect, Extension, Function, Library
from shaderc_tool.formats.metallib_tags import BLOB_TAGS, END, Constant, FunctionType, Tag, c_string, read_tags
from shaderc_tool.formats.metallib_write import (
    NewFunction,
    build_library,
    extract_function,
    single_function,
    write_library,
)

__all__ = [
    "HEADER",
    "MAGIC",
    "Constant",
    "Dialect",
    "Extension",
    "Function",
    "FunctionType",
    "Header",
    "Library",
    "NewFunction",
    "Tag",
    "build_library",
    "extract_function",
    "read_header",
    "read_library",
    "single_function",
    "write_library",
]

MAGIC: Final = b"MTLB"
HEADER: Final = struct.Struct("<4sHHHBBHBB9Q")
_LEAST_GROUP: Final = 8
_TAG_SIZES: Final = {
    "TYPE": 1,
    "LAYR": 1,
    "TESS": 1,
    "HASH": 32,
    "MDSZ": 8,
    "OFFT": 24,
    "VERS": 8,
    "SOFF": 8,
    "RFLT": 8,
}
_REQUIRED: Final = frozenset(("NAME", "TYPE", "MDSZ", "OFFT"))


@dataclass(frozen=True)
class Span:
    """A part of the file."""

    offset: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + self.size


@dataclass(frozen=True)
class Header:
    """The header's fields. The function list's stored size leaves out its 32-bit count; `functions` includes it."""

    family: int
    format_version: tuple[int, int]
    file_type: int
    system: int
    os_version: tuple[int, int, int]
    file_size: int
    functions: Span
    public: Span
    private: Span
    bitcode: Span


def read_header(data: Bytes, at: int = 0) -> Header:
    """The header at `at`. Raises `FormatError` unless its parts lie, in order, inside the size that it claims."""
    if len(data) - at < HEADER.size:
        raise FormatError(f"a Metal library has a header of {HEADER.size} bytes, here are {len(data) - at}", at)
    magic, family, minor, bugfix, kind, system, major, os_minor, update, size, *parts = HEADER.unpack_from(data, at)
    if magic != MAGIC:
        raise FormatError("not a Metal library", at)
    listed, public, private, bitcode = (Span(parts[i], parts[i + 1]) for i in range(0, 8, 2))
    listed = Span(listed.offset, listed.size + 4)
    header = Header(
        family, (minor, bugfix), kind, system, (major, os_minor, update), size, listed, public, private, bitcode
    )
    end = HEADER.size
    for index, (name, span) in enumerate(zip(("function list", "public metadata", "private metadata", "bitcode"),
                                             (listed, public, private, bitcode), strict=True)):  # fmt: skip
        if span.offset < end or span.end > size:
            raise FormatError(f"the {name} is not where it can be", at + 24 + 16 * index)
        end = span.end
    return header


def read_library(data: bytes | bytearray | memoryview) -> Library:
    """Read one library that fills `data`. Raises `FormatError`.

    The hash of the bitcode is not checked here, see `Function.hash_matches`; the bitcode is not parsed.
    """
    view = memoryview(data).cast("B").toreadonly()
    header = read_header(view)
    if header.file_size != len(view):
        raise FormatError(f"the header says {header.file_size} bytes, here are {len(view)}", 16)
    groups, list_end = _read_groups(view, header.functions)
    extensions = _read_extensions(view, header, list_end)
    public = _Metadata(view, header.public)
    private = _Metadata(view, header.private)
    bitcode = _Bitcode(view, header.bitcode)
    functions = []
    for tags, at in groups:
        name, size, offsets = _facts(tags, at)
        functions.append(
            Function(name, tuple(tags), bitcode.at(offsets[2], size), public.at(offsets[0]), private.at(offsets[1]))
        )
    ends = [_blob_span(e.tag, view).end for e in extensions or () if e.content is not None]
    return Library(
        family=header.family,
        format_version=header.format_version,
        platform=header.system & 0x7F,
        os_version=header.os_version,
        functions=tuple(functions),
        extensions=extensions,
        file_type=header.file_type & 0x7F,
        is_stub=bool(header.file_type & 0x80),
        is_64_bit=bool(header.system & 0x80),
        dialect=public.dialect or private.dialect or Dialect.LINKER,
        trailing=view[max([header.bitcode.end, *ends]) :],
    )


def _read_groups(view: memoryview, span: Span) -> tuple[list[tuple[list[Tag], int]], int]:
    """(tags, file offset) of every function. The size word of a group counts itself."""
    data = bytes(view[span.offset : span.end])
    (count,) = struct.unpack_from("<I", data)
    groups: list[tuple[list[Tag], int]] = []
    at = 4
    for _ in range(count):
        if at + 4 > len(data):
            raise FormatError(f"the list has {len(groups)} functions, its count says {count}", span.offset)
        (size,) = struct.unpack_from("<I", data, at)
        if size < _LEAST_GROUP or at + size > len(data):
            raise FormatError(f"a function's group of {size} bytes runs past the list", span.offset + at)
        tags, end = read_tags(data, at + 4, at + size, span.offset)
        if end != at + size:
            raise FormatError("a function's group ends before its size", span.offset + end)
        groups.append((tags, span.offset + at))
        at = end
    if at != len(data):
        raise FormatError(f"{len(data) - at} bytes follow the last function", span.offset + at)
    return groups, span.offset + at


def _facts(tags: list[Tag], at: int) -> tuple[str, int, tuple[int, int, int]]:
    """Name, bitcode size and the three offsets of one function."""
    by_name = dict(tags)
    if len(by_name) != len(tags):
        raise FormatError("a function has one tag twice", at)
    if not by_name.keys() >= _REQUIRED:
        raise FormatError(f"a function has no {sorted(_REQUIRED - by_name.keys())[0]} tag", at)
    for name, size in _TAG_SIZES.items():
        payload = by_name.get(name)
        if payload is not None and len(payload) != size:
            raise FormatError(f"tag {name} holds {len(payload)} bytes instead of {size}", at)
    try:
        name, end = c_string(by_name["NAME"], "a function's name")
    except FormatError as error:
        raise FormatError(str(error), at) from error
    if end != len(by_name["NAME"]):
        raise FormatError("a function's name holds a zero", at)
    return name, int.from_bytes(by_name["MDSZ"], "little"), struct.unpack("<3Q", by_name["OFFT"])


class _Metadata:
    """The groups of one metadata section, each read once.

    Groups may be shared but not overlap otherwise: without that rule a small file could ask for quadratic work.
    """

    def __init__(self, view: memoryview, span: Span) -> None:
        self._data = bytes(view[span.offset : span.end])
        self._base = span.offset
        self._read: dict[int, tuple[Tag, ...]] = {}
        self._used = 0
        self.dialect: Dialect | None = None

    def at(self, offset: int) -> tuple[Tag, ...]:
        known = self._read.get(offset)
        if known is not None:
            return known
        data, place = self._data, self._base + offset
        if offset + _LEAST_GROUP > len(data):
            raise FormatError("a function's metadata lies outside its section", place)
        (size,) = struct.unpack_from("<I", data, offset)
        if data[offset + 4 : offset + 8] == END:
            end = offset + 8
            tags: tuple[Tag, ...] = ()
        else:
            listed, end = read_tags(data, offset + 4, min(len(data), offset + 4 + size), self._base)
            tags = tuple(listed)
        self._note(size, end - offset, place)
        self._read[offset] = tags
        return tags

    def _note(self, size: int, length: int, place: int) -> None:
        dialect = {length: Dialect.DRIVER, length - 4: Dialect.LINKER}.get(size)
        if dialect is None or self.dialect not in (None, dialect):
            raise FormatError(f"a metadata group of {length} bytes says that it has {size}", place)
        self.dialect = dialect
        self._used += length
        if self._used > len(self._data):
            raise FormatError("metadata groups overlap", place)


class _Bitcode:
    """The bitcode section. Functions may share bitcode; other overlaps are refused, as in `_Metadata`."""

    def __init__(self, view: memoryview, span: Span) -> None:
        self._view = view[span.offset : span.end]
        self._base = span.offset
        self._read: dict[tuple[int, int], memoryview] = {}
        self._used = 0

    def at(self, offset: int, size: int) -> memoryview:
        known = self._read.get((offset, size))
        if known is not None:
            return known
        if offset + size > len(self._view):
            raise FormatError(f"a function's bitcode of {size} bytes lies outside its section", self._base + offset)
        self._used += size
        if self._used > len(self._view):
            raise FormatError("bitcode of functions overlaps", self._base + offset)
        found = self._view[offset : offset + size]
        self._read[offset, size] = found
        return found


def _read_extensions(view: memoryview, header: Header, at: int) -> tuple[Extension, ...] | None:
    """The header extension fills the gap between the function list and the public metadata."""
    end = header.public.offset
    if at == end:
        return None
    data = bytes(view[at:end])
    tags, stop = read_tags(data, 0, len(data), at)
    if stop != len(data):
        raise FormatError(f"{len(data) - stop} bytes follow the header extension", at + stop)
    used, extensions = 0, []
    for tag in tags:
        content = None
        if tag.name in BLOB_TAGS:
            span = _blob_span(tag, view)
            used += span.size
            if span.offset < header.bitcode.end or span.end > len(view) or used > len(view):
                raise FormatError(f"{tag.name} points at {span.size} bytes that are not there", span.offset)
            content = view[span.offset : span.end]
        extensions.append(Extension(tag, content))
    return tuple(extensions)


def _blob_span(tag: Tag, view: memoryview) -> Span:
    if len(tag.payload) != 16:
        raise FormatError(f"{tag.name} holds {len(tag.payload)} bytes instead of 16")
    return Span(*struct.unpack("<2Q", tag.payload))
