"""Metal libraries for tests: small synthetic ones, and the pinned real ones that are small enough for every run."""

from __future__ import annotations

import hashlib
import struct

from hypothesis import strategies as st

from shaderc_tool.formats.metallib import Dialect, Extension, Function, FunctionType, Library, NewFunction, Tag

SMALL_PACKAGES = ("metal-flash-sdpa", "pennylane-metal", "msplat", "gpt4all")
LARGE_PACKAGES = ("metal-linalg", "mlx", "mlx-metal-0.29", "mlx-metal")


def bitcode(seed: int, words: int = 4) -> bytes:
    """A stand-in for a bitcode blob: the Darwin wrapper around `words` numbers, padded to 16 bytes."""
    body = b"BC\xc0\xde" + struct.pack(f"<{words}I", *(seed + i for i in range(words)))
    wrapped = struct.pack("<5I", 0x0B17C0DE, 0, 20, len(body), 0xFFFFFFFF) + body
    return wrapped + bytes(-len(wrapped) % 16)


def kernels(*names: str) -> list[NewFunction]:
    return [NewFunction(name, FunctionType.KERNEL, bitcode(i)) for i, name in enumerate(names)]


_NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
_UNKNOWN = st.from_regex(r"[A-Z]{3}[0-9]", fullmatch=True)
_PAYLOADS = st.binary(max_size=40)
_GROUPS = st.lists(st.tuples(st.sampled_from(["CNST", "DEBI", "DEPF", "VATT", "ZZZZ"]), _PAYLOADS), max_size=3)


@st.composite
def functions(draw: st.DrawFn) -> Function:
    """A function with every tag order and payload the format allows, not only those that Apple writes."""
    name, code = draw(_NAMES), draw(st.binary(max_size=64))
    tags = [
        Tag("NAME", name.encode() + b"\0"),
        Tag("TYPE", bytes([draw(st.integers(0, 255))])),
        Tag("HASH", hashlib.sha256(code).digest()),
        Tag("MDSZ", struct.pack("<Q", len(code))),
        Tag("OFFT", bytes(24)),
        Tag("VERS", draw(st.binary(min_size=8, max_size=8))),
    ]
    tags += [Tag(n, draw(_PAYLOADS)) for n in draw(st.lists(_UNKNOWN, max_size=2, unique=True))]
    tags += [Tag("SOFF", bytes(8))] if draw(st.booleans()) else []
    public, private = (tuple(Tag(*pair) for pair in draw(_GROUPS)) for _ in range(2))
    return Function(name, tuple(draw(st.permutations(tags))), code, public, private)


@st.composite
def libraries(draw: st.DrawFn) -> Library:
    """Any library that the format can hold, in either dialect, with or without a header extension."""
    blobs = [
        Extension(Tag(name, bytes(16)), draw(st.binary(max_size=30)))
        for name in draw(st.lists(st.sampled_from(["HSRD", "HDYN", "RLST", "VLST"]), max_size=3, unique=True))
    ]
    values = [Extension(Tag("UUID", draw(st.binary(min_size=16, max_size=16))))] if draw(st.booleans()) else []
    unknown = [Extension(Tag(name, draw(_PAYLOADS))) for name in draw(st.lists(_UNKNOWN, max_size=1))]
    listed = tuple(draw(st.lists(functions(), max_size=4)))
    return Library(
        family=draw(st.sampled_from([0x8001, 0x0001])),
        format_version=(draw(st.integers(0, 9)), draw(st.integers(0, 9))),
        platform=draw(st.integers(0, 127)),
        os_version=(draw(st.integers(0, 30)), draw(st.integers(0, 255)), draw(st.integers(0, 255))),
        functions=listed,
        extensions=draw(st.sampled_from([None, tuple(blobs + unknown + values)])),
        file_type=draw(st.integers(0, 3)),
        is_stub=draw(st.booleans()),
        is_64_bit=draw(st.booleans()),
        # A library without functions has no metadata group that could tell the dialects apart.
        dialect=draw(st.sampled_from(list(Dialect))) if listed else Dialect.LINKER,
        trailing=draw(st.binary(max_size=8)),
    )
