"""SP4067: an embedded Metal library against its image. SP4076: xcframework slices against their Info.plist."""

from __future__ import annotations

import plistlib
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any
from xml.parsers.expat import ExpatError

from shaderc_tool.audit.artifacts import Description
from shaderc_tool.audit.kernels import dotted
from shaderc_tool.diagnostics import Diagnostic, Place, Severity
from shaderc_tool.formats.metallib_profiles import platform


def check_host(description: Description) -> Iterator[Diagnostic]:
    """Platform (error) and deployment target (warning: the program may ask for the version first) of each library."""
    for part in description.walk():
        for report in part.libraries if part.platform else ():
            library = report.library
            if not library.platform:
                continue
            slug = _slug(library.platform)
            where = report.where or f"byte {report.offset:#x}"
            if slug != part.platform:
                yield Diagnostic(
                    "SP4067",
                    f"{part.name}: the library in {where} is for {library.os_name}, the image is for {part.platform}",
                    Place(description.name),
                    cause="a library of another target was linked in",
                    fix=f"compile the shaders for {part.platform}",
                    subject=part.name,
                )
            elif library.os_version > part.min_os:
                yield Diagnostic(
                    "SP4067",
                    f"{part.name}: the library in {where} needs {library.os_name}, "
                    f"the image runs from {dotted(part.min_os)} on",
                    Place(description.name),
                    cause="older systems load the image and refuse the library",
                    fix=f"compile the shaders with a deployment target of {dotted(part.min_os)}, or raise the image's",
                    subject=part.name,
                    severity=Severity.WARNING,
                )


def check_slices(description: Description, info_plist: bytes) -> Iterator[Diagnostic]:
    """Every slice that the Info.plist lists is there, and its binaries and libraries are for the platform it names."""
    for slice_ in _slices(info_plist):
        folder = str(slice_.get("LibraryIdentifier", ""))
        declared = _declared(slice_)
        parts = [part for part in description.walk() if folder in PurePath(part.name.partition("(")[0]).parts]
        if not parts:
            yield _slice(description, folder, "the Info.plist lists it, the folder is not there")
            continue
        found = {part.platform for part in parts if part.platform}
        found |= {_slug(r.library.platform) for part in parts for r in part.libraries if r.library.platform}
        for wrong in sorted(found - {declared}):
            yield _slice(description, folder, f"the Info.plist says {declared}, it holds code for {wrong}")


def _slices(info_plist: bytes) -> list[Mapping[str, Any]]:
    try:
        listed = plistlib.loads(info_plist).get("AvailableLibraries", [])
    except (plistlib.InvalidFileException, ExpatError, ValueError, AttributeError, TypeError, OverflowError):
        return []
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


def _declared(slice_: Mapping[str, Any]) -> str:
    name, variant = str(slice_.get("SupportedPlatform", "")), str(slice_.get("SupportedPlatformVariant", ""))
    if variant == "maccatalyst":
        return "mac-catalyst"
    name = "visionos" if name == "xros" else name
    return f"{name}-{variant}" if variant else name


def _slug(number: int) -> str:
    try:
        return platform(number).slug
    except ValueError:
        return f"platform {number}"


def _slice(description: Description, folder: str, why: str) -> Diagnostic:
    return Diagnostic(
        "SP4076",
        f"{description.name}: slice {folder} does not fit: {why}",
        Place(description.name),
        cause=why,
        fix="make the xcframework again from libraries of the platforms that it lists",
        subject=folder,
    )
