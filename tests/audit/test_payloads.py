"""Payloads inside objects: what symbols and sections claim against the bytes, in every object format."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from shaderc_tool.audit.artifacts import describe_bytes, describe_file
from shaderc_tool.audit.payloads import Payload
from shaderc_tool.emit.archive import Member, gnu_archive
from tests.audit.support import (
    MACOS_LIBRARY,
    MODULE,
    SOURCE,
    assemble,
    audit,
    embedding,
    found,
    missing,
    started,
    write,
)

OBJECTS = ["x86_64-linux-gnu", "arm64-apple-ios17.0"]


def payloads(path: Path) -> list[Payload]:
    return [payload for part in describe_file(path).walk() for payload in part.payloads]


@pytest.mark.parametrize("triple", OBJECTS)
@pytest.mark.parametrize(("data", "kind"), [(MODULE, "spirv"), (MACOS_LIBRARY, "metallib"), (SOURCE.encode(), "msl")])
def test_a_data_and_length_pair(triple: str, data: bytes, kind: str, tmp_path: Path) -> None:
    blob = write(tmp_path, "blob", data)
    path = assemble(embedding("demo_add", blob, len(data), elf="linux" in triple), triple, tmp_path)
    (payload,) = payloads(path)
    assert (payload.name, payload.form, payload.kind, payload.size, payload.problem) == (
        "demo_add", "data/len", kind, len(data), "",
    )  # fmt: skip
    assert missing(path, names=["demo_add"]) == []


@pytest.mark.parametrize("triple", OBJECTS)
def test_a_length_that_lies_is_an_error(triple: str, tmp_path: Path) -> None:
    blob = write(tmp_path, "blob", MODULE)
    for length in (0, len(MODULE) - 4, len(MODULE) + 4096):
        path = assemble(embedding("demo_add", blob, length, elf="linux" in triple), triple, tmp_path)
        assert ("SP4062", "demo_add") in found(audit(path)), length
        assert missing(path, names=["demo_add"]) == ["demo_add"]


def test_a_damaged_payload_is_not_a_kernel(tmp_path: Path) -> None:
    blob = write(tmp_path, "blob", MODULE[:-4])
    path = assemble(embedding("demo_add", blob, len(MODULE) - 4), OBJECTS[0], tmp_path)
    assert missing(path, names=["demo_add"]) == ["demo_add"]


@pytest.mark.parametrize("triple", OBJECTS)
def test_embedded_source_gives_its_instantiated_kernels_only(triple: str, tmp_path: Path) -> None:
    blob = write(tmp_path, "blob", SOURCE.encode())
    path = assemble(started("ggml_metallib_demo", blob, elf="linux" in triple), triple, tmp_path)
    (payload,) = payloads(path)
    assert payload.form == "start/end"
    assert [kernel.name for kernel in payload.kernels] == ["kernel_copy_f32", "kernel_bf16", "kernel_tensor"]
    wanted = ["kernel_copy_f32", "kernel_copy", "kernel_ghost"]
    assert missing(path, names=wanted) == ["kernel_copy", "kernel_ghost"]


def test_the_section_alone_names_a_payload(tmp_path: Path) -> None:
    blob = write(tmp_path, "blob", SOURCE.encode())
    text = f'.section __DATA,__ggml_metallib\n.incbin "{blob}"\n'
    (payload,) = payloads(assemble(text, "arm64-apple-macos14.0", tmp_path))
    assert (payload.name, payload.form, payload.kind) == ("__DATA,__ggml_metallib", "section", "msl")


def test_a_string_constant_is_found_by_its_include(tmp_path: Path) -> None:
    blob = write(tmp_path, "blob", SOURCE.encode())
    text = f'.section .rodata\n.asciz "before"\n.incbin "{blob}"\n.byte 0\n.asciz "after"\n'
    (payload,) = payloads(assemble(text, OBJECTS[0], tmp_path))
    assert (payload.form, payload.size, len(payload.kernels)) == ("scan", len(SOURCE), 3)


def test_an_end_before_its_start_is_an_error(tmp_path: Path) -> None:
    text = ".section .rodata\n.globl a_metallib_end\na_metallib_end:\n.quad 1\n"
    text += ".globl a_metallib_start\na_metallib_start:\n.quad 1\n"
    assert found(audit(assemble(text, OBJECTS[0], tmp_path))) == [("SP4062", "a_metallib")]


def test_other_pairs_of_symbols_are_left_alone(tmp_path: Path) -> None:
    """`icon_data`/`icon_len` is an image, `text_start`/`text_end` a linker's, a counter `x_len` has its own meaning."""
    blob = write(tmp_path, "blob", b"\x89PNG" + bytes(60))
    text = embedding("icon", blob, 64) + embedding("table", blob, 9999)
    text += ".globl text_start\ntext_start: .quad 1\n.globl text_end\ntext_end: .quad 2\n"
    path = assemble(text, OBJECTS[0], tmp_path)
    assert [d for d in audit(path) if d.code == "SP4062"] == []
    assert missing(path, names=["icon"]) == ["icon"]


def test_payloads_deep_inside_a_package(tmp_path: Path) -> None:
    """An object in an archive in an .ipa; .metal source beside it."""
    blob = write(tmp_path, "blob", SOURCE.encode())
    data = assemble(started("ggml_metallib_demo", blob, elf=False), "arm64-apple-ios17.0", tmp_path).read_bytes()
    archive = gnu_archive([Member("kernels.o", data, ())])
    with zipfile.ZipFile(tmp_path / "App.ipa", "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("Payload/App.app/libdemo.a", archive)
        package.writestr("Payload/App.app/extra.metal", "kernel void kernel_extra(device float *x) {}\n")
        package.writestr("Payload/App.app/readme.txt", "kernel void kernel_readme(device float *x) {}\n")
    wanted = ["kernel_copy_f32", "kernel_extra", "kernel_readme"]
    assert missing(tmp_path / "App.ipa", names=wanted) == ["kernel_readme"]


def test_a_zip_bomb_is_refused_without_unpacking_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shaderc_tool.audit.artifacts.MAX_UNPACKED", 1 << 20)
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("big.metallib", b"MTLB" + bytes(64 << 20))
    assert found(audit(tmp_path / "bomb.zip"))[0][0] == "SP4002"


def test_source_files_count_by_their_declarations() -> None:
    described = describe_bytes(SOURCE.encode(), "a.metal")
    assert described.kind == "msl"
    assert "kernel_ghost" not in described.symbols
    assert describe_bytes(b"", "a.metal").symbols == ()
