"""Metal libraries: what is read, and what is written back."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import struct

import pytest
from hypothesis import given, settings

from shaderc_tool.formats.air import read_air
from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.metallib import (
    Constant,
    Dialect,
    Extension,
    FunctionType,
    Library,
    NewFunction,
    Tag,
    build_library,
    extract_function,
    read_library,
    write_library,
)
from shaderc_tool.formats.metallib_profiles import PLATFORMS, profile
from tests import corpora
from tests.fakes import library as fake
from tests.formats.metallib_cases import LARGE_PACKAGES, SMALL_PACKAGES, bitcode, kernels, libraries


def check_package(package: str) -> int:
    """Every library of a package reads, keeps its hashes, writes back byte for byte; the number of functions."""
    expect = corpora.packages()[package].expect
    assert expect is not None
    found = corpora.metallibs(package)
    total = 0
    for label, data in found:
        library = read_library(data)
        assert write_library(library) == data, label
        assert all(f.recorded_hash and f.hash_matches() for f in library.functions), label
        assert library.container == expect["container"], label
        assert library.os_name == expect["os"], label
        versions = {(f.air_version[:2], f.language_version[:2]) for f in library.functions}
        assert versions == {tuple(tuple(map(int, expect[k].split("."))) for k in ("air", "language"))}, label
        total += len(library.functions)
    assert total == expect["functions"]
    return total


@pytest.mark.parametrize("package", SMALL_PACKAGES)
def test_a_real_library_is_written_back_byte_for_byte(package: str) -> None:
    check_package(package)


@pytest.mark.corpus
def test_all_real_libraries_are_written_back_byte_for_byte() -> None:
    assert sum(map(check_package, (*SMALL_PACKAGES, *LARGE_PACKAGES))) == 43_767


@given(libraries())
@settings(max_examples=300, deadline=None)
def test_any_library_survives_writing_and_reading(library: Library) -> None:
    data = write_library(library)
    again = read_library(data)
    assert write_library(again) == data
    for field in dataclasses.fields(Library):
        if field.name not in ("functions", "extensions"):
            assert getattr(again, field.name) == getattr(library, field.name), field.name
    assert len(again.functions) == len(library.functions)
    for read, written in zip(again.functions, library.functions, strict=True):
        assert (read.name, read.bitcode, read.public, read.private) == (
            written.name,
            written.bitcode,
            written.public,
            written.private,
        )
        assert [t.name for t in read.tags] == [t.name for t in written.tags]
        assert read.hash_matches()
    if library.extensions is None:
        assert again.extensions is None
    else:
        assert [(e.name, e.content) for e in again.extensions or ()] == [
            (e.name, e.content) for e in library.extensions
        ]


def test_a_library_of_the_test_writer_is_read() -> None:
    data = fake.library("air64-apple-ios17.2.1-simulator", [("one", "3.1"), ("two", "3.0")])
    library = read_library(data)
    assert (library.platform_name, library.os_name, library.container) == (
        "iOS simulator",
        "iOS simulator 17.2.1",
        "1.2.7",
    )
    assert [(f.name, f.type, f.language_version) for f in library.functions] == [
        ("one", FunctionType.KERNEL, (3, 1, 0)),
        ("two", FunctionType.KERNEL, (3, 0, 0)),
    ]
    assert write_library(library) == data


@pytest.mark.parametrize("slug", [p.slug for p in PLATFORMS if p.family])
def test_a_new_library_has_the_layout_of_apples_linker(slug: str) -> None:
    major = 2 if "visionos" in slug else 17
    data = write_library(build_library(kernels("a", "b"), slug, (major, 4, 1)))
    number = next(p.number for p in PLATFORMS if p.slug == slug)
    magic, family, _, _, kind, system, *version, size = struct.unpack_from("<4sHHHBBHBBQ", data)
    assert (magic, kind, system, version, size) == (b"MTLB", 0, 0x80 | number, [major, 4, 1], len(data))
    assert family == (0x8001 if slug in ("macos", "mac-catalyst") else 0x0001)
    group = re.compile(
        rb"NAME\x02\x00(.)\x00TYPE\x01\x00\x02HASH\x20\x00(.{32})MDSZ\x08\x00(.{8})OFFT\x18\x00(.{24})VERS\x08\x00.{8}ENDT",
        re.DOTALL,
    )
    groups = group.findall(data)
    assert [g[0] for g in groups] == [b"a", b"b"]
    (code_at,) = struct.unpack_from("<Q", data, 72)
    for _, digest, mdsz, offsets in groups:
        start = code_at + struct.unpack("<3Q", offsets)[2]
        blob = data[start : start + int.from_bytes(mdsz, "little")]
        assert hashlib.sha256(blob).digest() == digest
        assert blob.startswith(b"\xde\xc0\x17\x0b")


@pytest.mark.parametrize(
    ("slug", "major", "container", "air", "language"),
    [
        ("macos", 13, "1.2.7", (2, 5), (3, 0)),
        ("macos", 14, "1.2.7", (2, 6), (3, 1)),
        ("macos", 15, "1.2.7", (2, 7), (3, 2)),
        ("macos", 26, "1.2.9", (2, 8), (4, 0)),
        ("ios", 16, "1.2.7", (2, 5), (3, 0)),
        ("ios-simulator", 17, "1.2.7", (2, 6), (3, 1)),
        ("tvos", 18, "1.2.7", (2, 7), (3, 2)),
        ("watchos", 10, "1.2.7", (2, 6), (3, 1)),
        ("visionos", 26, "1.2.9", (2, 8), (4, 0)),
        ("macos", 25, "1.2.7", (2, 7), (3, 2)),
    ],
)
def test_versions_follow_from_the_deployment_target(
    slug: str, major: int, container: str, air: tuple[int, int], language: tuple[int, int]
) -> None:
    library = build_library(kernels("a"), slug, (major, 0, 0))
    assert library.container == container
    assert library.functions[0].air_version == (*air, 0)
    assert library.functions[0].language_version == (*language, 0)


def test_targets_without_a_profile_are_refused() -> None:
    for slug, major in (("macos", 10), ("bridgeos", 9), ("amigaos", 3)):
        with pytest.raises(ValueError, match=r"older|no Metal|unknown"):
            profile(slug, major)


def test_two_functions_of_one_name_are_refused_by_the_builder() -> None:
    with pytest.raises(ValueError, match="two functions are called 'a'"):
        build_library(kernels("a", "a"), "macos", (14, 0, 0))


def test_function_constants_are_written_and_read() -> None:
    constants = (Constant("scale", 3, 0, True), Constant("größe", 41, 300, False))
    new = NewFunction("k", FunctionType.FRAGMENT, bitcode(1), (2, 5), (2, 4), constants)
    (function,) = read_library(write_library(build_library([new], "macos", (14, 0, 0)))).functions
    assert function.constants == constants
    assert [c.type_name for c in function.constants] == ["float", "ushort"]
    assert (function.type_name, function.air_version, function.language_version) == ("fragment", (2, 5, 0), (2, 4, 0))


def test_real_function_constants() -> None:
    ((_, data),) = corpora.metallibs("metal-flash-sdpa")
    first = read_library(data).functions[0]
    assert first.constants == (Constant("has_mask", 53, 300, True), Constant("do_causal", 53, 301, True))
    assert {c.type_name for c in first.constants} == {"bool"}


def test_an_extracted_function_is_a_library_of_its_own() -> None:
    ((_, data),) = corpora.metallibs("msplat")
    whole = read_library(data)
    alone = read_library(extract_function(whole, "prefix_sum_kernel"))
    (function,) = alone.functions
    assert hashlib.sha256(function.bitcode).digest() == whole.function("prefix_sum_kernel").recorded_hash
    assert (alone.container, alone.os_name, alone.extensions) == (whole.container, whole.os_name, ())
    # The source section stayed behind, so nothing may point into it.
    assert function.source_offset is None
    assert read_air(bytes(function.bitcode)).entry_point("prefix_sum_kernel").stage == "kernel"


def test_a_driver_library_keeps_its_group_sizes_when_cut() -> None:
    whole = dataclasses.replace(build_library(kernels("a", "b"), "macos", (14, 0, 0)), dialect=Dialect.DRIVER)
    data = extract_function(whole, "b")
    assert read_library(data).dialect is Dialect.DRIVER
    public = struct.unpack_from("<Q", data, 40)[0]
    assert data[public : public + 8] == struct.pack("<I", 8) + b"ENDT"


def test_names_in_the_dynamic_header() -> None:
    header = b"NAME\x0d\0@rpath/a.lib\0" + b"DYNL\x02\0b\0DYNL\x02\0c\0ENDT"
    library = build_library(kernels("a"), "macos", (26, 0, 0))
    library = dataclasses.replace(library, file_type=2, extensions=(Extension(Tag("HDYN", bytes(16)), header),))
    again = read_library(write_library(library))
    assert (again.file_type_name, again.install_name, again.linked_libraries) == ("dynamic", "@rpath/a.lib", ("b", "c"))
    assert read_library(extract_function(again, "a")).install_name == "@rpath/a.lib"


def test_tessellation_and_layers() -> None:
    library = build_library(kernels("a"), "macos", (14, 0, 0))
    (plain,) = library.functions
    assert (plain.patch, plain.layer_type) == (None, "")
    tags = (*plain.tags, Tag("TESS", bytes([16 << 2 | 2])), Tag("LAYR", b"\x29"))
    library = dataclasses.replace(library, functions=(dataclasses.replace(plain, tags=tags),))
    (function,) = read_library(write_library(library)).functions
    assert (function.patch, function.layer_type) == (("quad", 16), "ushort")


def test_functions_may_share_bitcode_and_metadata() -> None:
    library = build_library(kernels("a", "b"), "macos", (14, 0, 0))
    data = bytearray(write_library(library))
    first, second = (m + 6 for m in _positions(data, b"OFFT"))
    data[second : second + 24] = data[first : first + 24]
    size = data.index(b"MDSZ") + 6
    assert data[size : size + 8] == struct.pack("<Q", len(library.functions[1].bitcode))
    a, b = read_library(bytes(data)).functions
    assert a.bitcode is b.bitcode
    assert not b.hash_matches()


def _positions(data: bytearray, what: bytes) -> list[int]:
    found, at = [], data.find(what)
    while at >= 0:
        found.append(at)
        at = data.find(what, at + 1)
    return found


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (0, b"MTLX", "not a Metal library"),
        (16, struct.pack("<Q", 10**6), "header says 1000000 bytes"),
        (24, struct.pack("<Q", 80), "function list is not where"),
        (48, struct.pack("<Q", 1 << 63), "public metadata is not where"),
        (88, struct.pack("<I", 0xFFFFFFFF), "its count says 4294967295"),
        (92, struct.pack("<I", 3), "group of 3 bytes"),
    ],
)
def test_a_damaged_field_is_named(field: int, value: bytes, message: str) -> None:
    data = bytearray(write_library(build_library(kernels("a"), "macos", (14, 0, 0))))
    data[field : field + len(value)] = value
    with pytest.raises(FormatError, match=message):
        read_library(bytes(data))


def test_missing_and_repeated_tags_are_named() -> None:
    library = build_library(kernels("a"), "macos", (14, 0, 0))
    (function,) = library.functions
    for tags, message in (
        (tuple(t for t in function.tags if t.name != "TYPE"), "no TYPE tag"),
        ((*function.tags, Tag("TYPE", b"\2")), "one tag twice"),
        (tuple(Tag("HASH", b"short") if t.name == "HASH" else t for t in function.tags), "HASH holds 5 bytes"),
        (tuple(Tag("NAME", b"\xff\0") if t.name == "NAME" else t for t in function.tags), "not UTF-8"),
        (tuple(Tag("NAME", b"a") if t.name == "NAME" else t for t in function.tags), "no terminating zero"),
    ):
        broken = dataclasses.replace(library, functions=(dataclasses.replace(function, tags=tags),))
        with pytest.raises(FormatError, match=message):
            read_library(write_library(broken))
