"""Write Metal libraries: back to the bytes that were read, or new ones."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from shaderc_tool.formats.metallib_model import Bytes, Dialect, Extension, Function, Library
from shaderc_tool.formats.metallib_profiles import MAC_CATALYST, MACOS, platform, profile
from shaderc_tool.formats.metallib_tags import Constant, FunctionType, Tag, write_constants, write_tags

_HEADER_SIZE: Final = 88
_MACOS_FAMILY: Final = 0x8001
_OTHER_FAMILY: Final = 0x0001
_REFERENCES: Final = ("SOFF", "RFLT")
"""Tags that point into parts of the library that a cut-out function leaves behind."""


@dataclass(frozen=True)
class NewFunction:
    """A function for `build_library`. `bitcode` is one AIR module, wrapped and padded as LLVM writes it for AIR.

    Versions are (major, minor); None stands for the newest that the deployment target loads.
    """

    name: str
    type: FunctionType
    bitcode: bytes
    air_version: tuple[int, int] | None = None
    language_version: tuple[int, int] | None = None
    constants: tuple[Constant, ...] = ()


def write_library(library: Library) -> bytes:
    """The library's bytes: the very ones that were read when the parts lay one after another, as Apple writes them.

    Offsets and sizes follow from the parts; hashes are written as recorded, so a wrong one stays visible.
    Raises `FormatError` when a name or a tag does not fit.
    """
    public, public_at = _metadata([f.public for f in library.functions], library.dialect)
    private, private_at = _metadata([f.private for f in library.functions], library.dialect)
    code, code_at = _bitcode(library.functions)
    groups = b"".join(
        _group(f, (public_at[i], private_at[i], code_at[i])) for i, f in enumerate(library.functions)
    )  # fmt: skip
    extension_at = _HEADER_SIZE + 4 + len(groups)
    public_start = extension_at + _extension_size(library.extensions)
    private_start = public_start + len(public)
    code_start = private_start + len(private)
    code_size = sum(map(len, code))
    extension, blobs = _extension(library.extensions, code_start + code_size)
    size = code_start + code_size + sum(map(len, blobs)) + len(library.trailing)
    header = struct.pack(
        "<4sHHHBBHBB9Q",
        b"MTLB",
        library.family,
        *library.format_version,
        library.file_type | library.is_stub << 7,
        library.platform | library.is_64_bit << 7,
        *library.os_version,
        size,
        *(_HEADER_SIZE, len(groups)),
        *(public_start, len(public)),
        *(private_start, len(private)),
        *(code_start, code_size),
    )
    count = struct.pack("<I", len(library.functions))
    return b"".join([header, count, groups, extension, public, private, *code, *blobs, library.trailing])


def _group(function: Function, offsets: tuple[int, int, int]) -> bytes:
    computed = {"MDSZ": struct.pack("<Q", len(function.bitcode)), "OFFT": struct.pack("<3Q", *offsets)}
    body = write_tags(tuple(Tag(name, computed.get(name, payload)) for name, payload in function.tags))
    return struct.pack("<I", len(body) + 4) + body


def _metadata(groups: list[tuple[Tag, ...]], dialect: Dialect) -> tuple[bytes, list[int]]:
    parts, offsets, at = [], [], 0
    for tags in groups:
        body = write_tags(tags)
        parts += [struct.pack("<I", len(body) + (4 if dialect is Dialect.DRIVER else 0)), body]
        offsets.append(at)
        at += 4 + len(body)
    return b"".join(parts), offsets


def _bitcode(functions: tuple[Function, ...]) -> tuple[list[Bytes], list[int]]:
    parts: list[Bytes] = []
    offsets, at = [], 0
    for function in functions:
        parts.append(function.bitcode)
        offsets.append(at)
        at += len(function.bitcode)
    return parts, offsets


def _extension_size(extensions: tuple[Extension, ...] | None) -> int:
    return 0 if extensions is None else len(write_tags(tuple(e.tag for e in extensions)))


def _extension(extensions: tuple[Extension, ...] | None, at: int) -> tuple[bytes, list[Bytes]]:
    if extensions is None:
        return b"", []
    tags: list[Tag] = []
    blobs: list[Bytes] = []
    for extension in extensions:
        tag = extension.tag
        if extension.content is not None:
            tag = Tag(tag.name, struct.pack("<2Q", at, len(extension.content)))
            blobs.append(extension.content)
            at += len(extension.content)
        tags.append(tag)
    return write_tags(tuple(tags)), blobs


def build_library(
    functions: Iterable[NewFunction],
    platform_slug: str,
    os_version: tuple[int, int, int],
    format_version: tuple[int, int] | None = None,
) -> Library:
    """A new library as `xcrun metallib` would lay it out: no UUID, no reflection list, no path.

    `platform_slug` is one of `metallib_profiles.PLATFORMS`, `os_version` the deployment target. `format_version`
    overrides the container version that the deployment target asks for. Raises `ValueError` for a target that is not
    modelled and for two functions of one name.
    """
    target = platform(platform_slug)
    chosen = profile(target.number, os_version[0])
    built = [_function(f, f.air_version or chosen.air, f.language_version or chosen.language) for f in functions]
    names = [f.name for f in built]
    if len(set(names)) != len(names):
        raise ValueError(f"two functions are called {next(n for n in names if names.count(n) > 1)!r}")
    return Library(
        family=_MACOS_FAMILY if target.number in (MACOS, MAC_CATALYST) else _OTHER_FAMILY,
        format_version=format_version or chosen.containers[0],
        platform=target.number,
        os_version=os_version,
        functions=tuple(built),
    )


def _function(new: NewFunction, air: tuple[int, int], language: tuple[int, int]) -> Function:
    if "\0" in new.name:
        raise ValueError(f"a function's name holds a zero: {new.name!r}")
    tags = (
        Tag("NAME", new.name.encode("utf-8") + b"\0"),
        Tag("TYPE", bytes([new.type])),
        Tag("HASH", hashlib.sha256(new.bitcode).digest()),
        Tag("MDSZ", b""),
        Tag("OFFT", b""),
        Tag("VERS", struct.pack("<HBBHBB", *air, 0, *language, 0)),
    )
    public = (Tag("CNST", write_constants(new.constants)),) if new.constants else ()
    return Function(new.name, tags, new.bitcode, public)


def single_function(library: Library, function: Function) -> Library:
    """A library with this function alone and the same target. Sources, reflection and the UUID stay behind."""
    tags = tuple(tag for tag in function.tags if tag.name not in _REFERENCES)
    kept = tuple(e for e in library.extensions or () if e.name == "HDYN")
    extensions = None if library.extensions is None else kept
    return replace(library, functions=(replace(function, tags=tags),), extensions=extensions, trailing=b"")


def extract_function(library: Library, name: str) -> bytes:
    """The bytes of a library with the first function called `name` alone. Raises `KeyError`."""
    return write_library(single_function(library, library.function(name)))
