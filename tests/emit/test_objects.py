"""Objects are read back with lief and LLVM's tools, and linked with real linkers."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import lief
import pytest

from shaderc_tool.emit.c_header import c_header, header_name
from shaderc_tool.emit.objects import object_symbols, write_object
from shaderc_tool.emit.payload import ALIGNMENT, Naming, Payload
from shaderc_tool.emit.targets import PLATFORMS, ObjectTarget, packed_version
from tests.emit.support import llvm_tool, run
from tests.tools import require_tool

PAYLOADS = (
    Payload("demo_library", b"MTLB" + random.Random(1).randbytes(5001), "default.metallib"),
    Payload("demo_short", b"MTL", "short"),
    Payload("demo_zero", bytes(64), "zero"),
)

TARGETS = [
    ObjectTarget(name, arch, "17.2", "18.1.3") if facts.macho else ObjectTarget(name, arch)
    for name, facts in PLATFORMS.items()
    for arch in facts.archs
]
APPLE = [target for target in TARGETS if target.is_apple]

# `enum` names of lief, and with them the numbers of <mach-o/loader.h>, not those of the code under test.
LIEF_PLATFORMS = {
    "macosx": "MACOS",
    "iphoneos": "IOS",
    "iphonesimulator": "IOS_SIMULATOR",
    "maccatalyst": "MAC_CATALYST",
    "appletvos": "TVOS",
    "appletvsimulator": "TVOS_SIMULATOR",
    "watchos": "WATCHOS",
    "watchsimulator": "WATCHOS_SIMULATOR",
    "xros": "VISIONOS",
    "xrsimulator": "VISIONOS_SIMULATOR",
}
CPU_TYPES = {"arm64": 0x0100000C, "x86_64": 0x01000007, "arm64_32": 0x0200000C}


def target_id(target: ObjectTarget) -> str:
    return f"{target.platform}-{target.arch}"


def read_macho(data: bytes) -> lief.MachO.Binary:
    fat = lief.MachO.parse(list(data))
    assert fat is not None
    binary = fat.at(0)
    assert binary is not None
    return binary


def section_named(binary: lief.MachO.Binary, name: str) -> lief.MachO.Section:
    return next(section for section in binary.sections if section.name == name)


@pytest.mark.parametrize("target", APPLE, ids=target_id)
def test_macho_says_platform_version_and_payload(target: ObjectTarget) -> None:
    image = write_object(target, PAYLOADS)
    binary = read_macho(image)
    version = binary.build_version
    assert version is not None
    assert version.platform.name == LIEF_PLATFORMS[target.platform]
    assert list(version.minos) == [17, 2, 0]
    assert list(version.sdk) == [18, 1, 3]
    # lief has no name for arm64_32: the number is CPU_TYPE_ARM64_32 of <mach/machine.h>.
    assert int.from_bytes(image[4:8], "little") == CPU_TYPES[target.arch]
    assert binary.header.file_type.name == "OBJECT"

    section = section_named(binary, "__const")
    assert 1 << section.alignment >= ALIGNMENT
    content, base = bytes(section.content), section.virtual_address
    symbols = {str(s.name): s.value - base for s in binary.symbols if str(s.name).startswith("_")}
    assert set(symbols) == set(object_symbols(target, PAYLOADS, Naming.START_END))
    for payload in PAYLOADS:
        start, end = symbols[f"_{payload.symbol}_start"], symbols[f"_{payload.symbol}_end"]
        assert start % ALIGNMENT == 0
        assert content[start:end] == payload.data
        assert content[end] == 0
        size = symbols[f"_{payload.symbol}_size"]
        assert int.from_bytes(content[size : size + 8], "little") == len(payload.data)


@pytest.mark.parametrize("target", APPLE, ids=target_id)
def test_llvm_nm_sees_global_symbols_in_the_section(target: ObjectTarget, tmp_path: Path) -> None:
    (tmp_path / "o").write_bytes(write_object(target, PAYLOADS[:1], section="__DATA,__ggml_metallib"))
    listing = run(llvm_tool("llvm-nm"), "-m", "--extern-only", "o", cwd=tmp_path)
    found = dict(re.findall(r"\((\S+)\) external (?:\[alt entry\] )?(\S+)", listing))
    assert set(found) == {"__DATA,__ggml_metallib"}
    names = re.findall(r"external (?:\[alt entry\] )?(\S+)$", listing, re.M)
    assert sorted(names) == ["_demo_library_end", "_demo_library_size", "_demo_library_start"]
    assert "[alt entry] _demo_library_end" in listing


def test_private_extern_hides_symbols_from_other_images(tmp_path: Path) -> None:
    target = ObjectTarget("iphoneos", "arm64", "17.0", "18.0")
    (tmp_path / "o").write_bytes(write_object(target, PAYLOADS[:1], private_extern=True))
    listing = run(llvm_tool("llvm-nm"), "-m", "o", cwd=tmp_path)
    assert listing.count("private external") == 3
    (tmp_path / "e").write_bytes(write_object(ObjectTarget("linux", "x86_64"), PAYLOADS[:1], private_extern=True))
    table = run(require_tool("readelf"), "-sW", "e", cwd=tmp_path)
    assert len(re.findall(r"GLOBAL HIDDEN .* demo_library_", table)) == 3


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_elf_is_clean_for_hardened_links(arch: str, tmp_path: Path) -> None:
    (tmp_path / "o").write_bytes(write_object(ObjectTarget("linux", arch), PAYLOADS))
    sections = run(require_tool("readelf"), "-SW", "o", cwd=tmp_path)
    assert re.search(r"\.note\.GNU-stack +PROGBITS +0+ \S+ 0+ 00 +0", sections)
    notes = run(require_tool("readelf"), "-nW", "o", cwd=tmp_path)
    assert ("IBT, SHSTK" if arch == "x86_64" else "BTI, PAC") in notes
    elf = lief.ELF.parse(str(tmp_path / "o"))
    assert elf is not None
    section = next(s for s in elf.sections if s.name == ".rodata")
    assert section.alignment == ALIGNMENT
    start = next(s for s in elf.symbols if s.name == "demo_library_start")
    assert bytes(section.content)[start.value :].startswith(PAYLOADS[0].data)


@pytest.mark.parametrize("arch", ["x86_64", "arm64"])
def test_coff_holds_the_payload_in_read_only_data(arch: str) -> None:
    coff = lief.COFF.parse(list(write_object(ObjectTarget("windows", arch), PAYLOADS, Naming.DATA_LEN)))
    assert coff is not None
    section = next(s for s in coff.sections if ".rdata" in str(s.name))
    symbol = next(s for s in coff.symbols if s.name == "demo_library_data")
    assert bytes(section.content)[symbol.value :].startswith(PAYLOADS[0].data)


def test_c_program_finds_two_packs_by_symbol(tmp_path: Path) -> None:
    gcc = require_tool("gcc")
    target = ObjectTarget("linux", "x86_64")
    other = (Payload("other_library", b"\x03\x02\x23\x07" + bytes(range(200)), "x.spv"),)
    (tmp_path / "a.o").write_bytes(write_object(target, PAYLOADS[:1]))
    (tmp_path / "b.o").write_bytes(write_object(target, other, Naming.DATA_LEN))
    (tmp_path / header_name("other")).write_text(c_header("other", other))
    (tmp_path / "main.c").write_text(
        """
        #include "other-shaders.h"
        #include <stdio.h>
        extern const unsigned char demo_library_start[], demo_library_end[];
        extern const uint64_t demo_library_size;
        int main(void) {
            if (demo_library_end - demo_library_start != (long)demo_library_size) return 1;
            if ((uintptr_t)demo_library_start % 16 || (uintptr_t)other_library_data % 16) return 2;
            fwrite(demo_library_start, 1, demo_library_size, stdout);
            fwrite(other_library_data, 1, other_library_len, stdout);
            return 0;
        }
        """
    )
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wl,--fatal-warnings"]
    run(gcc, *flags, "main.c", "a.o", "b.o", "-o", "p", cwd=tmp_path)
    output = subprocess.run([str(tmp_path / "p")], stdout=subprocess.PIPE, check=True, timeout=30).stdout
    assert output == PAYLOADS[0].data + other[0].data


@pytest.mark.parametrize("section", ["", "__TEXT,__milady"])
def test_ios_library_holds_the_payload_in_its_section(section: str, tmp_path: Path) -> None:
    linker = llvm_tool("ld64.lld")
    target = ObjectTarget("iphoneos", "arm64", "15.0", "17.0")
    (tmp_path / "o").write_bytes(write_object(target, PAYLOADS, section=section))
    flags = ["-dylib", "-arch", "arm64", "-platform_version", "ios", "15.0", "17.0", "-dead_strip"]
    run(linker, *flags, "-o", "d", "o", cwd=tmp_path)
    binary = read_macho((tmp_path / "d").read_bytes())
    exported = {str(s.name): s for s in binary.exported_symbols}
    assert set(object_symbols(target, PAYLOADS, Naming.START_END)) <= set(exported)
    start, end = exported["_demo_library_start"], exported["_demo_library_end"]
    assert end.value - start.value == len(PAYLOADS[0].data)
    held = next(s for s in binary.sections if s.virtual_address <= start.value < s.virtual_address + s.size)
    assert str(held.name) == ("__milady" if section else "__const")
    at = start.value - held.virtual_address
    assert bytes(held.content)[at : at + len(PAYLOADS[0].data)] == PAYLOADS[0].data


def test_windows_library_links(tmp_path: Path) -> None:
    linker = llvm_tool("lld-link")
    (tmp_path / "o.obj").write_bytes(write_object(ObjectTarget("windows", "x86_64"), PAYLOADS, Naming.DATA_LEN))
    run(linker, "/dll", "/noentry", "/export:demo_library_data,DATA", "/out:d.dll", "o.obj", cwd=tmp_path)
    assert PAYLOADS[0].data in (tmp_path / "d.dll").read_bytes()


@pytest.mark.parametrize("target", TARGETS, ids=target_id)
def test_same_arguments_give_same_bytes(target: ObjectTarget) -> None:
    first = write_object(target, PAYLOADS)
    assert write_object(target, PAYLOADS) == first
    assert b"/tmp" not in first


@pytest.mark.parametrize("size", [1, 2, 31, 32, 33, 4096])
def test_every_size_and_content_survives(size: int) -> None:
    for filler in (b"\0", b"\xff", b"\\"):
        payload = Payload("p", filler * size, "p")
        binary = read_macho(write_object(ObjectTarget("macosx", "arm64", "13.0", "14.0"), (payload,)))
        assert bytes(section_named(binary, "__const").content)[: size + 1] == payload.data + b"\0"


@pytest.mark.parametrize(
    ("text", "value"), [("17", 17 << 16), ("10.15.7", 10 << 16 | 15 << 8 | 7), ("26.1", 26 << 16 | 1 << 8)]
)
def test_versions_pack_as_the_loader_reads_them(text: str, value: int) -> None:
    assert packed_version(text) == value


@pytest.mark.parametrize("text", ["", "x", "1.2.3.4", "1.", "1.256", "65536", "-1", "١"])
def test_bad_versions_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="version"):
        packed_version(text)


@pytest.mark.parametrize(
    "arguments",
    [("beos", "arm64", "1", "1"), ("iphoneos", "x86_64", "17.0", "17.0"), ("iphoneos", "arm64", "", "17.0")],
)
def test_bad_targets_are_refused(arguments: tuple[str, str, str, str]) -> None:
    with pytest.raises(ValueError):
        ObjectTarget(*arguments)


@pytest.mark.parametrize("section", ["__const", "__DATA,", "__DATA,__a_name_too_long", '__DATA,"', "a,b,c"])
def test_bad_sections_are_refused(section: str) -> None:
    with pytest.raises(ValueError, match="section"):
        write_object(APPLE[0], PAYLOADS, section=section)
