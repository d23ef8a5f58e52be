"""Finding, choosing and refusing Vulkan devices; failures end in a diagnostic and the right exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from shaderc_tool.diagnostics import ShaderpackError, ToolMissingError
from shaderc_tool.verify import vulkan_loader
from shaderc_tool.verify.backend import Binding, DeviceInfo, Dispatch
from shaderc_tool.verify.vulkan_device import VulkanDevice, devices, open_device
from shaderc_tool.verify.vulkan_loader import Limits, PhysicalDevice
from tests.verify.vulkan_kernels import ROOT

LIMITS = Limits((65535, 65535, 65535), 128, 1 << 27, 1.0)


def _physical(index: int, name: str, kind: str) -> PhysicalDevice:
    return PhysicalDevice(None, DeviceInfo(index, name, kind, "driver 1", "1.3.0"), LIMITS)


MACHINE = [
    _physical(0, "llvmpipe (LLVM 15)", "cpu"),
    _physical(1, "Graphics 770", "integrated"),
    _physical(2, "Big GPU A", "discrete"),
    _physical(3, "Big GPU B", "discrete"),
]


@pytest.mark.parametrize(
    ("selector", "index"), [(None, 2), ("0", 0), ("LLVMPIPE", 0), ("gpu b", 3), ("3", 3), ("770", None)]
)
def test_selection(selector: str | None, index: int | None) -> None:
    if index is None:
        with pytest.raises(ToolMissingError, match="no Vulkan device matches"):
            vulkan_loader.select(MACHINE, selector)
    else:
        assert vulkan_loader.select(MACHINE, selector).info.index == index


def test_software_is_the_last_choice() -> None:
    assert vulkan_loader.select(MACHINE[:2], None).info.kind == "integrated"
    assert vulkan_loader.select(MACHINE[:1], None).info.software


def test_devices_are_described(device: VulkanDevice) -> None:
    assert device.info in devices()
    assert device.info.name
    assert device.info.driver
    assert device.info.api_version.startswith("1.")
    if "llvmpipe" in device.info.name:
        assert device.info.software
        assert "software" in str(device.info)


def test_unknown_device_lists_the_known_ones(device: VulkanDevice) -> None:
    with pytest.raises(ToolMissingError) as caught, open_device("no such device"):
        pass
    assert caught.value.diagnostics[0].code == "SP2032"
    assert device.info.name in caught.value.diagnostics[0].fix


RUN = """
import sys
{setup}
from shaderc_tool.diagnostics import ShaderpackError
from shaderc_tool.verify.vulkan_device import open_device
try:
    with open_device():
        print("opened")
except ShaderpackError as error:
    print(error.diagnostics[0].code, error.diagnostics[0].fix)
    sys.exit(error.exit_code)
"""

# The binding looks for the loader through its ffi object, by three names; here none of them can be opened.
NO_LOADER = """
import types
class Ffi:
    CData = object
    def dlopen(self, name):
        raise OSError("cannot open " + name)
stub = types.ModuleType("vulkan._vulkancache")
stub.ffi = Ffi()
sys.modules[stub.__name__] = stub
"""
NO_BINDING = "sys.modules['vulkan'] = None"


def _child(setup: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", RUN.format(setup=setup)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("setup", "text"),
    [(NO_LOADER, "libvulkan1" if sys.platform == "linux" else "install"), (NO_BINDING, "pip install")],
)
def test_no_loader_or_binding_exits_3(setup: str, text: str) -> None:
    done = _child(setup)
    assert done.returncode == 3, done.stderr
    assert done.stdout.startswith("SP2031 ")
    assert text in done.stdout


def test_no_driver_exits_3(device: VulkanDevice) -> None:
    done = _child(VK_ICD_FILENAMES="/nonexistent.json", VK_DRIVER_FILES="/nonexistent.json")
    assert done.returncode == 3, done.stderr
    assert done.stdout.startswith("SP2032 install a Vulkan driver")


def test_no_driver_is_no_device(monkeypatch: pytest.MonkeyPatch, device: VulkanDevice) -> None:
    monkeypatch.setenv("VK_ICD_FILENAMES", "/nonexistent.json")
    monkeypatch.setenv("VK_DRIVER_FILES", "/nonexistent.json")
    assert devices() == []


def _dispatch(**change: object) -> Dispatch:
    plain = Dispatch(b"", "main", (Binding(0, b"\0" * 8),), b"", (1, 1, 1))
    return replace(plain, **change)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"groups": (1, 2**32 - 1, 1)}, "work-groups in y"),
        ({"constants": b"\0" * 4096}, "bytes of push constants"),
    ],
)
def test_limits(change: dict[str, object], text: str, device: VulkanDevice) -> None:
    with pytest.raises(ShaderpackError) as caught:
        device.run(_dispatch(**change))
    assert caught.value.diagnostics[0].code == "SP5004"
    assert text in caught.value.diagnostics[0].cause


@pytest.mark.parametrize("binary", [b"", b"not SPIR-V at all, but long enough"[:32], b"\3\2\x23\7" * 5 + b"\0"])
def test_other_bytes_than_spirv(binary: bytes, device: VulkanDevice) -> None:
    with pytest.raises(ShaderpackError, match="not a SPIR-V module") as caught:
        device.run(_dispatch(binary=binary))
    assert caught.value.diagnostics[0].code == "SP5005"
