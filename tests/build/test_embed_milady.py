"""The shipped manifest's bundles, made on this machine and read back by lief, LLVM's tools, linkers and a C program."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import lief
import pytest
from click.testing import CliRunner

from shaderc_tool.cli import cli
from shaderc_tool.manifest.load import load_manifest
from tests.emit.support import llvm_tool, run
from tests.tools import require_glsl, require_tool

ROOT = Path(__file__).parents[2]
PLATFORMS = {"ios": ("IOS", "ios", ["arm64"]), "ios-sim": ("IOS_SIMULATOR", "iossimulator", ["arm64", "x86_64"])}
SLICES = {"ios": "ios-arm64", "ios-sim": "ios-arm64_x86_64-simulator"}
SYMBOLS = {f"_milady_metallib_{end}" for end in ("start", "end", "size")}
KERNELS = {f.name for u in load_manifest(ROOT / "manifests/milady.yaml").metal for f in u.functions}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project, built for both iOS targets and the eight Vulkan modules."""
    require_glsl()
    for wheel in ("ziglang", "llvmlite"):
        pytest.importorskip(wheel)
    folder = tmp_path_factory.mktemp("milady")
    for name in ("vulkan", "metal", "manifests"):
        shutil.copytree(ROOT / name, folder / name)
    assert shaderpack(folder, "build", "--target", "vulkan", "--target", "ios", "--target", "ios-sim")[0] == 0
    return folder


def shaderpack(folder: Path, command: str, *options: str) -> tuple[int, list[dict[str, str]]]:
    """Exit code and diagnostics of a command on the manifest."""
    arguments = [command, str(folder / "manifests/milady.yaml"), "--out", str(folder / "build"), "--format", "json"]
    cache = os.environ.get("SHADERPACK_CACHE", str(folder / "cache"))
    result = CliRunner(env={"SHADERPACK_CACHE": cache}).invoke(cli, [*arguments, *options])
    return result.exit_code, json.loads(result.stdout)["diagnostics"]


def out(tree: Path) -> Path:
    return tree / "build/milady"


def macho(path: Path) -> lief.MachO.Binary:
    fat = lief.MachO.parse(str(path))
    binary = fat.at(0) if fat else None
    assert binary is not None
    return binary


def check_object(path: Path, target: str, payload: bytes) -> None:
    """One object by three readers: lief, llvm-nm, llvm-otool."""
    platform, word, _ = PLATFORMS[target]
    binary = macho(path)
    version = binary.build_version
    assert version is not None
    assert (version.platform.name, list(version.minos), list(version.sdk)) == (platform, [17, 0, 0], [18, 0, 0])
    section = next(s for s in binary.sections if s.name == "__const" and s.segment_name == "__DATA")
    content = bytes(section.content)
    at = {str(s.name): s.value - section.virtual_address for s in binary.symbols if str(s.name) in SYMBOLS}
    start, end, size = (at[f"_milady_metallib_{name}"] for name in ("start", "end", "size"))
    assert content[start:end] == payload
    assert int.from_bytes(content[size : size + 8], "little") == len(payload)
    assert (start % 16, section.alignment >= 4) == (0, True)

    listed = run(llvm_tool("llvm-nm"), "-g", "--defined-only", path, cwd=path.parent)
    addresses = {line.split()[2]: int(line.split()[0], 16) for line in listed.splitlines() if len(line.split()) == 3}
    assert addresses.keys() == SYMBOLS
    assert addresses["_milady_metallib_end"] - addresses["_milady_metallib_start"] == len(payload)
    commands = run(llvm_tool("llvm-otool"), "-l", path, cwd=path.parent)
    build = commands[commands.index("LC_BUILD_VERSION") :].split("Load command")[0]
    said = dict(line.split() for line in build.splitlines() if len(line.split()) == 2)
    assert (said["platform"], said["minos"], said["sdk"]) == (word, "17.0", "18.0")


@pytest.mark.parametrize("target", PLATFORMS)
def test_objects_and_archive_read_back(tree: Path, tmp_path: Path, target: str) -> None:
    payload = (out(tree) / target / "default.metallib").read_bytes()
    folder = out(tree) / target / "embed"
    archs = PLATFORMS[target][2]
    for arch in archs:
        check_object(folder / f"milady_metallib-{arch}.o", target, payload)
    digest = hashlib.sha256(payload).hexdigest()
    assert digest in (folder / "milady_metallib.S").read_text()
    assert f'SHA256 "{digest}"' in (folder / "milady_metal.h").read_text()
    check_archive(folder / "libmilady_metallib.a", target, payload, tmp_path)


@pytest.mark.parametrize("target", PLATFORMS)
def test_framework_slices_read_back(tree: Path, tmp_path: Path, target: str) -> None:
    payload = (out(tree) / target / "default.metallib").read_bytes()
    folder = out(tree) / "Milady.xcframework" / SLICES[target]
    check_archive(folder / "libMilady.a", target, payload, tmp_path)
    assert hashlib.sha256(payload).hexdigest() in (folder / "Headers/milady_metal.h").read_text()
    assert "module Milady {" in (folder / "Headers/module.modulemap").read_text()
    assert "import Milady\n" in (out(tree) / target / "embed/MiladyMetal.swift").read_text()


def check_archive(library: Path, target: str, payload: bytes, scratch: Path) -> None:
    archs = PLATFORMS[target][2]
    for arch in archs:
        thin = library
        if len(archs) > 1:
            thin = scratch / f"{arch}.a"
            run(llvm_tool("llvm-lipo"), "-thin", arch, library, "-output", thin, cwd=scratch)
        run(llvm_tool("llvm-ar"), "x", thin, cwd=scratch)
        check_object(scratch / f"milady_metallib-{arch}.o", target, payload)


@pytest.mark.parametrize("target", PLATFORMS)
def test_merged_source_gives_every_kernel_at_both_versions(tree: Path, target: str) -> None:
    for std in ("metal2.4", "metal3.1"):
        listed = (out(tree) / target / f"embed/milady-{std}.kernels").read_text().split()
        assert set(listed) == KERNELS
        assert len(listed) == len(KERNELS)


# --- programs and libraries that embed it

PROGRAM = """\
#include "milady-shaders.h"
#include "milady_metal.h"
#include <stdio.h>
static int put(const void *data, size_t size) { return fwrite(data, 1, size, stdout) != size; }
int main(void) {
    int bad = (uintptr_t)milady_metallib_start % 16 != 0 || milady_metallib_end[0] != 0;
    bad |= milady_metallib_size != (uint64_t)(milady_metallib_end - milady_metallib_start);
@PUTS@    return bad | put(milady_metallib_start, milady_metallib_size);
}
"""


def test_c_program_finds_every_payload_by_symbol(tree: Path, tmp_path: Path) -> None:
    """Both halves in one ELF program: the eight modules and the library."""
    cc = require_tool("cc")
    modules = sorted((out(tree) / "vulkan").glob("*.spv"))
    assert len(modules) == 8
    puts = "".join(f"    bad |= put({m.stem}_data, {m.stem}_len);\n" for m in modules)
    (tmp_path / "main.c").write_text(PROGRAM.replace("@PUTS@", puts))
    vulkan, embed = out(tree) / "vulkan", out(tree) / "ios/embed"
    sources: list[str | Path] = ["main.c", vulkan / "milady-shaders.S", embed / "milady_metallib.S"]
    run(cc, "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{vulkan}", f"-I{embed}", *sources, "-o", "app", cwd=tmp_path)
    found = subprocess.run([str(tmp_path / "app")], stdout=subprocess.PIPE, check=True, timeout=30).stdout
    assert found == b"".join(m.read_bytes() for m in [*modules, out(tree) / "ios/default.metallib"])
    # The audit finds the same payloads in the linked program.
    code, diagnostics = shaderpack(tree, "audit", "--image", str(tmp_path / "app"))
    notes = [d["message"] for d in diagnostics if d["code"] == "SP4052"]
    assert code == 0
    assert len(notes) == 1
    assert {*notes[0].rpartition(": ")[2].split(", ")} == {"milady_metallib", *(m.stem for m in modules)}


def lld(tree: Path, folder: Path) -> None:
    flags = ["-dylib", "-arch", "arm64", "-platform_version", "ios", "17.0", "18.0", "-all_load"]
    run(llvm_tool("ld64.lld"), *flags, "-o", "app.dylib", out(tree) / "ios/embed/libmilady_metallib.a", cwd=folder)


def zig(tree: Path, folder: Path) -> None:
    flags = ["-target", "aarch64-ios.17.0", "-shared", "-nostdlib", "-Wl,-undefined,dynamic_lookup"]
    made = out(tree) / "ios/embed/milady_metallib-arm64.o"
    run(sys.executable, "-m", "ziglang", "cc", *flags, made, "-o", "app.dylib", cwd=folder)


@pytest.mark.parametrize("link", [lld, zig])
def test_ios_library_has_the_payload_in_its_read_only_data(
    tree: Path, tmp_path: Path, link: Callable[[Path, Path], None]
) -> None:
    link(tree, tmp_path)
    binary = macho(tmp_path / "app.dylib")
    start, end = (
        next(int(s.value) for s in binary.symbols if str(s.name) == f"_milady_metallib_{name}")
        for name in ("start", "end")
    )
    (section,) = [
        s for s in binary.sections if s.virtual_address <= start and end <= s.virtual_address + s.size and s.size
    ]
    assert section.name == "__const"
    assert section.segment_name in ("__DATA", "__DATA_CONST")
    offset = start - section.virtual_address
    payload = (out(tree) / "ios/default.metallib").read_bytes()
    assert bytes(section.content)[offset : offset + end - start] == payload
    assert start % 16 == 0


# --- the audit of what was linked


@pytest.fixture
def mine(tree: Path, tmp_path: Path) -> Path:
    """A copy of the tree and its outputs that a test may change."""
    folder = tmp_path / "mine"
    shutil.copytree(tree, folder)
    return folder


def test_a_stale_framework_and_library_are_caught(mine: Path, tmp_path: Path) -> None:
    lld(mine, tmp_path)
    image = str(tmp_path / "app.dylib")
    framework = out(mine) / "Milady.xcframework"
    old = tmp_path / "Milady.xcframework"
    shutil.copytree(framework, old)
    code, found = shaderpack(mine, "audit", "--image", image, "--image", str(old))
    assert (code, {d["code"] for d in found}) == (0, {"SP4052"})

    source = mine / "metal/polar.metal"
    source.write_text(source.read_text() + "kernel void kernel_added(device float *x [[buffer(0)]]) { x[0] = 1.0f; }\n")
    manifest = mine / "manifests/milady.yaml"
    text = manifest.read_text()
    manifest.write_text(re.sub(r"(file: polar.metal\n\s+functions:\n)", r"\1        kernel_added: {}\n", text))
    assert shaderpack(mine, "build", "--target", "ios", "--target", "ios-sim")[0] == 0
    code, found = shaderpack(mine, "audit", "--image", image, "--image", str(old))
    stale = [d for d in found if d["code"] == "SP4049"]
    assert code == 1
    assert {d["subject"] for d in stale} == {"milady_metallib"}
    assert len(stale) == 4  # the library, and three slices of the framework
    assert all("older build" in d["cause"] for d in stale)

    shutil.rmtree(framework)
    shutil.copytree(old, framework)
    code, found = shaderpack(mine, "audit")
    assert code == 1
    assert {d["code"] for d in found} == {"SP4008"}
    assert any("Milady.xcframework/ios-arm64/libMilady.a" in d["message"] for d in found)


def test_a_stripped_image_is_known_by_its_bytes(tree: Path, tmp_path: Path) -> None:
    lld(tree, tmp_path)
    run(llvm_tool("llvm-strip"), "-x", "app.dylib", cwd=tmp_path)
    code, found = shaderpack(tree, "audit", "--image", str(tmp_path / "app.dylib"))
    assert (code, {d["code"] for d in found}) == (0, {"SP4052"})


def test_an_edited_payload_is_no_build_of_ours(tree: Path, tmp_path: Path) -> None:
    lld(tree, tmp_path)
    data = (tmp_path / "app.dylib").read_bytes()
    payload = (out(tree) / "ios/default.metallib").read_bytes()
    edited = payload[:-1] + bytes([payload[-1] ^ 1])
    (tmp_path / "app.dylib").write_bytes(data.replace(payload, edited))
    code, found = shaderpack(tree, "audit", "--image", str(tmp_path / "app.dylib"))
    (stale,) = [d for d in found if d["code"] == "SP4049"]
    assert code == 1
    assert "none that a build" in stale["cause"]


def test_an_image_without_the_pack_is_an_error(tree: Path) -> None:
    code, found = shaderpack(tree, "audit", "--image", sys.executable)
    assert (code, [d["code"] for d in found if d["severity"] == "error"]) == (1, ["SP4051"])


def test_another_packs_payload_is_named_foreign(tree: Path, tmp_path: Path) -> None:
    from shaderc_tool.emit.objects import write_object
    from shaderc_tool.emit.payload import Payload
    from shaderc_tool.emit.targets import ObjectTarget

    text = b"#include <metal_stdlib>\nkernel void kernel_theirs() {}\n"
    other = write_object(ObjectTarget("iphoneos", "arm64", "17.0"), [Payload("other_source", text, "o.msl")])
    (tmp_path / "other.o").write_bytes(other)
    flags = ["-dylib", "-arch", "arm64", "-platform_version", "ios", "17.0", "18.0", "-all_load"]
    run(llvm_tool("ld64.lld"), *flags, "other.o", out(tree) / "ios/embed/milady_metallib-arm64.o", cwd=tmp_path)
    code, found = shaderpack(tree, "audit", "--image", str(tmp_path / "a.out"))
    assert code == 0
    assert {d["code"]: d["message"].rpartition(": ")[2] for d in found} == {
        "SP4050": "other_source",
        "SP4052": "milady_metallib",
    }


# --- Xcode


def test_the_xcode_phase_makes_what_its_lists_say(tree: Path, tmp_path: Path) -> None:
    phase = out(tree) / "xcode"
    program = tmp_path / "shaderpack"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m shaderc_tool "$@"\n')
    program.chmod(0o755)
    settings = {
        "SHADERPACK": str(program),
        "SHADERPACK_ROOT": str(tree),
        "SHADERPACK_OUT": str(tree / "build"),
        "DERIVED_FILE_DIR": str(tmp_path / "derived é"),
        "SHADERPACK_CACHE": os.environ.get("SHADERPACK_CACHE", str(tree / "cache")),
    }

    def listed(name: str) -> list[Path]:
        text = (phase / name).read_text()
        for key, value in settings.items():
            text = text.replace(f"$({key})", value)
        return [Path(line) for line in text.splitlines()]

    assert all(path.is_file() for path in listed("inputs.xcfilelist"))
    used = json.loads((out(tree) / "report.json").read_text())["actions"]
    sources = {tree / file for action in used if action["kind"] == "air" for file in action["inputs"]}
    assert sources < set(listed("inputs.xcfilelist"))
    for platform, target in (("iphonesimulator", "ios-sim"), ("iphoneos", "ios")):
        environment = {**os.environ, **settings, "PLATFORM_NAME": platform}
        argv = ["sh", str(phase / "build-phase.sh")]
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        (assembler,) = listed("outputs.xcfilelist")
        run(
            *(require_tool("clang"), "-target", "arm64-apple-ios17.0", f"-I{assembler.parent}", "-c", assembler),
            *("-o", "out.o"),
            cwd=tmp_path,
        )
        assert (out(tree) / target / "default.metallib").read_bytes() in (tmp_path / "out.o").read_bytes()
    done = subprocess.run(
        argv, env={**environment, "PLATFORM_NAME": "xros"}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "error: the pack 'milady' has no embed bundle for xros" in done.stderr
