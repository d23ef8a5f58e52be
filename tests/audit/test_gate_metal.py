"""The gate over Metal libraries: plant each fault in a library that the portable compiler made, and see it named."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from shaderc_tool.audit.command import audit_outputs
from shaderc_tool.build.pipeline import build
from shaderc_tool.build.session import BuildRequest
from shaderc_tool.diagnostics import Diagnostic
from shaderc_tool.formats.metallib import Library, build_library, read_library, write_library
from shaderc_tool.manifest.load import load_manifest
from shaderc_tool.manifest.model import Manifest

MANIFEST = """\
schema: 1
pack: demo
targets: {mac: {api: metal, sdk: macosx, min_os: "14.0", std: metal3.1}}
kernels:
  a:
    metal:
      file: a.metal
      functions:
        kernel_a: {buffers: [src, dst, args], args: [n, offset]}
        kernel_b: {buffers: [dst]}
"""
SOURCE = """\
#include <metal_stdlib>
using namespace metal;
struct Args { uint n; uint offset; };
kernel void kernel_a(device const float *src [[buffer(0)]], device float *dst [[buffer(1)]],
                     constant Args &args [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    if (i < args.n) dst[i + args.offset] = src[i];
}
kernel void kernel_b(device float *dst [[buffer(0)]], uint i [[thread_position_in_grid]]) { dst[i] = 1; }
"""


class Built:
    """A built project whose library a test may replace."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "m.yaml").write_text(MANIFEST)
        (folder / "a.metal").write_text(SOURCE)
        environment = {**os.environ, "SHADERPACK_CACHE": str(folder / "cache")}
        request = BuildRequest(folder / "m.yaml", folder / "out", metal_toolchain="portable")
        self.result = build(request, environment)
        self.library_path = folder / "out/demo/mac/default.metallib"

    @property
    def manifest(self) -> Manifest:
        return load_manifest(self.folder / "m.yaml")

    @property
    def library(self) -> Library:
        return read_library(self.library_path.read_bytes())

    def plant(self, library: Library) -> None:
        self.library_path.write_bytes(write_library(library))

    def edit(self, old: str, new: str) -> None:
        text = (self.folder / "m.yaml").read_text()
        assert old in text
        (self.folder / "m.yaml").write_text(text.replace(old, new))

    def audit(self) -> list[Diagnostic]:
        return audit_outputs(self.manifest, self.folder / "out/demo", {}, set())

    def errors(self) -> list[tuple[str, str]]:
        return [(d.code, d.subject) for d in self.audit() if d.severity.word == "error"]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Built, bytes]:
    built = Built(tmp_path_factory.mktemp("metal"))
    assert built.result.ok, built.result.diagnostics
    return built, built.library_path.read_bytes()


@pytest.fixture
def built(original: tuple[Built, bytes]) -> Built:
    """The built project, as it was made."""
    project, library = original
    project.library_path.write_bytes(library)
    (project.folder / "m.yaml").write_text(MANIFEST)
    return project


def test_what_was_built_passes(built: Built) -> None:
    assert built.audit() == []


def test_a_library_without_functions(built: Built) -> None:
    built.plant(build_library([], "macos", (14, 0, 0)))
    assert built.errors() == [("SP4001", "kernel_a"), ("SP4001", "kernel_b"), ("SP4024", "mac/default.metallib")]


def test_a_library_for_a_newer_system_than_the_manifest_says(built: Built) -> None:
    built.plant(replace(built.library, os_version=(15, 0, 0)))
    assert built.errors() == [("SP4022", "mac/default.metallib")]


def test_a_library_for_another_platform(built: Built) -> None:
    built.edit("sdk: macosx", "sdk: iphoneos")
    assert ("SP4021", "mac/default.metallib") in built.errors()


def test_a_library_in_another_language_version(built: Built) -> None:
    built.edit("std: metal3.1", "std: metal3.0")
    assert built.errors() == [("SP4023", "mac/default.metallib")]


def test_a_missing_kernel(built: Built) -> None:
    library = built.library
    built.plant(replace(library, functions=library.functions[:1]))
    assert built.errors() == [("SP4001", "kernel_b")]


def test_a_kernel_twice(built: Built) -> None:
    library = built.library
    built.plant(replace(library, functions=(*library.functions, library.functions[0])))
    assert ("SP4004", "kernel_a") in built.errors()


def test_no_library(built: Built) -> None:
    built.library_path.unlink()
    assert built.errors() == [("SP4001", "kernel_a"), ("SP4001", "kernel_b")]


@pytest.mark.parametrize("keep", [0, 40, 88, -1])
def test_a_cut_library(built: Built, keep: int) -> None:
    built.library_path.write_bytes(built.library_path.read_bytes()[:keep])
    assert built.errors() == [("SP4002", "mac/default.metallib")]


def test_bitcode_that_does_not_match_its_hash(built: Built) -> None:
    library = built.library
    first = library.functions[0]
    code = bytearray(first.bitcode)
    code[-20] ^= 1
    built.plant(replace(library, functions=(replace(first, bitcode=bytes(code)), *library.functions[1:])))
    assert ("SP4002", "mac/default.metallib") in built.errors()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("buffers: [src, dst, args]", "buffers: [src, dst, other, args]", "buffer indices"),
        ("args: [n, offset]", "args: [n]", "argument struct"),
        ("args: [n, offset]", "args: [offset, n]", "argument struct"),
        ("args: [n, offset]", 'args: [n, "offset: float"]', "argument struct"),
    ],
)
def test_an_interface_that_drifted(built: Built, old: str, new: str, words: str) -> None:
    built.edit(old, new)
    (diagnostic,) = built.audit()
    assert (diagnostic.code, diagnostic.subject) == ("SP4005", "kernel_a")
    assert words in diagnostic.message


def test_a_kernel_that_nobody_declared_is_a_warning(built: Built) -> None:
    built.edit("        kernel_b: {buffers: [dst]}\n", "")
    assert [(d.code, d.severity.word) for d in built.audit()] == [("SP4010", "warning")]


def test_a_guard_that_drops_a_kernel_fails_the_build(built: Built, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(MANIFEST)
    guarded = SOURCE.replace("kernel void kernel_b", "#if __METAL_VERSION__ >= 320\nkernel void kernel_b") + "#endif\n"
    (tmp_path / "a.metal").write_text(guarded)
    request = BuildRequest(tmp_path / "m.yaml", tmp_path / "out", metal_toolchain="portable")
    result = build(request, {**os.environ, "SHADERPACK_CACHE": str(tmp_path / "cache")})
    assert [(d.code, d.subject) for d in result.diagnostics] == [("SP4001", "kernel_b")]
    assert "__METAL_VERSION__" in result.diagnostics[0].fix
