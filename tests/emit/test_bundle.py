"""Embed bundles from end to end: what `<target>/embed/` and the xcframework hold, and that two packs link into one."""

from __future__ import annotations

import plistlib
import subprocess
import sys
from pathlib import Path

import lief
import pytest

from shaderc_tool.emit.bundle import EmbedTarget, embed_bundle, embed_xcframework
from shaderc_tool.emit.loader import MetalBundle
from shaderc_tool.emit.payload import Payload, prefixed
from tests.emit.support import llvm_tool, run
from tests.tools import require_tool

DEVICE = EmbedTarget("iphoneos", "17.0", "18.2")
SIMULATOR = EmbedTarget("iphonesimulator", "17.0")


def bundle(pack: str, filler: bytes = b"device") -> MetalBundle:
    payload = Payload(prefixed(pack, "metallib"), b"MTLB" + 100 * filler, "../default.metallib")
    return MetalBundle(pack, payload, ("kernel_a",))


def write(files: dict[str, bytes], folder: Path) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def test_names_of_the_files() -> None:
    assert set(embed_bundle(bundle("milady"), SIMULATOR)) == {
        "milady_metallib.S",
        "milady_metallib.S.d",
        "milady_metallib-arm64.o",
        "milady_metallib-x86_64.o",
        "libmilady_metallib.a",
        "milady_metal.h",
        "milady_metal.m",
        "MiladyMetal.swift",
    }


def test_assembled_text_and_written_object_agree(tmp_path: Path) -> None:
    """The two ways to the same object give the same section and the same symbols in it."""
    made = bundle("milady")
    write({f"embed/{n}": d for n, d in embed_bundle(made, DEVICE).items()}, tmp_path)
    (tmp_path / "default.metallib").write_bytes(made.payload.data)
    flags = ["-target", "arm64-apple-ios17.0", "-Iembed", "-c"]
    run(require_tool("clang"), *flags, "embed/milady_metallib.S", "-o", "assembled.o", cwd=tmp_path)
    found = []
    for name in ("assembled.o", "embed/milady_metallib-arm64.o"):
        fat = lief.MachO.parse(str(tmp_path / name))
        assert fat is not None
        binary = fat.at(0)
        assert binary is not None
        section = next(s for s in binary.sections if s.name == "__const")
        symbols = {
            str(s.name): s.value - section.virtual_address for s in binary.symbols if str(s.name).startswith("_")
        }
        assert binary.build_version is not None
        version = binary.build_version
        found.append((bytes(section.content), section.alignment, symbols, version.platform, list(version.minos)))
    assert found[0] == found[1]


@pytest.mark.parametrize("private", [False, True])
def test_two_packs_link_into_one_image(private: bool, tmp_path: Path) -> None:
    """With `-all_load` every member is linked: a clash of symbols would be an error."""
    target = EmbedTarget("iphoneos", "17.0", "18.2", private_extern=private)
    for pack in ("milady", "other"):
        write(embed_bundle(bundle(pack, pack.encode()), target), tmp_path)
    libraries = ["libmilady_metallib.a", "libother_metallib.a"]
    flags = ["-dylib", "-arch", "arm64", "-platform_version", "ios", "17.0", "18.2", "-all_load"]
    run(llvm_tool("ld64.lld"), *flags, "-o", "app.dylib", *libraries, cwd=tmp_path)
    fat = lief.MachO.parse(str(tmp_path / "app.dylib"))
    assert fat is not None
    binary = fat.at(0)
    assert binary is not None
    exported = {str(s.name) for s in binary.exported_symbols}
    assert ({"_milady_metallib_start", "_other_metallib_start"} <= exported) is not private
    image = (tmp_path / "app.dylib").read_bytes()
    assert bundle("milady", b"milady").payload.data in image
    assert bundle("other", b"other").payload.data in image


def test_zig_links_an_ios_library(tmp_path: Path) -> None:
    """The linker that comes with a wheel: no Apple SDK and no LLVM package."""
    pytest.importorskip("ziglang")
    write(embed_bundle(bundle("milady"), DEVICE), tmp_path)
    argv = [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-ios.17.0", "-shared", "-nostdlib"]
    argv += ["-Wl,-undefined,dynamic_lookup", "milady_metallib-arm64.o", "-o", "libapp.dylib"]
    result = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert bundle("milady").payload.data in (tmp_path / "libapp.dylib").read_bytes()


def test_each_slice_has_its_own_payload_and_digest() -> None:
    device, simulator = bundle("milady"), bundle("milady", b"simulator")
    files = embed_xcframework("Milady", [(device, DEVICE), (simulator, SIMULATOR)])
    info = plistlib.loads(files["Info.plist"])
    folders = {entry["LibraryIdentifier"]: entry for entry in info["AvailableLibraries"]}
    assert set(folders) == {"ios-arm64", "ios-arm64_x86_64-simulator"}
    for folder, made in (("ios-arm64", device), ("ios-arm64_x86_64-simulator", simulator)):
        assert made.payload.data in files[f"{folder}/libMilady.a"]
        assert made.payload.digest.encode() in files[f"{folder}/Headers/milady_metal.h"]
        assert b'header "milady_metal.h"' in files[f"{folder}/Headers/module.modulemap"]


def test_bundles_are_the_same_in_every_process(tmp_path: Path) -> None:
    """Another process, another hash seed, another working directory."""
    code = (
        "import hashlib\n"
        "from tests.emit.test_bundle import *\n"
        "files = embed_bundle(bundle('milady'), SIMULATOR) | embed_xcframework('M', [(bundle('milady'), DEVICE)])\n"
        "print(hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest())\n"
    )
    root = str(Path(__file__).parents[2])
    digests = set()
    for seed in ("1", "2"):
        environment = {"PYTHONPATH": root, "PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
        argv = [sys.executable, "-c", code]
        digests.add(subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, check=True).stdout)
    assert len(digests) == 1
