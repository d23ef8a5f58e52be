"""The embed form with start, end and size: the same symbols and bytes as the object writer's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import lief
import pytest

from shaderc_tool.emit.assembler import assembler
from shaderc_tool.emit.objects import object_symbols
from shaderc_tool.emit.payload import Naming, Payload, prefixed
from shaderc_tool.emit.targets import ObjectTarget
from tests.emit.support import llvm_tool, run
from tests.tools import require_tool

PAYLOADS = (
    Payload("demo_library", b"MTLB" + bytes(range(251)), "default.metallib"),
    Payload("demo_source", b"kernel void k() {}\n", "merged source.msl"),
)


def assemble(folder: Path, text: str, triple: str) -> Path:
    for payload in PAYLOADS:
        (folder / payload.path).write_bytes(payload.data)
    (folder / "embed.S").write_text(text)
    run(require_tool("clang"), "-target", triple, "-c", "embed.S", "-o", "embed.o", cwd=folder)
    return folder / "embed.o"


@pytest.mark.parametrize(
    "triple", ["arm64-apple-ios16.0", "arm64-apple-ios16.0-simulator", "arm64-apple-ios16.0-macabi"]
)
def test_macho_object_has_the_section_and_the_symbols(triple: str, tmp_path: Path) -> None:
    text = assembler("demo", PAYLOADS, macho_section="__DATA,__ggml_metallib")
    output = assemble(tmp_path, text, triple)
    fat = lief.MachO.parse(str(output))
    assert fat is not None
    binary = fat.at(0)
    assert binary is not None
    section = next(s for s in binary.sections if s.name == "__ggml_metallib")
    assert section.alignment == 4
    content = bytes(section.content)
    values = {str(s.name): s.value - section.virtual_address for s in binary.symbols}
    for payload in PAYLOADS:
        start, end = values[f"_{payload.symbol}_start"], values[f"_{payload.symbol}_end"]
        assert start % 16 == 0
        assert content[start : end + 1] == payload.data + b"\0"
        at = values[f"_{payload.symbol}_size"]
        assert int.from_bytes(content[at : at + 8], "little") == len(payload.data)


@pytest.mark.parametrize("private", [False, True])
def test_private_extern_is_seen_by_nm(private: bool, tmp_path: Path) -> None:
    output = assemble(tmp_path, assembler("demo", PAYLOADS, private_extern=private), "arm64-apple-macosx13")
    listing = run(llvm_tool("llvm-nm"), "-m", output, cwd=tmp_path)
    assert listing.count("private external") == (6 if private else 0)
    target = ObjectTarget("macosx", "arm64", "13.0", "14.0")
    for name in object_symbols(target, PAYLOADS, Naming.START_END):
        assert name in listing.split()


def test_c_program_reads_the_elf_form(tmp_path: Path) -> None:
    gcc = require_tool("gcc")
    for payload in PAYLOADS:
        (tmp_path / payload.path).write_bytes(payload.data)
    (tmp_path / "embed.S").write_text(assembler("demo", PAYLOADS, private_extern=True))
    (tmp_path / "main.c").write_text(
        """
        #include <stdint.h>
        #include <stdio.h>
        extern const unsigned char demo_library_start[], demo_library_end[], demo_source_start[];
        extern const uint64_t demo_library_size, demo_source_size;
        int main(void) {
            fwrite(demo_library_start, 1, (size_t)(demo_library_end - demo_library_start), stdout);
            fputs((const char *)demo_source_start, stdout);
            return !(demo_library_size == 255 && demo_source_size == 19);
        }
        """
    )
    run(gcc, "-Wall", "-Wextra", "-Werror", "-Wl,--fatal-warnings", "main.c", "embed.S", "-o", "program", cwd=tmp_path)
    output = subprocess.run([str(tmp_path / "program")], stdout=subprocess.PIPE, check=True, timeout=30).stdout
    assert output == PAYLOADS[0].data + PAYLOADS[1].data


def test_payload_digest_is_in_the_text() -> None:
    """T7: the text changes with the payload."""
    changed = Payload("demo_library", PAYLOADS[0].data[::-1], "default.metallib")
    text = assembler("demo", PAYLOADS[:1])
    assert PAYLOADS[0].digest in text
    assert assembler("demo", [changed]) != text


@pytest.mark.parametrize(
    ("pack", "name", "symbol"),
    [
        ("milady", "metallib", "milady_metallib"),
        ("milady", "milady_metallib", "milady_metallib"),
        ("my-pack", "a.b", "my_pack_a_b"),
        ("3d", "x", "_3d_x"),
    ],
)
def test_symbols_carry_the_pack(pack: str, name: str, symbol: str) -> None:
    assert prefixed(pack, name) == symbol
