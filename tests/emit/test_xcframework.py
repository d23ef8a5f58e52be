from __future__ import annotations

import plistlib
from pathlib import Path

import lief
import pytest

from shaderc_tool.emit.archive import Member, darwin_archive
from shaderc_tool.emit.objects import object_symbols, write_object
from shaderc_tool.emit.payload import Naming, Payload
from shaderc_tool.emit.targets import ObjectTarget
from shaderc_tool.emit.xcframework import LibrarySlice, xcframework
from tests.emit.support import llvm_tool, run
from tests.tools import require_tool

PAYLOADS = (Payload("demo_library", b"MTLB" + bytes(range(256)), "default.metallib"),)
HEADER = b"#pragma once\nextern const unsigned char demo_library_start[];\n"


def library_slice(platform: str, *archs: str) -> LibrarySlice:
    archives = {}
    for arch in archs:
        target = ObjectTarget(platform, arch, "17.0", "18.0")
        symbols = object_symbols(target, PAYLOADS, Naming.START_END)
        archives[arch] = darwin_archive([Member("demo.o", write_object(target, PAYLOADS), symbols)])
    return LibrarySlice(platform, archives, {"demo.h": HEADER, "a.h": b"typedef int other_t;\n"})


SLICES = (
    library_slice("iphonesimulator", "x86_64", "arm64"),
    library_slice("iphoneos", "arm64"),
    library_slice("maccatalyst", "arm64", "x86_64"),
    library_slice("watchos", "arm64", "arm64_32"),
    library_slice("xrsimulator", "arm64"),
)


def test_property_list_says_what_each_folder_holds() -> None:
    files = xcframework("Demo", SLICES)
    info = plistlib.loads(files["Info.plist"])
    assert info["CFBundlePackageType"] == "XFWK"
    assert info["XCFrameworkFormatVersion"] == "1.0"
    found = {
        entry["LibraryIdentifier"]: (
            entry["SupportedPlatform"],
            entry.get("SupportedPlatformVariant"),
            entry["SupportedArchitectures"],
        )
        for entry in info["AvailableLibraries"]
    }
    assert found == {
        "ios-arm64": ("ios", None, ["arm64"]),
        "ios-arm64_x86_64-simulator": ("ios", "simulator", ["arm64", "x86_64"]),
        "ios-arm64_x86_64-maccatalyst": ("ios", "maccatalyst", ["arm64", "x86_64"]),
        "watchos-arm64_arm64_32": ("watchos", None, ["arm64", "arm64_32"]),
        "xros-arm64-simulator": ("xros", "simulator", ["arm64"]),
    }
    for entry in info["AvailableLibraries"]:
        folder = entry["LibraryIdentifier"]
        assert f"{folder}/{entry['LibraryPath']}" in files
        assert f"{folder}/{entry['BinaryPath']}" in files
        assert files[f"{folder}/{entry['HeadersPath']}/demo.h"] == HEADER


def test_every_library_holds_the_payload_for_its_platform(tmp_path: Path) -> None:
    files = xcframework("Demo", SLICES)
    expected = {
        "ios-arm64": "IOS",
        "ios-arm64_x86_64-simulator": "IOS_SIMULATOR",
        "xros-arm64-simulator": "VISIONOS_SIMULATOR",
    }
    for folder, platform in expected.items():
        path = tmp_path / f"{folder}.a"
        path.write_bytes(files[f"{folder}/libDemo.a"])
        archs = ["arm64", "x86_64"] if "x86_64" in folder else ["arm64"]
        for arch in archs:
            thin = path
            if len(archs) > 1:
                thin = tmp_path / f"{folder}-{arch}.a"
                run(llvm_tool("llvm-lipo"), "-thin", arch, path, "-output", thin, cwd=tmp_path)
            run(llvm_tool("llvm-ar"), "x", thin, cwd=tmp_path)
            fat = lief.MachO.parse(str(tmp_path / "demo.o"))
            assert fat is not None
            binary = fat.at(0)
            assert binary is not None
            assert binary.build_version is not None
            assert binary.build_version.platform.name == platform
            assert PAYLOADS[0].data in (tmp_path / "demo.o").read_bytes()


def test_module_map_is_one_that_clang_imports(tmp_path: Path) -> None:
    files = xcframework("Demo", SLICES[:1])
    folder = "ios-arm64_x86_64-simulator/Headers/"
    for name, data in files.items():
        if name.startswith(folder):
            (tmp_path / name.removeprefix(folder)).write_bytes(data)
    (tmp_path / "main.m").write_text("@import Demo;\nother_t f(void) { return demo_library_start[0]; }\n")
    flags = ["-fmodules", "-fmodules-cache-path=cache", "-I.", "-fsyntax-only"]
    run(require_tool("clang"), *flags, "main.m", cwd=tmp_path)


def test_order_of_slices_and_headers_does_not_matter() -> None:
    turned = [LibrarySlice(s.platform, s.archives, dict(sorted(s.headers.items()))) for s in reversed(SLICES)]
    assert xcframework("Demo", SLICES) == xcframework("Demo", turned)


def test_what_no_xcframework_can_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="linux"):
        LibrarySlice("linux", {"x86_64": b""}, {})
    with pytest.raises(ValueError, match="i386"):
        LibrarySlice("iphoneos", {"i386": b""}, {})
    with pytest.raises(ValueError, match="one platform"):
        xcframework("Demo", (SLICES[0], library_slice("iphonesimulator", "arm64")))
    with pytest.raises(ValueError, match="slice"):
        xcframework("Demo", ())
    with pytest.raises(ValueError, match="identifier"):
        xcframework("De mo", SLICES)
