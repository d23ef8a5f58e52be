"""Sources recorded in a Metal library (`-frecord-sources`): the HSRC and HSRD parts.

A part is a 32-bit count, the link command, the working folder (HSRD only), and one group for each archive: 32-bit size,
`SARC`, 32-bit length, identifier, bzip2-compressed tar, `ENDT`. A function's SOFF is the offset of its `SARC`.
"""

from __future__ import annotations

import bz2
import io
import struct
import tarfile
from dataclasses import dataclass
from typing import Final

from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.metallib_model import Library
from shaderc_tool.formats.metallib_tags import END, c_string

MAX_UNPACKED: Final = 256 << 20
"""Bytes that all archives of a library may unpack to; more is taken for a decompression bomb."""

_ORIGINAL_NAME: Final = "original-input-filename.txt"
_OPTIONS: Final = "metal-options.txt"
_WORKING_FOLDER: Final = "metal-working-dir.txt"


@dataclass(frozen=True)
class SourceFile:
    """A file as it was compiled; `name` is the path that the archive gives it."""

    name: str
    data: bytes


@dataclass(frozen=True)
class SourceArchive:
    """What one `.air` was compiled from. `offset` is the value of SOFF in its functions."""

    identifier: str
    offset: int
    files: tuple[SourceFile, ...]

    def _text(self, name: str) -> str:
        for file in self.files:
            if file.name.rpartition("/")[2] == name:
                return file.data.decode("utf-8", "replace").rstrip("\0\n")
        return ""

    @property
    def input_name(self) -> str:
        """The compiler's input as it was named on the command line, empty when not recorded."""
        return self._text(_ORIGINAL_NAME)

    @property
    def options(self) -> str:
        """The compiler's options, empty when not recorded."""
        return self._text(_OPTIONS)

    @property
    def working_folder(self) -> str:
        """Where the compiler ran, empty when not recorded."""
        return self._text(_WORKING_FOLDER)


@dataclass(frozen=True)
class Sources:
    """Everything recorded. `working_folder` is the linker's, empty in the older HSRC form."""

    link_command: str
    working_folder: str
    archives: tuple[SourceArchive, ...]


def read_sources(library: Library) -> Sources | None:
    """The recorded sources, None when the library has none. Raises `FormatError`."""
    extension = library.extension("HSRD", "HSRC")
    if extension is None or extension.content is None:
        return None
    data = bytes(extension.content)
    if len(data) < 4:
        raise FormatError("the recorded sources are shorter than their count")
    (count,) = struct.unpack_from("<I", data)
    command, at = c_string(data, "the link command", 4)
    folder = ""
    if extension.name == "HSRD":
        folder, at = c_string(data, "the working folder", at)
    archives: list[SourceArchive] = []
    left = MAX_UNPACKED
    for _ in range(count):
        identifier, packed, start, at = _group(data, at)
        unpacked = _decompress(packed, left)
        left -= len(unpacked)
        archives.append(SourceArchive(identifier, start, _files(unpacked)))
    return Sources(command, folder, tuple(archives))


def _group(data: bytes, at: int) -> tuple[str, bytes, int, int]:
    """(identifier, compressed tar, offset of SARC, end of the group)."""
    start = at + 4
    if data[start : start + 4] != b"SARC" or start + 8 > len(data):
        raise FormatError("no source archive where one must start")
    (length,) = struct.unpack_from("<I", data, start + 4)
    end = start + 8 + length
    if data[end : end + 4] != END:
        raise FormatError("a source archive is not closed")
    identifier, body = c_string(data[:end], "the archive's identifier", start + 8)
    return identifier, data[body:end], start, end + 4


def _decompress(packed: bytes, limit: int) -> bytes:
    """One bzip2 stream; the writer may pad behind it."""
    stream = bz2.BZ2Decompressor()
    try:
        unpacked = stream.decompress(packed, limit + 1)
    except (OSError, ValueError) as error:
        raise FormatError(f"the source archive cannot be decompressed: {error}") from error
    if len(unpacked) > limit:
        raise FormatError(f"the recorded sources unpack to more than {MAX_UNPACKED >> 20} MiB")
    if not stream.eof:
        raise FormatError("the source archive is cut")
    return unpacked


def _files(unpacked: bytes) -> tuple[SourceFile, ...]:
    found = []
    try:
        with tarfile.open(fileobj=io.BytesIO(unpacked), mode="r:") as tar:
            for member in tar:
                # A sparse member may claim any size; what is stored is at most what was unpacked.
                if member.isreg() and not member.issparse() and member.size <= len(unpacked):
                    content = tar.extractfile(member)
                    found.append(SourceFile(member.name, content.read() if content else b""))
    except (tarfile.TarError, ValueError, OSError, EOFError, OverflowError) as error:
        raise FormatError(f"the source archive is not a readable tar file: {error}") from error
    return tuple(found)
