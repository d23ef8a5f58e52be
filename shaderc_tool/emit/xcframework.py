"""An xcframework of static libraries: one folder for each platform, a property list, headers and a module
map.
"""

from __future__ import annotations

import plistlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from shaderc_tool.emit.archive import universal
from shaderc_tool.emit.payload import require_identifier
from shaderc_tool.emit.targets import PLATFORMS


@dataclass(frozen=True)
class LibrarySlice:
    """The library of one platform: an archive for each architecture, and its headers by file name.

    Device and simulator are two slices even where the architecture is the same. Raises ValueError for a
    platform that no xcframework can hold and for an architecture that the platform does not have.
    """

    platform: str
    archives: Mapping[str, bytes]
    headers: Mapping[str, bytes]

    def __post_init__(self) -> None:
        facts = PLATFORMS.get(self.platform)
        if facts is None or not facts.family:
            raise ValueError(f"no xcframework slice for platform {self.platform!r}")
        unknown = set(self.archives) - set(facts.archs)
        if unknown or not self.archives:
            raise ValueError(f"{self.platform}: architectures {sorted(unknown)} do not fit {facts.archs}")

    @property
    def identifier(self) -> str:
        """The folder, named as Xcode does: `ios-arm64_x86_64-simulator`."""
        facts = PLATFORMS[self.platform]
        parts = [facts.family, "_".join(sorted(self.archives)), *filter(None, [facts.variant])]
        return "-".join(parts)

    @property
    def library(self) -> bytes:
        """The archive itself, or a universal file when there is more than one architecture."""
        if len(self.archives) == 1:
            return next(iter(self.archives.values()))
        return universal(self.archives)


def xcframework(name: str, slices: Iterable[LibrarySlice]) -> dict[str, bytes]:
    """The files of `<name>.xcframework`, by path inside it. The C module `name` holds all headers of the slice.

    Raises ValueError for a name that is no identifier, for no slice, and for two slices of one platform.
    """
    require_identifier(name)
    ordered = sorted(slices, key=lambda item: item.identifier)
    if not ordered:
        raise ValueError("an xcframework needs a slice")
    if len({item.platform for item in ordered}) != len(ordered):
        raise ValueError("two slices of an xcframework are for one platform")
    library = f"lib{name}.a"
    files = {"Info.plist": _info(ordered, library)}
    for item in ordered:
        files[f"{item.identifier}/{library}"] = item.library
        files[f"{item.identifier}/Headers/module.modulemap"] = _module_map(name, item.headers)
        files |= {f"{item.identifier}/Headers/{header}": text for header, text in item.headers.items()}
    return files


def _info(slices: list[LibrarySlice], library: str) -> bytes:
    entries: list[dict[str, Any]] = []
    for item in slices:
        facts = PLATFORMS[item.platform]
        entry: dict[str, Any] = {
            "BinaryPath": library,
            "HeadersPath": "Headers",
            "LibraryIdentifier": item.identifier,
            "LibraryPath": library,
            "SupportedArchitectures": sorted(item.archives),
            "SupportedPlatform": facts.family,
        }
        if facts.variant:
            entry["SupportedPlatformVariant"] = facts.variant
        entries.append(entry)
    document = {
        "AvailableLibraries": entries,
        "CFBundlePackageType": "XFWK",
        "XCFrameworkFormatVersion": "1.0",
    }
    return plistlib.dumps(document, sort_keys=True)


def _module_map(name: str, headers: Mapping[str, bytes]) -> bytes:
    lines = "".join(f'    header "{header}"\n' for header in sorted(headers))
    return f"module {name} {{\n{lines}    export *\n}}\n".encode()
