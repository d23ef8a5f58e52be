"""The Vulkan loader through the `vulkan` binding: instance, devices and their properties.

The binding opens the loader while it is imported and raises OSError when there is none, so it is imported on use.
It keeps no reference to structures nested in others: every structure passed on is held in a variable.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from shaderc_tool.diagnostics import Diagnostic, ToolMissingError
from shaderc_tool.verify.backend import DeviceInfo

_KINDS: Final = {1: "integrated", 2: "discrete", 3: "virtual", 4: "cpu"}
_PREFERENCE: Final = ("discrete", "integrated", "virtual", "cpu", "other")
_PORTABILITY_ENUMERATION: Final = "VK_KHR_portability_enumeration"
_ENUMERATE_PORTABILITY_BIT: Final = 1
_API_1_2: Final = (1 << 22) | (2 << 12)


def binding() -> Any:
    """The `vulkan` module. Raises ToolMissingError SP2031 without it or without a Vulkan loader."""
    try:
        return importlib.import_module("vulkan")
    except ModuleNotFoundError as error:
        if error.name != "vulkan":
            raise
        raise ToolMissingError(
            Diagnostic("SP2031", "the Python package vulkan is not installed", fix="pip install 'shaderpack[verify]'")
        ) from error
    except OSError as error:
        raise ToolMissingError(
            Diagnostic(
                "SP2031", "no Vulkan loader on this machine", cause="libvulkan cannot be opened", fix=_loader_fix()
            )
        ) from error


def _loader_fix() -> str:
    if sys.platform == "win32":
        return "install a graphics driver, or the Vulkan runtime for a software device"
    if sys.platform == "darwin":
        return "brew install vulkan-loader molten-vk"
    return "apt-get install libvulkan1 mesa-vulkan-drivers (the latter brings lavapipe, a software device)"


def _no_device(message: str, cause: str = "") -> ToolMissingError:
    fix = "install a Vulkan driver; mesa-vulkan-drivers brings lavapipe, a software device that needs no GPU"
    return ToolMissingError(Diagnostic("SP2032", message, cause=cause, fix=fix))


@dataclass(frozen=True)
class Limits:
    """The device limits that a dispatch has to keep. `timestamp_ns` is the duration of one timestamp tick."""

    max_groups: tuple[int, int, int]
    push_constant_bytes: int
    storage_buffer_bytes: int
    timestamp_ns: float


@dataclass(frozen=True)
class PhysicalDevice:
    """A device with its Vulkan handle, valid as long as its instance."""

    handle: Any
    info: DeviceInfo
    limits: Limits


@contextmanager
def instance() -> Iterator[Any]:
    """A Vulkan 1.2 instance. Raises ToolMissingError SP2031 (no loader) or SP2032 (no driver)."""
    vk = binding()
    extensions = [e.extensionName for e in vk.vkEnumerateInstanceExtensionProperties(None)]
    # Drivers that layer Vulkan on another API stay hidden unless asked for.
    portability = [_PORTABILITY_ENUMERATION] if _PORTABILITY_ENUMERATION in extensions else []
    application = vk.VkApplicationInfo(pApplicationName="shaderpack", apiVersion=_API_1_2)
    create = vk.VkInstanceCreateInfo(
        pApplicationInfo=application,
        flags=_ENUMERATE_PORTABILITY_BIT if portability else 0,
        enabledExtensionCount=len(portability),
        ppEnabledExtensionNames=portability,
    )
    try:
        handle = vk.vkCreateInstance(create, None)
    except (vk.VkError, vk.VkException) as error:
        raise _no_device("no Vulkan driver on this machine", type(error).__name__) from error
    try:
        yield handle
    finally:
        vk.vkDestroyInstance(handle, None)


def physical_devices(handle: Any) -> list[PhysicalDevice]:
    """The devices of an instance that can run compute shaders, in the driver's order."""
    vk = binding()
    try:
        found = vk.vkEnumeratePhysicalDevices(handle)
    except (vk.VkError, vk.VkException):
        return []
    devices = [_describe(vk, device, index) for index, device in enumerate(found)]
    return [device for device in devices if compute_family(device.handle) is not None]


def devices() -> list[DeviceInfo]:
    """What runs compute shaders here, without keeping anything open. Empty when there is a loader but no driver."""
    try:
        with instance() as handle:
            return [device.info for device in physical_devices(handle)]
    except ToolMissingError as error:
        if error.diagnostics[0].code == "SP2032":
            return []
        raise


def select(found: list[PhysicalDevice], selector: str | None) -> PhysicalDevice:
    """The device that `selector` names: its index or a part of its name; None takes the best kind.

    Raises ToolMissingError SP2032 when there is no such device.
    """
    if not found:
        raise _no_device("no Vulkan device can run compute shaders")
    if selector is None:
        return min(found, key=lambda device: _PREFERENCE.index(device.info.kind))
    for device in found:
        by_index = selector.isdecimal() and int(selector) == device.info.index
        if by_index or (not selector.isdecimal() and selector.lower() in device.info.name.lower()):
            return device
    names = ", ".join(f"{d.info.index}: {d.info.name}" for d in found)
    raise ToolMissingError(Diagnostic("SP2032", f"no Vulkan device matches {selector!r}", fix=f"choose one of {names}"))


def compute_family(device: Any) -> tuple[int, int] | None:
    """Queue family for compute and its timestamp bits: one that also does graphics, the family drivers serve best."""
    vk = binding()
    families = vk.vkGetPhysicalDeviceQueueFamilyProperties(device)
    able = [i for i, family in enumerate(families) if family.queueFlags & vk.VK_QUEUE_COMPUTE_BIT]
    if not able:
        return None
    best = max(able, key=lambda i: bool(families[i].queueFlags & vk.VK_QUEUE_GRAPHICS_BIT))
    return best, families[best].timestampValidBits


def _describe(vk: Any, device: Any, index: int) -> PhysicalDevice:
    properties = vk.vkGetPhysicalDeviceProperties(device)
    info = DeviceInfo(
        index=index,
        name=properties.deviceName,
        kind=_KINDS.get(properties.deviceType, "other"),
        driver=_driver(vk, device, properties),
        api_version=_version(properties.apiVersion),
    )
    raw = properties.limits
    x, y, z = raw.maxComputeWorkGroupCount
    limits = Limits(
        max_groups=(x, y, z),
        push_constant_bytes=raw.maxPushConstantsSize,
        storage_buffer_bytes=raw.maxStorageBufferRange,
        timestamp_ns=raw.timestampPeriod,
    )
    return PhysicalDevice(device, info, limits)


def _driver(vk: Any, device: Any, properties: Any) -> str:
    if properties.apiVersion < _API_1_2:
        return f"driver {properties.driverVersion:#x}"
    driver = vk.VkPhysicalDeviceDriverProperties()
    both = vk.VkPhysicalDeviceProperties2(pNext=driver)
    vk.vkGetPhysicalDeviceProperties2(device, both)
    name, version = (vk.ffi.string(text).decode("utf-8", "replace") for text in (driver.driverName, driver.driverInfo))
    return f"{name} {version}".strip()


def _version(packed: int) -> str:
    return f"{packed >> 22 & 0x7F}.{packed >> 12 & 0x3FF}.{packed & 0xFFF}"
