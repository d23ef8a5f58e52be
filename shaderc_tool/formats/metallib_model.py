"""The values of a Metal library. See `metallib.py` for the reader and the writer."""

from __future__ import annotations

import enum
import hashlib
import struct
import uuid as uuids
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.metallib_profiles import MACOS, platform_label
from shaderc_tool.formats.metallib_tags import (
    Constant,
    FunctionType,
    Tag,
    c_string,
    data_type_name,
    read_constants,
    read_debug_place,
    read_tags,
)

Version = tuple[int, ...]
Bytes: TypeAlias = "bytes | memoryview"
"""What is large stays a view into the file; `bytes()` copies it."""

FILE_TYPES: Final = {0: "executable", 1: "core-image", 2: "dynamic", 3: "symbol-companion"}
_PATCHES: Final = {1: "triangle", 2: "quad"}
_TYPES: Final[dict[int, FunctionType]] = {t.value: t for t in FunctionType}
_VERSIONS: Final = struct.Struct("<HBBHBB")


class Dialect(enum.Enum):
    """Which of Apple's two writers made the library; both are accepted.

    LINKER is `metallib` after `metal -c`: the size word of a metadata group leaves itself out. DRIVER is `metal` in
    one step: the size word counts itself, and the library has a UUID.
    """

    LINKER = "linker"
    DRIVER = "driver"


@dataclass(frozen=True)
class Function:
    """One function. `tags` are those of the function list in file order, without `ENDT`."""

    name: str
    tags: tuple[Tag, ...]
    bitcode: Bytes
    public: tuple[Tag, ...] = ()
    private: tuple[Tag, ...] = ()

    def tag(self, name: str) -> bytes | None:
        """The payload of a tag of the function list or of the metadata, None when there is none."""
        for tags in (self.tags, self.public, self.private):
            for tag in tags:
                if tag.name == name:
                    return tag.payload
        return None

    @property
    def type(self) -> FunctionType | int:
        """The function's type, a plain number when it is not one that is known."""
        number = (self.tag("TYPE") or b"\xff")[0]
        return _TYPES.get(number, number)

    @property
    def type_name(self) -> str:
        kind = self.type
        return kind.word if isinstance(kind, FunctionType) else f"type {kind}"

    @property
    def air_version(self) -> Version:
        """(major, minor, update), empty when not recorded."""
        return self._versions()[:3]

    @property
    def language_version(self) -> Version:
        """(major, minor, update) of the Metal Shading Language, empty when not recorded."""
        return self._versions()[3:]

    def _versions(self) -> Version:
        payload = self.tag("VERS")
        return tuple(_VERSIONS.unpack(payload)) if payload else ()

    @property
    def recorded_hash(self) -> bytes:
        """The SHA-256 that the library claims for the bitcode, empty when it claims none."""
        return self.tag("HASH") or b""

    def hash_matches(self) -> bool:
        """Whether the bitcode has the recorded hash; true when none is recorded."""
        return not self.recorded_hash or hashlib.sha256(self.bitcode).digest() == self.recorded_hash

    @property
    def constants(self) -> tuple[Constant, ...]:
        """The function constants. Raises `FormatError` for a damaged CNST tag."""
        payload = self.tag("CNST")
        return read_constants(payload) if payload is not None else ()

    @property
    def debug_place(self) -> tuple[str, int] | None:
        """(source path, line) when recorded. Raises `FormatError` for a damaged DEBI tag."""
        payload = self.tag("DEBI")
        return read_debug_place(payload) if payload is not None else None

    @property
    def air_path(self) -> str:
        """The path of the .air that the function was linked from, empty when not recorded."""
        payload = self.tag("DEPF")
        return c_string(payload, "the AIR path")[0] if payload is not None else ""

    @property
    def patch(self) -> tuple[str, int] | None:
        """(patch type, control points of a patch) of a post-tessellation vertex function."""
        payload = self.tag("TESS")
        if not payload:
            return None
        return _PATCHES.get(payload[0] & 3, f"type {payload[0] & 3}"), payload[0] >> 2

    @property
    def layer_type(self) -> str:
        """The type of `[[render_target_array_index]]` in a function for layered rendering, empty for others."""
        payload = self.tag("LAYR")
        return data_type_name(payload[0]) if payload else ""

    @property
    def source_offset(self) -> int | None:
        """Where the function's archive starts in the recorded sources."""
        payload = self.tag("SOFF")
        return int.from_bytes(payload, "little") if payload is not None else None


@dataclass(frozen=True)
class Extension:
    """A tag of the header extension. `content` is what the payload points at, None for one that holds its value."""

    tag: Tag
    content: Bytes | None = None

    @property
    def name(self) -> str:
        return self.tag.name


@dataclass(frozen=True)
class Library:
    """One Metal library.

    `family` is the container's major version, with the top bit set for macOS. `format_version` is (minor, bugfix).
    `platform` is a Mach-O platform number, 0 in containers up to 1.2.5, which record neither platform nor system.
    `extensions` is None when there is no header extension, as in containers up to 1.2.2. `trailing` is what follows
    the last part that the header or the extension names.
    """

    family: int
    format_version: tuple[int, int]
    platform: int
    os_version: Version
    functions: tuple[Function, ...]
    extensions: tuple[Extension, ...] | None = ()
    file_type: int = 0
    is_stub: bool = False
    is_64_bit: bool = True
    dialect: Dialect = Dialect.LINKER
    trailing: Bytes = b""

    @property
    def container(self) -> str:
        """The container version as Apple's tools print it, such as `1.2.7`."""
        return ".".join(map(str, (self.family & 0x7FFF, *self.format_version)))

    @property
    def file_type_name(self) -> str:
        return FILE_TYPES.get(self.file_type, f"type {self.file_type}")

    @property
    def platform_name(self) -> str:
        """The platform for people. A container that records none still tells macOS from the others."""
        if self.platform:
            return platform_label(self.platform)
        return platform_label(MACOS) if self.family & 0x8000 else "not recorded"

    @property
    def os_name(self) -> str:
        """Platform and deployment target, such as `macOS 14.0`."""
        if not self.platform:
            return self.platform_name
        version = self.os_version if self.os_version[2] else self.os_version[:2]
        return f"{self.platform_name} {'.'.join(map(str, version))}"

    @property
    def uuid(self) -> str:
        """The library's UUID, empty when it has none."""
        extension = self.extension("UUID")
        payload = extension.tag.payload if extension else b""
        return str(uuids.UUID(bytes=payload)) if len(payload) == 16 else ""

    def extension(self, *names: str) -> Extension | None:
        """The first header extension tag with one of these names."""
        for extension in self.extensions or ():
            if extension.name in names:
                return extension
        return None

    def named(self, name: str) -> Iterator[Function]:
        """The functions called `name`: more than one only in a faulty library."""
        return (function for function in self.functions if function.name == name)

    def function(self, name: str) -> Function:
        """The first function called `name`. Raises `KeyError`."""
        for function in self.named(name):
            return function
        raise KeyError(name)

    def versions(self) -> tuple[tuple[Version, Version], ...]:
        """The distinct (AIR, language) versions of the functions, oldest first."""
        return tuple(sorted({(f.air_version, f.language_version) for f in self.functions}))

    @property
    def install_name(self) -> str:
        """The name that the dynamic header (HDYN) gives: a file name, or a dynamic library's install name.

        Empty when there is none. Raises `FormatError`.
        """
        return next(iter(self._dynamic("NAME")), "")

    @property
    def linked_libraries(self) -> tuple[str, ...]:
        """The dynamic libraries that this one links. Raises `FormatError`."""
        return self._dynamic("DYNL")

    def _dynamic(self, name: str) -> tuple[str, ...]:
        extension = self.extension("HDYN")
        if extension is None or extension.content is None:
            return ()
        data = bytes(extension.content)
        tags, end = read_tags(data, 0, len(data), 0)
        if end != len(data):
            raise FormatError(f"{len(data) - end} bytes follow the dynamic header's tags")
        return tuple(c_string(tag.payload, f"{name} in the dynamic header")[0] for tag in tags if tag.name == name)
