"""Hostile Metal libraries: every fault ends in FormatError, in bounded time and memory."""

from __future__ import annotations

import bz2
import dataclasses
import random
import struct
import time
import tracemalloc

import pytest

from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.metallib import Extension, Function, Library, Tag, build_library, read_library, write_library
from shaderc_tool.formats.metallib_lint import lint_library
from shaderc_tool.formats.metallib_sources import MAX_UNPACKED, read_sources
from tests import corpora
from tests.formats.metallib_cases import bitcode, kernels

VICTIMS = ("metal-flash-sdpa", "pennylane-metal", "msplat")
_SECONDS = 2.0
_EXTREMES = (0, 1, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 63, (1 << 64) - 1)


def victim(package: str) -> bytes:
    return corpora.metallibs(package)[0][1]


def outcome(data: bytes) -> str:
    """ "refused", or the kinds of findings; anything but FormatError is a failure, and so is a slow answer."""
    start = time.perf_counter()
    try:
        library = read_library(data)
    except FormatError as error:
        assert str(error)
        kind = "refused"
    else:
        kind = " ".join(sorted({f.kind for f in lint_library(library)}))
    assert time.perf_counter() - start < _SECONDS
    return kind


def mutate(data: bytes, random_: random.Random, structure: int) -> bytes:
    """One to three changes, most of them among the first `structure` bytes: header, function list and metadata."""
    changed = bytearray(data)
    for _ in range(random_.randint(1, 3)):
        at = random_.randrange(structure if random_.random() < 0.8 else len(changed))
        match random_.randrange(5):
            case 0:
                changed[at] ^= 1 << random_.randrange(8)
            case 1:
                changed[at] = random_.choice((0, 0xFF, 0x41, 4, 8))
            case 2:
                width = random_.choice((2, 4, 8))
                value = random_.choice(_EXTREMES) & ((1 << 8 * width) - 1)
                changed[at : at + width] = value.to_bytes(width, "little")
            case 3:
                other = random_.randrange(structure)
                changed[at : at + 8] = changed[other : other + 8]
            case _:
                # The size in the header still fits, so that the fault is met deeper inside.
                end = len(changed)
                del changed[at : at + random_.randint(1, 9)]
                changed += bytes(end - len(changed))
    return bytes(changed)


def mutate_many(package: str, count: int) -> None:
    data = victim(package)
    structure = struct.unpack_from("<Q", data, 72)[0]
    random_ = random.Random(package)
    seen = [outcome(mutate(data, random_, structure)) for _ in range(count)]
    # The mutations reach both ends: the reader's refusals and the lints.
    assert seen.count("refused") > count // 10
    assert any("bad-hash" in kind for kind in seen)


@pytest.mark.parametrize("package", VICTIMS)
def test_mutations_end_in_a_clear_error(package: str) -> None:
    mutate_many(package, 250)


@pytest.mark.corpus
@pytest.mark.parametrize("package", VICTIMS)
def test_ten_thousand_mutations_end_in_a_clear_error(package: str) -> None:
    mutate_many(package, 10_000)


@pytest.mark.parametrize("package", VICTIMS)
def test_every_truncation_is_refused(package: str) -> None:
    view = memoryview(victim(package))
    step = len(view) // 3000
    for length in (*range(0, 2000), *range(2000, len(view), step)):
        with pytest.raises(FormatError):
            read_library(view[:length])


def test_every_truncation_is_refused_when_the_header_follows() -> None:
    """With the size corrected the cut is found by the structure alone, wherever it is."""
    whole = write_library(
        dataclasses.replace(
            build_library(kernels("a", "b", "c"), "macos", (14, 0, 0)),
            extensions=(Extension(Tag("HDYN", bytes(16)), b"NAME\x02\x00x\x00ENDT"), Extension(Tag("UUID", bytes(16)))),
        )
    )
    read_library(whole)
    for length in range(24, len(whole)):
        cut = bytearray(whole[:length])
        cut[16:24] = struct.pack("<Q", length)
        with pytest.raises(FormatError):
            read_library(bytes(cut))


@pytest.mark.corpus
@pytest.mark.parametrize("package", VICTIMS)
def test_every_single_truncation_is_refused(package: str) -> None:
    view = memoryview(victim(package))
    for length in range(len(view)):
        with pytest.raises(FormatError):
            read_library(view[:length])


def test_a_flipped_bit_in_any_bitcode_is_found() -> None:
    data = victim("pennylane-metal")
    (start,) = struct.unpack_from("<Q", data, 72)
    for function in read_library(data).functions:
        at = data.index(bytes(function.bitcode), start) + len(function.bitcode) // 2
        flipped = data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
        assert [f.function for f in lint_library(read_library(flipped)) if f.kind == "bad-hash"] == [function.name]


def _crafted(count: int, offsets: list[tuple[int, int, int]], public: bytes, sizes: list[int]) -> bytes:
    """A library whose functions use the given offsets into one big public section."""
    library = build_library(kernels(*(f"f{i}" for i in range(count))), "macos", (14, 0, 0))
    data = bytearray(write_library(library))
    at = 0
    for place, size in zip(offsets, sizes, strict=True):
        at = data.index(b"MDSZ", at) + 6
        data[at : at + 8] = struct.pack("<Q", size)
        at = data.index(b"OFFT", at) + 6
        data[at : at + 24] = struct.pack("<3Q", *place)
    start, old, private = *struct.unpack_from("<2Q", data, 40), 56
    data[start : start + old] = public
    grown = len(public) - old
    data[48:56] = struct.pack("<Q", len(public))
    for field in (private, 72):
        data[field : field + 8] = struct.pack("<Q", struct.unpack_from("<Q", data, field)[0] + grown)
    data[16:24] = struct.pack("<Q", len(data))
    return bytes(data)


def test_overlapping_metadata_cannot_ask_for_quadratic_work() -> None:
    """2,000 functions that each start one tag later in a run of 20,000 tags: 38 million tags if all were read.

    The payload of every tag is the size word of a group that begins there and ends with the run.
    """
    count, tags = 2000, 20_000
    length = 4 + 10 * tags + 4
    public = struct.pack("<I", length - 4)
    public += b"".join(b"AAAA\4\0" + struct.pack("<I", length - 4 - 10 * (i + 1)) for i in range(tags)) + b"ENDT"
    start = time.perf_counter()
    with pytest.raises(FormatError, match="metadata groups overlap"):
        read_library(_crafted(count, [(10 * i, 0, 0) for i in range(count)], public, [16] * count))
    assert time.perf_counter() - start < _SECONDS
    # Alone, each of these groups is fine.
    read_library(_crafted(1, [(10 * 1500, 0, 0)], public, [16]))


def test_overlapping_bitcode_is_refused() -> None:
    library = build_library(kernels("a", "b"), "macos", (14, 0, 0))
    size = sum(len(f.bitcode) for f in library.functions)
    public = b"\4\0\0\0ENDT"
    read_library(_crafted(2, [(0, 0, 0), (0, 0, 48)], public, [48, 48]))
    with pytest.raises(FormatError, match="overlap"):
        read_library(_crafted(2, [(0, 0, 0), (0, 0, 16)], public, [size, size - 16]))


def test_memory_stays_in_proportion_to_the_metadata() -> None:
    """Bitcode is not copied: reading 64 MiB of it takes less than 1 MiB."""
    code = bytes(32 << 20)
    functions = [dataclasses.replace(new, bitcode=code) for new in kernels("a", "b")]
    data = write_library(build_library(functions, "macos", (14, 0, 0)))
    tracemalloc.start()
    library = read_library(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(library.functions[1].bitcode) == 32 << 20
    assert peak < 1 << 20


def _with_sources(packed: bytes, name: str = "HSRC") -> Library:
    archive = b"SARC" + struct.pack("<I", len(packed) + 2) + b"0\0" + packed + b"ENDT"
    part = struct.pack("<I", 1) + b"metallib\0" + struct.pack("<I", len(archive)) + archive
    library = build_library(kernels("a"), "macos", (14, 0, 0))
    return dataclasses.replace(library, extensions=(Extension(Tag(name, bytes(16)), part),))


def test_a_decompression_bomb_in_the_sources_is_refused() -> None:
    stream = bz2.BZ2Compressor()
    chunk = bytes(1 << 24)
    bomb = b"".join([*(stream.compress(chunk) for _ in range((MAX_UNPACKED >> 24) + 1)), stream.flush()])
    assert len(bomb) < 10_000
    with pytest.raises(FormatError, match="256 MiB"):
        read_sources(_with_sources(bomb))


@pytest.mark.parametrize(
    "packed", [b"", b"BZh9", b"not bzip2 at all", bz2.compress(b"x" * 700), bz2.compress(b"\xff" * 1024)]
)
def test_damaged_sources_are_refused_or_empty(packed: bytes) -> None:
    library = _with_sources(packed)
    try:
        sources = read_sources(library)
    except FormatError:
        assert "bad-metadata" in {f.kind for f in lint_library(library)}
    else:
        assert sources is not None
        assert not sources.archives[0].files


def test_every_truncation_of_the_sources_is_refused() -> None:
    library = _with_sources(bz2.compress(bytes(10_240)))
    part = (library.extensions or ())[0]
    content = bytes(part.content or b"")
    read_sources(library)
    for length in range(len(content)):
        with pytest.raises(FormatError):
            read_sources(
                dataclasses.replace(library, extensions=(dataclasses.replace(part, content=content[:length]),))
            )


def test_a_damaged_constant_list_is_a_finding() -> None:
    library = build_library(kernels("a"), "macos", (14, 0, 0))
    function = Function("a", library.functions[0].tags, bitcode(0), (Tag("CNST", b"\5\0x\0"),))
    damaged = read_library(write_library(dataclasses.replace(library, functions=(function,))))
    with pytest.raises(FormatError, match="CNST ends inside"):
        _ = damaged.functions[0].constants
    assert [f.kind for f in lint_library(damaged)] == ["bad-metadata"]


def test_a_damaged_dynamic_header_is_a_finding() -> None:
    library = build_library(kernels("a"), "macos", (26, 0, 0))
    for content in (b"", b"NAME\x04\0a", b"NAME\x01\0aENDT", b"NAME\x02\0a\0ENDTx"):
        damaged = dataclasses.replace(library, extensions=(Extension(Tag("HDYN", bytes(16)), content),))
        assert [f.kind for f in lint_library(read_library(write_library(damaged)))] == ["bad-metadata"]
