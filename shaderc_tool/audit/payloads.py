"""Shader payloads of an image that its symbols and sections name: `_data`/`_len` and `_start`/`_end` pairs, and
sections that hold nothing else.

What a payload is comes from its bytes. A symbol alone proves nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from shaderc_tool.audit.source_kernels import SourceKernel, looks_like_source, read_source
from shaderc_tool.formats.containers import detect
from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.images import Image, Symbol
from shaderc_tool.formats.metallib import read_library
from shaderc_tool.formats.spirv import read_module

_DATA, _LEN, _START, _END = "_data", "_len", "_start", "_end"
_LENGTH_SIZES: Final = (4, 8)
_SECTIONS: Final = re.compile(r"__DATA(?:_CONST)?,__ggml_metallib|__TEXT,(?:__)?metal\w*|\.metallib\w*")
_METAL_SOURCE: Final = re.compile(rb"#\s*include\s*<metal_\w+>")
_MAX_SOURCE: Final = 4 << 20
"""Bytes of source text that are parsed; the largest known embedded source has 1 MB."""


@dataclass(frozen=True)
class Payload:
    """One embedded payload. `form` says what named it: `data/len`, `start/end`, `section` or `scan`.

    `kind` is `metallib`, `spirv`, `msl` or empty for bytes that are no shader. `kernels`, `macros` and `sha256` are
    those of a source text. `problem` says what is wrong with the pair of symbols or the bytes.
    """

    name: str
    form: str
    kind: str
    offset: int
    size: int
    kernels: tuple[SourceKernel, ...] = ()
    problem: str = ""
    macros: Mapping[str, str] = field(default_factory=dict, compare=False)
    sha256: str = ""


def find_payloads(
    image: Image, data: memoryview, modules: Collection[tuple[int, int]] = frozenset()
) -> tuple[Payload, ...]:
    """The payloads of one image by place. `data` is the image's file, `modules` are (offset, size) of SPIR-V modules
    in it that are known to be whole."""
    symbols = {symbol.name: symbol for symbol in image.places}
    found = [*_pairs(symbols, image, data, modules)]
    taken = [(p.offset, p.offset + p.size) for p in found]
    for section in image.sections:
        if section.size and _SECTIONS.fullmatch(section.name) and not _covered(section.offset, taken):
            found.append(_payload(section.name, "section", section.offset, section.size, data))
            taken.append((section.offset, section.offset + section.size))
    found += _texts(data, taken)
    return tuple(sorted(found, key=lambda p: (p.offset, p.name)))


def _covered(offset: int, taken: list[tuple[int, int]]) -> bool:
    return any(start <= offset < end for start, end in taken)


def _pairs(
    symbols: dict[str, Symbol], image: Image, data: memoryview, modules: Collection[tuple[int, int]]
) -> Iterator[Payload]:
    for name, symbol in symbols.items():
        if name.endswith(_START) and (end := symbols.get(name[: -len(_START)] + _END)):
            yield from _start_end(name[: -len(_START)], symbol, end, data)
        elif name.endswith(_DATA) and (length := symbols.get(name[: -len(_DATA)] + _LEN)):
            yield from _data_len(name[: -len(_DATA)], symbol, length, image, data, modules)


def _start_end(name: str, start: Symbol, end: Symbol, data: memoryview) -> Iterator[Payload]:
    """Only pairs around shaders: linkers define such symbols for many things."""
    size = end.offset - start.offset
    if start.offset < 0 or end.offset < 0:
        return
    if size <= 0:
        if "metal" in name or "shader" in name:
            problem = f"{name}_end lies {-size} bytes before {name}_start" if size else "it is empty"
            yield Payload(name, "start/end", "", start.offset, 0, problem=problem)
        return
    payload = _payload(name, "start/end", start.offset, size, data)
    if payload.kind or "metallib" in name:
        yield payload


def _data_len(
    name: str,
    start: Symbol,
    length: Symbol,
    image: Image,
    data: memoryview,
    modules: Collection[tuple[int, int]],
) -> Iterator[Payload]:
    if start.offset < 0 or length.offset < 0 or (length.size not in _LENGTH_SIZES and image.kind == "elf"):
        return
    size = _number(data, length, image)
    shader = detect(data[start.offset : start.offset + 20]) in ("spirv", "metallib")
    if size > start.size or size == 0:
        # A name alone does not say that it is a shader; its bytes, or another pair's form, must.
        if shader or size == 0:
            has = f"{name}_data has {start.size} bytes"
            yield Payload(name, "data/len", "", start.offset, 0, problem=f"{name}_len says {size}, {has}")
        return
    if (start.offset, size) in modules:
        payload = Payload(name, "data/len", "spirv", start.offset, size)
    else:
        payload = _payload(name, "data/len", start.offset, size, data)
    if image.kind == "elf" and shader and size != start.size:
        problem = f"{name}_len says {size}, {name}_data has {start.size} bytes"
        payload = Payload(name, "data/len", "", start.offset, size, problem=problem)
    yield payload


def _number(data: memoryview, symbol: Symbol, image: Image) -> int:
    """The value of a length symbol: 8 bytes where the format says so or there is room, else 4."""
    size = 8 if symbol.size >= 8 else 4
    return int.from_bytes(data[symbol.offset : symbol.offset + size], "little")


def _payload(name: str, form: str, offset: int, size: int, data: memoryview) -> Payload:
    content = data[offset : offset + size]
    kind = detect(content)
    try:
        if kind == "spirv":
            read_module(bytes(content))
        elif kind == "metallib":
            read_library(content)
        elif size <= _MAX_SOURCE and looks_like_source(content):
            return source_payload(name, form, offset, bytes(content))
        else:
            return Payload(name, form, "", offset, size)
    except FormatError as error:
        return Payload(name, form, "", offset, size, problem=str(error))
    return Payload(name, form, kind, offset, size)


def _texts(data: memoryview, taken: list[tuple[int, int]]) -> Iterator[Payload]:
    """Metal source that no symbol names, such as a string constant: from zero to zero around its first include."""
    raw = bytes(data) if not isinstance(data.obj, bytes) or len(data.obj) != len(data) else data.obj
    at = 0
    while match := _METAL_SOURCE.search(raw, at):
        start = raw.rfind(b"\0", max(0, match.start() - _MAX_SOURCE), match.start()) + 1
        end = raw.find(b"\0", match.end(), match.end() + _MAX_SOURCE)
        end = end if end >= 0 else min(len(raw), match.end() + _MAX_SOURCE)
        at = end
        if not _covered(match.start(), taken) and looks_like_source(raw[start:end]):
            payload = source_payload("", "scan", start, bytes(raw[start:end]))
            if payload.kernels:
                yield payload


def source_payload(name: str, form: str, offset: int, content: bytes) -> Payload:
    """The payload of a Metal source text."""
    text = content.rstrip(b"\0").decode("utf-8", "replace")
    kernels, macros = read_source(text)
    digest = hashlib.sha256(content).hexdigest()
    return Payload(name, form, "msl", offset, len(content), kernels, macros=macros, sha256=digest)
