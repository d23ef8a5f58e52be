"""Lints of Metal libraries: each one with the fault planted, and silent without it."""

from __future__ import annotations

import dataclasses
import io
import struct
import tarfile
from bz2 import compress

from shaderc_tool.formats.air import read_air
from shaderc_tool.formats.air_arguments import Argument
from shaderc_tool.formats.metallib import (
    Extension,
    FunctionType,
    Library,
    NewFunction,
    Tag,
    build_library,
    read_library,
    write_library,
)
from shaderc_tool.formats.metallib_lint import KINDS, Finding, lint_library
from tests import corpora
from tests.fakes import library as fake
from tests.formats.metallib_cases import bitcode, kernels

CLEAN = build_library(kernels("a", "b"), "macos", (14, 0, 0))


def lint(library: Library) -> list[Finding]:
    return lint_library(read_library(write_library(library)))


def kinds(library: Library) -> list[str]:
    found = [f.kind for f in lint(library)]
    assert set(found) <= set(KINDS)
    return found


def with_private(*tags: Tag) -> Library:
    first = dataclasses.replace(CLEAN.functions[0], private=tags)
    return dataclasses.replace(CLEAN, functions=(first, CLEAN.functions[1]))


def test_a_clean_library_has_no_findings() -> None:
    assert lint(CLEAN) == []
    ((_, data),) = corpora.metallibs("pennylane-metal")
    assert lint_library(read_library(data)) == []


def test_no_functions() -> None:
    assert kinds(build_library([], "ios", (17, 0, 0))) == ["no-functions"]
    assert [f.kind for f in lint_library(read_library(fake.library("air64-apple-macos14.0", [])))] == ["no-functions"]


def test_two_functions_with_one_name() -> None:
    library = dataclasses.replace(CLEAN, functions=CLEAN.functions + CLEAN.functions[:1])
    assert [(f.kind, f.function) for f in lint(library)] == [("duplicate-function", "a")]


def test_a_wrong_hash() -> None:
    broken = dataclasses.replace(CLEAN.functions[1], bitcode=bitcode(99))
    library = dataclasses.replace(CLEAN, functions=(CLEAN.functions[0], broken))
    assert [(f.kind, f.function) for f in lint(library)] == [("bad-hash", "b")]


def test_versions_newer_than_the_deployment_target() -> None:
    new = [*kernels("old"), NewFunction("new", FunctionType.KERNEL, bitcode(7), (2, 8), (4, 0))]
    found = lint(build_library(new, "ios", (17, 0, 0)))
    assert [(f.kind, f.function) for f in found] == [("air-mismatch", "new"), ("language-mismatch", "new")]
    assert found[0].message == "new has AIR 2.8; iOS 17.0 loads up to 2.6"
    assert kinds(build_library(new, "ios", (26, 0, 0))) == []


def test_older_versions_are_fine_and_unknown_systems_are_not_judged() -> None:
    new = [NewFunction("new", FunctionType.KERNEL, bitcode(7), (2, 9), (4, 1))]
    library = build_library(new, "macos", (26, 0, 0))
    assert kinds(library) == ["air-mismatch", "language-mismatch"]
    assert kinds(dataclasses.replace(library, os_version=(27, 0, 0))) == []
    assert kinds(dataclasses.replace(library, platform=0)) == []


def test_paths_in_the_metadata() -> None:
    debug = Tag("DEBI", struct.pack("<I", 12) + b"/Users/me/k.metal\0")
    depend = Tag("DEPF", b"C:\\build\\k.air\0")
    found = lint(with_private(debug, depend))
    assert [(f.kind, f.function) for f in found] == [("leaked-path", "a")] * 2
    assert found[0].message == "a holds its source path: /Users/me/k.metal"
    assert found[1].message == "a holds the path of its .air: C:\\build\\k.air"
    relative = Tag("DEBI", struct.pack("<I", 12) + b"kernels/k.metal\0"), Tag("DEPF", b"../out/k.air\0")
    assert kinds(with_private(*relative)) == []


def _recorded(options: str, name: str, folder: str = ".") -> Library:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for member, text in (("metal-options.txt", options), (name, "kernel void a() {}")):
            info = tarfile.TarInfo(member)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    body = b"0\0" + compress(raw.getvalue())
    group = b"SARC" + struct.pack("<I", len(body)) + body + b"ENDT"
    part = struct.pack("<I", 1) + b"metallib -o x.metallib\0" + folder.encode() + b"\0"
    part += struct.pack("<I", len(group)) + group
    return dataclasses.replace(CLEAN, extensions=(Extension(Tag("HSRD", bytes(16)), part),))


def test_paths_in_recorded_sources() -> None:
    assert kinds(_recorded("metal -c k.metal -I include", "k.metal")) == []
    assert kinds(_recorded("metal -c k.metal -I/opt/include", "k.metal")) == ["leaked-path"]
    assert kinds(_recorded("metal -c k.metal -I /opt/include", "k.metal")) == ["leaked-path"]
    assert kinds(_recorded("metal -c k.metal -ffile-prefix-map=/opt/x=.", "k.metal")) == ["leaked-path"]
    assert kinds(_recorded("metal -c k.metal", "k.metal", "/Users/me")) == ["leaked-path"]
    assert kinds(_recorded("metal -c k.metal", "/Users/me/k.metal")) == ["leaked-path"]


def test_real_leaks_are_found_with_their_paths() -> None:
    ((_, data),) = corpora.metallibs("msplat")
    messages = [f.message for f in lint_library(read_library(data)) if f.kind == "leaked-path"]
    assert any("/Users/runner/work/msplat/msplat/core/metal/msplat_metal.metal" in m for m in messages)
    assert any("the linker's working folder: /var/folders/" in m for m in messages)
    assert len(messages) == len(set(messages))


def _air() -> tuple[Library, str]:
    ((_, data),) = corpora.metallibs("pennylane-metal")
    library = read_library(data)
    return library, library.functions[0].name


def test_bitcode_that_agrees_with_its_library() -> None:
    library, name = _air()
    assert lint_library(library, {name: read_air(bytes(library.function(name).bitcode))}) == []


def test_bitcode_for_another_target() -> None:
    library, name = _air()
    module = read_air(bytes(library.function(name).bitcode))
    for change, kind in (
        ({"platform": "ios"}, "platform-mismatch"),
        ({"deployment_target": (26, 1, 0)}, "os-mismatch"),
        ({"air_version": (2, 7, 0)}, "air-mismatch"),
        ({"language_version": (3, 2, 0)}, "language-mismatch"),
    ):
        other = dataclasses.replace(module, **change)
        assert [(f.kind, f.function) for f in lint_library(library, {name: other})] == [(kind, name)]


def test_an_unused_argument() -> None:
    library, name = _air()
    module = read_air(bytes(library.function(name).bitcode))
    (entry,) = module.entry_points
    spare = Argument(len(entry.arguments), "buffer", "spare", "float", index=30, unused=True)
    changed = dataclasses.replace(entry, arguments=(*entry.arguments, spare))
    other = dataclasses.replace(module, entry_points=(changed,))
    assert [f.message for f in lint_library(library, {name: other})] == [f"{name} does not use spare"]
