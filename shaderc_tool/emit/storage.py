"""The definitions behind the header: one text file per pack, in the form that the host's compiler takes best.

| kind   | file   | compiler                                   | cost for large packs                  |
| ------ | ------ | ------------------------------------------ | ------------------------------------- |
| incbin | `.S`   | GCC, Clang (any object format)             | none: the assembler copies the files  |
| embed  | `.c`   | C23 `#embed`: GCC 15, Clang 19             | small                                 |
| string | `.c`   | C99, C++                                   | about ten times less than `hex`       |
| words  | `.c`   | C99, C++, MSVC                             | about half of `hex`                   |
| hex    | `.cpp` | C99, C++, MSVC; the text that ggml writes  | hundreds of megabytes per 2 MB        |

Every kind defines `<symbol>_data`, aligned to 16 bytes, and `<symbol>_len`. `incbin` and `embed` read the
payload files when they are compiled: the text holds their SHA-256, so a cache keyed on the text misses when
a payload changes, and it refuses a file of another length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from shaderc_tool.emit import storage_c
from shaderc_tool.emit.assembler import assembler
from shaderc_tool.emit.c_header import header_name
from shaderc_tool.emit.payload import Naming, Payload, require_distinct
from shaderc_tool.formats.depfile import write_depfile


def _incbin(pack: str, payloads: tuple[Payload, ...]) -> str:
    return assembler(pack, payloads, Naming.DATA_LEN)


_WRITERS: Final[dict[str, tuple[str, Callable[[str, tuple[Payload, ...]], str]]]] = {
    "incbin": (".S", _incbin),
    "string": (".c", storage_c.string),
    "words": (".c", storage_c.words),
    "hex": (".cpp", storage_c.hex_bytes),
    "embed": (".c", storage_c.embed),
}

STORAGE_KINDS: Final = tuple(_WRITERS)


def storage_name(kind: str, pack: str) -> str:
    """File name of a storage. KeyError for an unknown kind."""
    return f"{pack}-shaders{_WRITERS[kind][0]}"


def storage(kind: str, pack: str, payloads: Iterable[Payload]) -> dict[str, bytes]:
    """The storage text and its depfile (`<name>.d`), by file name.

    The text needs `c_header(pack, payloads)` in the same folder. Raises KeyError for a kind outside
    `STORAGE_KINDS` and ValueError for two payloads with one symbol.
    """
    ordered = tuple(payloads)
    require_distinct(ordered)
    name = storage_name(kind, pack)
    text = _WRITERS[kind][1](pack, ordered)
    depfile = storage_depfile(kind, pack, ordered, target=f"{name}.o")
    return {name: text.encode(), f"{name}.d": depfile.encode()}


def storage_depfile(kind: str, pack: str, payloads: Iterable[Payload], target: str, folder: str = "") -> str:
    """What the object `target` is built from, in Make syntax: the storage, the header, and every payload
    file.

    No compiler reports the files behind `.incbin`. `folder` is put before each prerequisite, for a build
    that runs elsewhere.
    """
    prefix = f"{folder}/" if folder else ""
    names = [storage_name(kind, pack), header_name(pack), *(p.path for p in payloads)]
    return write_depfile(target, [prefix + name for name in names])
