"""Rules over artifacts: hosts, slices, duplicates, devices, bundles, language versions."""

from __future__ import annotations

import plistlib
from pathlib import Path

import pytest

from shaderc_tool.audit.rules_math import check_math
from shaderc_tool.audit.rules_profile import check_profile
from shaderc_tool.diagnostics import Place
from shaderc_tool.emit.archive import Member, gnu_archive
from shaderc_tool.formats.air import AirModule
from shaderc_tool.formats.spirv import EntryPoint, Module
from shaderc_tool.manifest.model import DeviceProfile, MetalFunction, MetalUnit
from tests.audit.support import (
    IOS_LIBRARY,
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
from tests.fakes.library import library

PLACE = Place("m.yaml", 9)


# --- host binaries


def host_object(folder: Path, data: bytes, version: str, name: str = "host.o") -> Path:
    blob = write(folder, "blob.metallib", data)
    text = f".build_version {version}\n" + embedding("demo_metallib", blob, len(data), elf=False)
    return assemble(text, "arm64-apple-macos", folder, name)


@pytest.mark.parametrize(
    ("data", "version", "expected"),
    [
        (MACOS_LIBRARY, "macos, 14, 0", []),
        (MACOS_LIBRARY, "macos, 15, 0", []),
        (MACOS_LIBRARY, "macos, 13, 3", ["warning"]),
        (IOS_LIBRARY, "macos, 14, 0", ["error"]),
        (IOS_LIBRARY, "ios, 17, 0", []),
    ],
)
def test_a_library_fits_its_host(data: bytes, version: str, expected: list[str], tmp_path: Path) -> None:
    diagnostics = [d for d in audit(host_object(tmp_path, data, version)) if d.code == "SP4067"]
    assert [d.severity.word for d in diagnostics] == expected


def xcframework(folder: Path, slices: dict[str, tuple[str, str, bytes, str]]) -> Path:
    """A framework of (platform, variant, embedded library, build version) by identifier."""
    root = folder / "Demo.xcframework"
    listed = []
    for name, (platform, variant, data, version) in slices.items():
        entry = {"LibraryIdentifier": name, "LibraryPath": "libdemo.a", "SupportedPlatform": platform}
        listed.append(entry | ({"SupportedPlatformVariant": variant} if variant else {}))
        if data:
            member = Member("kernels.o", host_object(folder, data, version).read_bytes(), ())
            write(root, f"{name}/libdemo.a", gnu_archive([member]))
    write(root, "Info.plist", plistlib.dumps({"AvailableLibraries": listed}))
    return root


def test_slices_of_an_xcframework(tmp_path: Path) -> None:
    sound = {"ios-arm64": ("ios", "", IOS_LIBRARY, "ios, 17, 0")}
    root = xcframework(tmp_path, sound)
    assert audit(root, required=("kernel_add",), each=True) == []
    assert found(audit(xcframework(tmp_path, {"ios-arm64": ("tvos", "", IOS_LIBRARY, "ios, 17, 0")}))) == [
        ("SP4076", "ios-arm64")
    ]
    assert ("SP4076", "gone") in found(audit(xcframework(tmp_path, {**sound, "gone": ("ios", "", b"", "")})))
    # A slice without the kernel is not saved by the other one.
    other = library("air64-apple-macos14.0", [("kernel_other", "3.1")])
    root = xcframework(tmp_path, {**sound, "macos-arm64": ("macos", "", other, "macos, 14, 0")})
    assert missing(root, names=["kernel_add"]) == []
    assert missing(root, names=["kernel_add"], each=True) == ["kernel_add"]


# --- duplicates


def test_two_copies_of_one_object_in_an_archive(tmp_path: Path) -> None:
    blob = write(tmp_path, "blob", MODULE)
    data = assemble(embedding("demo_add", blob, len(MODULE)), "x86_64-linux-gnu", tmp_path).read_bytes()
    once, twice = (
        write(tmp_path, f"{len(names)}.a", gnu_archive([Member(name, data, ()) for name in names]))
        for names in (["a.o"], ["a.o", "b.o"])
    )
    assert audit(once) == []
    (duplicate,) = audit(twice)
    assert duplicate.code == "SP4061"
    assert "a.o, b.o all define demo_add_data, demo_add_len" in duplicate.message


def test_weak_symbols_may_be_in_many_members(tmp_path: Path) -> None:
    data = assemble(".data\n.weak inline_helper\ninline_helper: .quad 1\n", "x86_64-linux-gnu", tmp_path).read_bytes()
    archive = gnu_archive([Member("a.o", data, ()), Member("b.o", data, ())])
    assert audit(write(tmp_path, "lib.a", archive)) == []


def test_the_same_source_embedded_twice(tmp_path: Path) -> None:
    blob = write(tmp_path, "blob", SOURCE.encode())
    text = started("one_metallib", blob) + started("two_metallib", blob)
    path = assemble(text, "x86_64-linux-gnu", tmp_path)
    (duplicate,) = audit(path)
    assert (duplicate.code, duplicate.severity.word) == ("SP4061", "warning")


def test_one_name_with_different_code_in_two_libraries(tmp_path: Path) -> None:
    one = write(tmp_path, "one.metallib", MACOS_LIBRARY)
    same = write(tmp_path, "same.metallib", MACOS_LIBRARY)
    other = library("air64-apple-macos14.0", [("kernel_first", "3.1"), ("kernel_add", "3.1")])
    two = write(tmp_path, "two.metallib", other)
    assert audit(one, same) == []
    assert found(audit(one, two)) == [("SP4061", "kernel_add")]
    assert audit(one, write(tmp_path, "ios.metallib", IOS_LIBRARY)) == []


def test_one_module_under_two_names(tmp_path: Path) -> None:
    paths = [write(tmp_path, name, MODULE) for name in ("turbo3.spv", "turbo4.spv")]
    assert found(audit(*paths)) == [("SP4061", "turbo3")]


# --- devices, math mode


def module(
    *capabilities: str, extensions: tuple[str, ...] = (), size: tuple[int, int, int] | None = (32, 1, 1)
) -> Module:
    return Module(
        (1, 5), "", 9, capabilities, extensions, (EntryPoint("main", "GLCompute", size),),
        (), None, (), (), (), False, (),
    )  # fmt: skip


def test_device_profiles() -> None:
    mali = DeviceProfile("mali", PLACE, ("Shader", "StorageBuffer*"), ("SPV_KHR_16bit_storage",), "1.5", 256)
    assert not list(check_profile("k", module("Shader", "StorageBuffer16BitAccess"), mali))
    lacks = [
        module("Shader", "Float16"),
        module("Shader", extensions=("SPV_KHR_cooperative_matrix",)),
        module("Shader", size=(32, 32, 1)),
    ]
    texts = [d.message for m in lacks for d in check_profile("k", m, mali)]
    assert [text.split(" needs ")[1].split(", which")[0] for text in texts] == [
        "the capability Float16",
        "the extension SPV_KHR_cooperative_matrix",
        "1024 invocations in a work-group",
    ]
    old = DeviceProfile("old", PLACE, ("*",), ("*",), "1.3")
    assert [d.code for d in check_profile("k", module("Shader"), old)] == ["SP4068"]


@pytest.mark.parametrize(
    ("mode", "fast_math", "expected"),
    [
        ("safe", True, ["SP4071"]),
        ("relaxed", True, ["SP4071"]),
        ("fast", True, []),
        ("safe", False, []),
        ("safe", None, []),
    ],
)
def test_t22_math_mode(mode: str, fast_math: bool | None, expected: list[str]) -> None:
    function = MetalFunction("kernel_k", PLACE)
    unit = MetalUnit("k", "macos", "k.metal", PLACE, (function,), (), "speed", mode, False)
    air = AirModule(
        "", "", "macos", (14,), (2, 6), "Metal", (3, 1), (), "", fast_math, None, (), (), (), (), (), (), ()
    )  # fmt: skip
    assert [d.code for d in check_math(function, unit, air)] == expected


# --- language versions, bundles


def test_t13_a_guard_drops_a_kernel_at_one_language_version_only(tmp_path: Path) -> None:
    path = write(tmp_path, "a.metal", SOURCE.encode())
    assert audit(path, required=("kernel_bf16",), stds=("metal3.1",)) == []
    (dropped,) = audit(path, required=("kernel_bf16",), stds=("metal2.4", "metal3.1"))
    assert (dropped.code, dropped.severity.word, str(dropped.place)) == ("SP4060", "error", f"{path}:6")
    assert "metal2.4" in dropped.message
    (unsure,) = audit(path, required=("kernel_tensor",), stds=("metal3.1",))
    assert unsure.severity.word == "warning"


@pytest.mark.parametrize(
    ("ledger", "expected"),
    [
        ('{"kernels": [{"symbol": "k", "publishable": true}]}', []),
        ('{"kernels": [{"symbol": "k", "publishable": false, "why_not": ["not verified"]}]}', ["SP4074"]),
        ('{"kernels": []}', ["SP4074"]),
        ("{}", ["SP4074"]),
        ("not json", ["SP4074"]),
    ],
)
def test_a_bundle_vouches_for_itself(ledger: str, expected: list[str], tmp_path: Path) -> None:
    write(tmp_path, "bundle/default.metallib", MACOS_LIBRARY)
    write(tmp_path, "bundle/capabilities.json", ledger.encode())
    assert [d.code for d in audit(tmp_path / "bundle")] == expected


def test_forbidden_symbols(tmp_path: Path) -> None:
    path = write(tmp_path, "default.metallib", MACOS_LIBRARY)
    assert found(audit(path, forbidden=("*_debug",))) == []
    assert found(audit(path, forbidden=("kernel_m*",))) == [("SP4006", "kernel_mul")]
