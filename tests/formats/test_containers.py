"""Metal libraries and SPIR-V modules inside other files."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shaderc_tool.emit.archive import Member, darwin_archive, gnu_archive
from shaderc_tool.emit.objects import write_object
from shaderc_tool.emit.payload import Payload
from shaderc_tool.emit.targets import ObjectTarget
from shaderc_tool.formats.containers import Embedded, archive_members, detect, fat_slices, find_libraries
from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.images import read_image
from shaderc_tool.formats.metallib import build_library, write_library
from shaderc_tool.formats.spirv_scan import find_modules
from tests import corpora
from tests.formats.metallib_cases import kernels

LIBRARY = write_library(build_library(kernels("a", "b"), "ios", (17, 0, 0)))
OTHER = write_library(build_library(kernels("c"), "macos", (14, 0, 0)))


def embedded(data: bytes) -> list[tuple[bytes, str]]:
    """(bytes, where) of everything found; offsets are checked by the bytes that they give."""
    return [(data[e.offset : e.offset + e.size], e.where) for e in find_libraries(data)]


@pytest.mark.parametrize("package", ["metal-flash-sdpa", "metal-linalg"])
def test_libraries_in_a_real_extension_module(package: str) -> None:
    data = corpora.extract(package, "-darwin.so").read_bytes()
    found = embedded(data)
    assert [blob for blob, _ in found] == [blob for _, blob in corpora.metallibs(package)]
    assert {where for _, where in found} == {"__TEXT,__const"}


def test_selector_strings_of_the_framework_are_not_libraries() -> None:
    selectors = b"newMTLBufferWithLength:\0MTLBlitCommandEncoder\0" + b"MTLB".ljust(400, b"\1")
    assert embedded(selectors + LIBRARY + selectors) == [(LIBRARY, "")]


@given(st.integers(0, 40), st.integers(0, 40), st.binary(max_size=20))
@settings(max_examples=100, deadline=None)
def test_any_alignment(before: int, between: int, after: bytes) -> None:
    data = b"\1" * before + LIBRARY + b"MTLB" * (between % 5) + b"\2" * between + OTHER + after
    assert [blob for blob, _ in embedded(data)] == [LIBRARY, OTHER]


def test_a_library_that_is_cut_is_not_found() -> None:
    assert find_libraries(b"x" + LIBRARY[:-1]) == []
    assert find_libraries(LIBRARY) == [Embedded(0, len(LIBRARY))]


@pytest.mark.parametrize(
    ("target", "kind", "section", "architecture"),
    [
        (ObjectTarget("iphoneos", "arm64", "17.0"), "mach-o", "__DATA,__const", "arm64"),
        (ObjectTarget("linux", "x86_64"), "elf", ".rodata", "x86_64"),
        (ObjectTarget("linux", "arm64"), "elf", ".rodata", "arm64"),
        (ObjectTarget("windows", "x86_64"), "coff", ".rdata", "x86_64"),
    ],
    ids=["mach-o", "elf", "elf-arm64", "coff"],
)
def test_objects(target: ObjectTarget, kind: str, section: str, architecture: str) -> None:
    data = write_object(target, [Payload("blob", LIBRARY, "lib.metallib")])
    assert detect(data) == kind
    ((found, where),) = embedded(data)
    assert found == LIBRARY
    assert where.endswith(section.removeprefix("__DATA,"))
    image = read_image(data, kind)
    assert image.architecture == architecture
    assert {"blob_start", "blob_end", "blob_size"} <= set(image.symbols)


def test_archives_of_both_forms_with_long_names() -> None:
    target = ObjectTarget("linux", "x86_64")
    members = [
        Member("a_member_with_a_long_name.o", write_object(target, [Payload("one", LIBRARY, "x")])),
        Member("b.o", write_object(target, [Payload("two", OTHER, "x")])),
    ]
    for archive in (gnu_archive(members), darwin_archive(members)):
        assert [part.name for part in archive_members(archive)] == ["a_member_with_a_long_name.o", "b.o"]
        found = embedded(archive)
        assert [blob for blob, _ in found] == [LIBRARY, OTHER]
        assert [where.split()[0] for _, where in found] == ["a_member_with_a_long_name.o", "b.o"]


def fat(*slices: tuple[int, bytes]) -> bytes:
    """A fat file as `metal-lipo` writes it; numbers are big-endian."""
    head, body = struct.pack(">2I", 0xCAFEBABE, len(slices)), b""
    start = 8 + 20 * len(slices)
    for cpu, data in slices:
        head += struct.pack(">5I", cpu, 0, start + len(body), len(data), 0)
        body += data
    return head + body


def test_a_fat_library_with_an_air_slice_and_a_native_one() -> None:
    data = fat((0x01000017, LIBRARY), (0x01000013, b"\xcf\xfa\xed\xfe native code"))
    assert detect(data) == "fat"
    assert [part.name for part in fat_slices(data)] == ["air64", "applegpu"]
    assert embedded(data) == [(LIBRARY, "air64")]


def test_a_java_class_is_not_a_fat_file() -> None:
    assert detect(struct.pack(">IHH", 0xCAFEBABE, 0, 61) + bytes(40)) == ""


def test_damaged_containers_are_refused_but_still_scanned() -> None:
    data = fat((0x01000017, LIBRARY))
    broken = data[:16] + struct.pack(">I", 1 << 30) + data[20:]
    with pytest.raises(FormatError):
        fat_slices(broken)
    assert [blob for blob, _ in embedded(broken)] == [LIBRARY]
    archive = b"!<arch>\n" + b"no member header" * 8 + LIBRARY
    with pytest.raises(FormatError):
        archive_members(archive)
    assert [blob for blob, _ in embedded(archive)] == [LIBRARY]


@given(st.binary(max_size=200), st.sampled_from([b"!<arch>\n", b"\xca\xfe\xba\xbe\0\0\0\2", b"\x7fELF", b"MZ", b""]))
@settings(max_examples=200, deadline=None)
def test_no_bytes_break_the_search(data: bytes, magic: bytes) -> None:
    assert find_libraries(magic + data) == []


def test_every_truncation_of_an_archive_is_refused_or_shorter() -> None:
    whole = gnu_archive([Member("a_member_with_a_long_name.o", b"12345678"), Member("b.o", b"1234")])
    for length in range(len(whole)):
        try:
            members = archive_members(whole[:length])
        except FormatError:
            continue
        assert len(members) < 2


def test_a_pe_image_names_the_section() -> None:
    data = _pe(LIBRARY)
    assert detect(data) == "pe"
    assert embedded(data) == [(LIBRARY, ".rdata")]


def _pe(payload: bytes) -> bytes:
    """The smallest x86-64 DLL with one section that holds `payload`."""
    size = len(payload) + (-len(payload) % 512)
    dos = b"MZ" + bytes(58) + struct.pack("<I", 64)
    coff = struct.pack("<4s2H3I2H", b"PE\0\0", 0x8664, 1, 0, 0, 0, 240, 0x2022)
    optional = struct.pack("<H2B5IQ2I6H4I2H4Q2I", 0x20B, 14, 0, 0, size, 0, 0, 0x1000, 1 << 32, 0x1000, 512,
                           6, 0, 0, 0, 6, 0, 0, 0x1000 + 0x1000 * (1 + size // 0x1000), 512, 0, 2, 0,
                           1 << 20, 4096, 1 << 20, 4096, 0, 16) + bytes(128)  # fmt: skip
    section = struct.pack("<8s6I2HI", b".rdata", len(payload), 0x1000, size, 512, 0, 0, 0, 0, 0x40000040)
    return (dos + coff + optional + section).ljust(512, b"\0") + payload.ljust(size, b"\0")


def spirv_module(functions: int = 1) -> bytes:
    """A module of one or more empty functions, written word by word (SPIR-V specification, section 2.3)."""
    words = [0x07230203, 0x00010500, 0, 100, 0]
    words += [2 << 16 | 17, 1, 3 << 16 | 14, 0, 1]  # OpCapability Shader, OpMemoryModel Logical GLSL450
    words += [5 << 16 | 15, 5, 4, 0x6E69616D, 0]  # OpEntryPoint GLCompute %4 "main"
    words += [2 << 16 | 19, 2, 3 << 16 | 33, 3, 2]  # OpTypeVoid %2, OpTypeFunction %3 %2
    for i in range(functions):
        words += [5 << 16 | 54, 2, 4 + 2 * i, 0, 3, 2 << 16 | 248, 5 + 2 * i, 1 << 16 | 253, 1 << 16 | 56]
        words += [1 << 16 | 317]  # OpNoLine may stand between functions
    return struct.pack(f"<{len(words) - 1}I", *words[:-1])


def test_spirv_modules_one_after_another() -> None:
    one, two = spirv_module(), spirv_module(3)
    data = b"\3\2\x23\7" + bytes(12) + one + two + bytes(8) + one + b"\xff" * 16
    found = find_modules(data)
    assert [data[at : at + size] for at, size in found] == [one, two, one]
    assert find_modules(b"x" + one) == [], "a module starts on a word"
    assert find_modules(one[:-4]) == [], "a module ends with its last function"


@pytest.mark.corpus
def test_every_spirv_module_of_a_real_backend_is_found() -> None:
    data = corpora.extract("@node-llama-cpp/linux-x64-vulkan", "libggml-vulkan.so").read_bytes()
    found = find_modules(data)
    assert len(found) == data.count(struct.pack("<I", 0x07230203)) == 1499
