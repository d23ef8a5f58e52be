"""The value that every storage embeds, and the names derived from it."""

from __future__ import annotations

import enum
import functools
import hashlib
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

ALIGNMENT: Final = 16
"""Alignment of every payload, in bytes. Metal and Vulkan need 4; a loader may want to read vectors."""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_PATH_TEXT = re.compile(r'[^"*\\\x00-\x1f\x7f]+\Z')


def c_identifier(text: str) -> str:
    """`text` with every character that a C identifier cannot hold replaced by `_`."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return f"_{name}" if name[:1].isdigit() else name


def require_identifier(name: str) -> str:
    """`name` itself; ValueError when it is not a C identifier (ASCII, C99 6.4.2)."""
    if not _IDENTIFIER.match(name):
        raise ValueError(f"not a C identifier: {name!r}")
    return name


@dataclass(frozen=True)
class Payload:
    """A blob to embed.

    `symbol` is the C identifier that the object symbols are made from, `path` the file that holds the same
    bytes, relative to the folder of the storage text, with `/`. Raises ValueError for an empty blob, for a
    symbol that is no identifier, and for a path that is absolute or cannot stand between quotes in an
    assembler or C text.
    """

    symbol: str
    data: bytes
    path: str

    def __post_init__(self) -> None:
        require_identifier(self.symbol)
        if not self.data:
            raise ValueError(f"payload {self.symbol} is empty")
        if not _PATH_TEXT.match(self.path):
            raise ValueError(f"payload path cannot be quoted: {self.path!r}")
        if PurePosixPath(self.path).is_absolute() or re.match(r"[A-Za-z]:", self.path):
            raise ValueError(f"payload path is absolute: {self.path!r}")

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the data, in lower-case hex."""
        return hashlib.sha256(self.data).hexdigest()


class Naming(enum.Enum):
    """The names of the C objects that a payload defines; the object format adds its underscore."""

    START_END = ("_start", "_end", "_size")
    """`<symbol>_start[]`, `<symbol>_end[]` (bytes) and `<symbol>_size` (uint64_t), as embedded Metal
    libraries use.
    """

    DATA_LEN = ("_data", "_len")
    """`<symbol>_data[]` (bytes) and `<symbol>_len` (uint64_t), as `c_header` declares."""

    def names(self, symbol: str) -> tuple[str, ...]:
        """The C names for one payload."""
        return tuple(symbol + suffix for suffix in self.value)


def require_distinct(payloads: tuple[Payload, ...]) -> None:
    """ValueError when two payloads would define the same symbols."""
    seen: set[str] = set()
    for payload in payloads:
        if payload.symbol in seen:
            raise ValueError(f"payload symbol {payload.symbol} is used twice")
        seen.add(payload.symbol)


def prefixed(pack: str, name: str) -> str:
    """`name` as a symbol of the pack: two packs in one program must not define the same symbols."""
    prefix = c_identifier(pack).lower()
    symbol = c_identifier(name)
    return symbol if symbol.lower().startswith(f"{prefix}_") else f"{prefix}_{symbol}"
