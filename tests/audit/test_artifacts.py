"""Descriptions of artifacts: whatever the bytes are, a value comes back."""

from __future__ import annotations

import io
import random
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shaderc_tool.audit.artifacts import describe_bytes, describe_path, fault_diagnostics
from shaderc_tool.diagnostics import Severity
from shaderc_tool.emit.archive import Member, darwin_archive
from shaderc_tool.emit.objects import write_object
from shaderc_tool.emit.payload import Payload
from shaderc_tool.emit.targets import ObjectTarget
from shaderc_tool.formats.metallib import build_library, write_library
from tests import corpora
from tests.formats.metallib_cases import kernels
from tests.formats.test_containers import fat, spirv_module

LIBRARY = write_library(build_library(kernels("a", "b"), "ios", (17, 0, 0)))


def test_a_static_library_in_a_fat_file() -> None:
    target = ObjectTarget("iphoneos", "arm64", "17.0")
    made = write_object(target, [Payload("blob", LIBRARY, "x"), Payload("shader", spirv_module(), "y")])
    data = fat((0x0100000C, darwin_archive([Member("blob.o", made)])))
    description = describe_bytes(data, "lib.a")
    parts = list(description.walk())
    assert [(p.name, p.kind) for p in parts] == [
        ("lib.a", "fat"),
        ("lib.a(arm64)", "archive"),
        ("lib.a(arm64)(blob.o)", "mach-o"),
    ]
    image = parts[2]
    assert image.architecture == "arm64"
    (report,) = image.libraries
    assert made[report.offset : report.offset + report.size] == LIBRARY
    assert len(image.shaders) == 1
    assert {"a", "b", "blob_start", "shader_end"} <= set(description.symbols)


def test_the_symbol_of_a_spirv_file_is_its_name(tmp_path: Path) -> None:
    path = tmp_path / "milady_turbo3.spv"
    path.write_bytes(spirv_module())
    description, found = describe_path(path)
    assert description is not None
    assert set(description.symbols) == {"milady_turbo3", "main"}
    assert not found


def test_a_damaged_member_does_not_hide_the_others() -> None:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        archive.writestr("cut.metallib", LIBRARY[:-1])
        archive.writestr("cut.spv", spirv_module()[:-4])
        archive.writestr("good.metallib", LIBRARY)
    description = describe_bytes(raw.getvalue(), "all.zip")
    assert [r.library.functions[0].name for part in description.walk() for r in part.libraries] == ["a"]
    found = fault_diagnostics(description)
    assert [d.code for d in found] == ["SP4002", "SP4002"]
    assert [d.subject for d in found] == ["all.zip(cut.metallib)", "all.zip(cut.spv)"]


def test_what_the_loader_refuses_is_an_error_and_the_rest_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "empty.metallib"
    path.write_bytes(write_library(build_library([], "macos", (14, 0, 0))))
    _, found = describe_path(path)
    assert [(d.code, d.severity) for d in found] == [("SP4024", Severity.ERROR)]
    _, found = describe_path(corpora.extract("msplat", "default.metallib"))
    assert {(d.code, d.severity) for d in found} == {("SP4026", Severity.WARNING)}


def test_zip_files_in_zip_files_end_somewhere() -> None:
    data = LIBRARY
    for _ in range(6):
        raw = io.BytesIO()
        with zipfile.ZipFile(raw, "w") as archive:
            archive.writestr("inner.zip", data)
        data = raw.getvalue()
    faults = [f.message for part in describe_bytes(data, "deep.zip").walk() for f in part.faults]
    assert faults == ["files are nested too deep"]


_MAGICS = [b"", b"MTLB", b"\x03\x02\x23\x07", b"!<arch>\n", b"PK\x03\x04", b"\x7fELF\2\1\1", b"\xcf\xfa\xed\xfe", b"MZ"]


@given(st.sampled_from(_MAGICS), st.binary(max_size=300))
@settings(max_examples=300, deadline=None)
def test_no_bytes_raise(magic: bytes, rest: bytes) -> None:
    description = describe_bytes(magic + rest, "x")
    assert description.size == len(magic + rest)
    assert not description.libraries


@pytest.mark.parametrize("suffix", [".so", ".whl"])
def test_mutated_images_and_wheels_are_described(suffix: str) -> None:
    path = corpora.fetch("metal-flash-sdpa") if suffix == ".whl" else corpora.extract("metal-flash-sdpa", suffix)
    data = path.read_bytes()
    random_ = random.Random(suffix)
    # Load commands are at the start of an image, the directory at the end of a zip file.
    reach = range(len(data) - 3000, len(data)) if suffix == ".whl" else range(4, 3000)
    for _ in range(40):
        changed = bytearray(data)
        for _ in range(3):
            changed[random_.choice(reach)] = random_.randrange(256)
        describe_bytes(bytes(changed), "x")
