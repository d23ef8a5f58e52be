"""Libraries equal those of LLVM's archiver, byte for byte, and linkers take them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shaderc_tool.emit.archive import Member, darwin_archive, gnu_archive, universal
from shaderc_tool.emit.objects import object_symbols, write_object
from shaderc_tool.emit.payload import Naming, Payload
from shaderc_tool.emit.targets import ObjectTarget
from tests.emit.support import llvm_tool, run
from tests.tools import require_tool

FIRST = (Payload("demo_first", b"MTLB" + bytes(range(251)), "first"),)
SECOND = (Payload("demo_second", b"\x03\x02\x23\x07odd", "second"),)
IOS = ObjectTarget("iphoneos", "arm64", "15.0", "17.0")
LINUX = ObjectTarget("linux", "x86_64")


def members(target: ObjectTarget, folder: Path, names: tuple[str, str]) -> list[Member]:
    """Two objects, also written to `folder`, with their symbols in the order of their symbol tables."""
    result = []
    for name, payloads in zip(names, (FIRST, SECOND), strict=True):
        data = write_object(target, payloads)
        (folder / name).write_bytes(data)
        listing = run(llvm_tool("llvm-nm"), "--no-sort", "--extern-only", "--format=just-symbols", name, cwd=folder)
        assert set(listing.split()) == set(object_symbols(target, payloads, Naming.START_END))
        result.append(Member(name, data, tuple(listing.split())))
    return result


@pytest.mark.parametrize(
    "names", [("a.o", "b.o"), ("exactly_15_ch.o", "exactly_16_chr.o"), ("a_name_of_many_characters.o", "x")]
)
@pytest.mark.parametrize("target", [IOS, LINUX, ObjectTarget("windows", "x86_64")], ids=lambda t: t.platform)
def test_equals_llvm_ar(target: ObjectTarget, names: tuple[str, str], tmp_path: Path) -> None:
    made = members(target, tmp_path, names)
    style = "darwin" if target.is_apple else "gnu"
    run(llvm_tool("llvm-ar"), f"--format={style}", "rcsD", "reference.a", *names, cwd=tmp_path)
    ours = darwin_archive(made) if target.is_apple else gnu_archive(made)
    assert ours == (tmp_path / "reference.a").read_bytes()


def test_gnu_linker_finds_each_member(tmp_path: Path) -> None:
    (tmp_path / "libdemo.a").write_bytes(gnu_archive(members(LINUX, tmp_path, ("a.o", "b.o"))))
    (tmp_path / "main.c").write_text(
        "extern const unsigned char demo_second_start[], demo_second_end[];"
        "int main(void) { return (int)(demo_second_end - demo_second_start); }"
    )
    run(require_tool("gcc"), "main.c", "-L.", "-ldemo", "-o", "program", cwd=tmp_path)
    assert subprocess.run([str(tmp_path / "program")], timeout=30).returncode == len(SECOND[0].data)


def test_darwin_linker_finds_each_member(tmp_path: Path) -> None:
    linker = llvm_tool("ld64.lld")
    (tmp_path / "libdemo.a").write_bytes(darwin_archive(members(IOS, tmp_path, ("a.o", "bc.o"))))
    flags = ["-dylib", "-arch", "arm64", "-platform_version", "ios", "15.0", "17.0"]
    run(linker, *flags, "-u", "_demo_second_start", "-o", "d", "libdemo.a", cwd=tmp_path)
    image = (tmp_path / "d").read_bytes()
    assert SECOND[0].data in image
    assert FIRST[0].data not in image


def test_universal_equals_llvm_lipo(tmp_path: Path) -> None:
    slices = {}
    for arch in ("x86_64", "arm64"):
        target = ObjectTarget("iphonesimulator", arch, "15.0", "17.0")
        slices[arch] = darwin_archive(members(target, tmp_path, ("a.o", "b.o")))
        (tmp_path / f"{arch}.a").write_bytes(slices[arch])
    run(llvm_tool("llvm-lipo"), "-create", "x86_64.a", "arm64.a", "-output", "fat.a", cwd=tmp_path)
    assert universal(slices) == (tmp_path / "fat.a").read_bytes()


def read_gnu(data: bytes) -> dict[str, bytes]:
    """An independent reading: the members behind the symbol table's offsets, by symbol."""
    size = int(data[8 + 48 : 8 + 58])
    table = data[68 : 68 + size]
    count = int.from_bytes(table[:4], "big")
    offsets = [int.from_bytes(table[4 + 4 * i : 8 + 4 * i], "big") for i in range(count)]
    names = table[4 + 4 * count :].split(b"\0")[:count]
    return {
        name.decode(): data[at + 60 : at + 60 + int(data[at + 48 : at + 58])]
        for name, at in zip(names, offsets, strict=True)
    }


def read_darwin(data: bytes) -> dict[str, bytes]:
    """The same for Darwin: names precede the data, and the padded size counts both."""
    name_size = int(data[8 + 3 : 8 + 16])
    table = data[68 + name_size :]
    count = int.from_bytes(table[:4], "little") // 8
    strings = table[8 + 8 * count :]
    result = {}
    for i in range(count):
        name_at, at = (int.from_bytes(table[4 + 8 * i + k : 8 + 8 * i + k], "little") for k in (0, 4))
        long = int(data[at + 3 : at + 16])
        assert (at + 60 + long) % 8 == 0
        name = strings[name_at : strings.index(b"\0", name_at)].decode()
        result[name] = data[at + 60 + long : at + 60 + int(data[at + 48 : at + 58])]
    return result


@given(
    st.dictionaries(st.text("abcdefgh_é .", min_size=1, max_size=40), st.binary(max_size=40), min_size=1, max_size=5)
)
@settings(max_examples=100, deadline=None)
def test_any_names_and_sizes_are_found_again(contents: dict[str, bytes]) -> None:
    made = [Member(name, data, (f"symbol{i}",)) for i, (name, data) in enumerate(contents.items())]
    expected = {member.symbols[0]: member.data for member in made}
    assert read_gnu(gnu_archive(made)) == expected
    darwin = read_darwin(darwin_archive(made))
    assert {name: data[: len(expected[name])] for name, data in darwin.items()} == expected


@pytest.mark.parametrize("name", ["", "a/b", "a\nb", "a\0b"])
def test_bad_member_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="member name"):
        Member(name, b"")
