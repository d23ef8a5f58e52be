"""SP4068: what a SPIR-V module needs against what a device has."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from math import prod

from shaderc_tool.diagnostics import Diagnostic
from shaderc_tool.formats.spirv import Module
from shaderc_tool.manifest.model import DeviceProfile


def check_profile(symbol: str, module: Module, profile: DeviceProfile) -> Iterator[Diagnostic]:
    """One error for each capability, extension, version or work-group size that the profile lacks."""
    for name in module.capabilities:
        if not _listed(name, profile.capabilities):
            yield _lack(symbol, profile, f"the capability {name}")
    for name in module.extensions:
        if not _listed(name, profile.extensions):
            yield _lack(symbol, profile, f"the extension {name}")
    if profile.spirv and module.version > _version(profile.spirv):
        yield _lack(symbol, profile, f"SPIR-V {module.version[0]}.{module.version[1]}")
    for entry in module.entry_points:
        size = prod(entry.local_size) if entry.local_size else 0
        if profile.invocations and size > profile.invocations:
            yield _lack(symbol, profile, f"{size} invocations in a work-group")


def _listed(name: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def _version(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)


def _lack(symbol: str, profile: DeviceProfile, what: str) -> Diagnostic:
    return Diagnostic(
        "SP4068",
        f"{symbol} needs {what}, which {profile.name} does not have",
        profile.place,
        cause="creating the pipeline fails on that device",
        fix="write the shader without it, leave the target out of the profile, or correct the profile",
        subject=symbol,
    )
