"""Object files of every kind, from LLVM's assembler and real packages, against LLVM's and lief's reading of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shaderc_tool.formats.containers import detect
from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.images import KINDS, Image, read_image
from tests import corpora
from tests.audit.support import assemble
from tests.emit.support import llvm_tool, run

TRIPLES = {
    "x86_64-linux-gnu": ("elf", "x86_64"),
    "aarch64-linux-android": ("elf", "arm64"),
    "armv7-linux-gnueabi": ("elf", "arm"),
    "powerpc64-linux-gnu": ("elf", "machine 21"),
    "arm64-apple-ios17.0": ("mach-o", "arm64"),
    "x86_64-apple-macos14.0": ("mach-o", "x86_64"),
    "x86_64-windows-msvc": ("coff", "x86_64"),
    "aarch64-windows-msvc": ("coff", "arm64"),
}
TEXT = """\
.globl {p}outer
.globl {p}second
.data
{p}outer: .long 1, 2, 3
{p}inner: .byte 7
{p}second: .byte 8, 9
.weak {p}soft
{p}soft: .byte 1
"""
MACH_O_TEXT = TEXT.replace(".weak {p}soft", ".globl {p}soft\n.weak_definition {p}soft")


def small(triple: str, folder: Path) -> bytes:
    apple = "apple" in triple
    text = (MACH_O_TEXT if apple else TEXT).format(p="_" if apple else "")
    return assemble(text, triple, folder).read_bytes()


@pytest.mark.parametrize("triple", TRIPLES)
def test_kind_architecture_and_symbols(triple: str, tmp_path: Path) -> None:
    data = small(triple, tmp_path)
    kind, architecture = TRIPLES[triple]
    if architecture != "machine 21":
        assert detect(data) == kind
    image = read_image(data, kind)
    assert image.architecture == architecture
    assert {"outer", "second"} <= set(image.symbols)
    places = {symbol.name: symbol for symbol in image.places}
    assert "inner" not in image.symbols
    outer, second = places["outer"], places["second"]
    assert data[second.offset : second.offset + 2] == b"\x08\x09"
    assert second.offset - outer.offset == 13
    assert not outer.weak
    if kind != "coff":
        assert places["soft"].weak


@pytest.mark.parametrize("triple", TRIPLES)
def test_sections_are_those_that_llvm_reads(triple: str, tmp_path: Path) -> None:
    data = small(triple, tmp_path)
    image = read_image(data, TRIPLES[triple][0])
    listing = run(llvm_tool("llvm-objdump"), "--section-headers", "a.o", cwd=tmp_path)
    rows = [line.split() for line in listing.splitlines() if line.strip()[:1].isdigit()]
    expected = {(r[1], int(r[2], 16)) for r in rows if len(r) > 3}
    ours = {(s.name.rpartition(",")[2], s.size) for s in image.sections}
    sized = {row for row in expected if row[1] and row[0] != ".bss"}
    assert sized <= ours


def test_deployment_target_of_each_command_form(tmp_path: Path) -> None:
    for directive, platform, version in (
        (".build_version ios, 17, 2", "ios", (17, 2, 0)),
        (".build_version tvos, 16, 0", "tvos", (16, 0, 0)),
        (".macosx_version_min 10, 13", "macos", (10, 13, 0)),
    ):
        text = directive + "\n.data\n.byte 1\n"
        image = read_image(assemble(text, "arm64-apple-ios", tmp_path).read_bytes(), "mach-o")
        assert (image.platform, image.min_os) == (platform, version)


@pytest.mark.parametrize("triple", TRIPLES)
def test_no_truncation_and_no_flipped_byte_breaks_the_reader(triple: str, tmp_path: Path) -> None:
    data = small(triple, tmp_path)
    kind = TRIPLES[triple][0]
    for length in range(0, len(data), 7):
        _try(data[:length], kind)
    for at in range(len(data)):
        _try(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :], kind)


@given(st.binary(max_size=400), st.sampled_from(KINDS))
@settings(max_examples=300, deadline=None)
def test_arbitrary_bytes(data: bytes, kind: str) -> None:
    heads = {"elf": b"\x7fELF\x02\x01", "mach-o": b"\xcf\xfa\xed\xfe", "pe": b"MZ", "coff": b"\x64\x86"}
    _try(heads[kind] + data, kind)


def _try(data: bytes, kind: str) -> None:
    try:
        image = read_image(data, kind)
    except FormatError:
        return
    assert all(symbol.offset < 0 or symbol.offset <= len(data) for symbol in image.places)


def test_names_that_overlap_beyond_measure_are_refused(tmp_path: Path) -> None:
    """A symbol table whose every entry points at one long name would otherwise ask for quadratic memory."""
    count, length = 5000, 60_000
    text = f".data\n.globl {'a' * length}\n{'a' * length}: .byte 1\n"
    text += "".join(f".globl s{i}\ns{i}: .byte 1\n" for i in range(count))
    data = bytearray(assemble(text, "x86_64-linux-gnu", tmp_path).read_bytes())
    image = read_image(bytes(data), "elf")
    assert len(image.symbols) == count + 1
    table = next(s for s in image.sections if s.name == ".symtab")
    long_name = data.find(b"a" * length) - next(s for s in image.sections if s.name == ".strtab").offset
    for at in range(table.offset, table.offset + table.size, 24):
        data[at : at + 4] = long_name.to_bytes(4, "little")
    with pytest.raises(FormatError, match="overlap"):
        read_image(bytes(data), "elf")


@pytest.mark.corpus
@pytest.mark.parametrize("package", ["@node-llama-cpp/linux-x64-vulkan", "@node-llama-cpp/mac-arm64-metal"])
def test_real_images_as_lief_reads_them(package: str) -> None:
    lief: Any = pytest.importorskip("lief")
    lief.logging.disable()
    for path in sorted(corpora.unpack(package).rglob("*")):
        data = path.read_bytes() if path.suffix in (".so", ".dylib", ".node") else b""
        kind = detect(data)
        if kind in ("elf", "mach-o"):
            _compare(read_image(data, kind), lief.parse(data))


def _compare(image: Image, other: Any) -> None:
    if image.kind == "elf":
        theirs = {(s.name, s.file_offset, 0 if s.type == type(s).TYPE.NOBITS else s.size) for s in other.sections}
        theirs -= {("", 0, 0)}
        defined = {str(s.name) for s in other.symbols if s.shndx and s.binding != type(s).BINDING.LOCAL} - {""}
    else:
        theirs = {(f"{s.segment_name},{s.name}", s.offset, s.size) for s in other.sections if s.offset}
        defined = {
            str(s.name).removeprefix("_")
            for s in other.symbols
            if not s.raw_type & 0xE0 and s.raw_type & 0x0E == 0x0E and s.raw_type & 1
        }
    assert theirs <= {(s.name, s.offset, s.size) for s in image.sections}
    assert set(image.symbols) == defined
    assert image.architecture in json.dumps(["x86_64", "arm64"])
