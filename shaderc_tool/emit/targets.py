"""Where an object file is to be linked: platform, architecture, lowest OS and SDK."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Platform:
    """One platform in the terms of each consumer.

    `macho` is the number in LC_BUILD_VERSION (0: not Mach-O), `triple` the vendor and OS part of an LLVM
    target triple, `family` and `variant` what the Info.plist of an xcframework calls it. `triple` stands for
    the object format and the symbol rules only: platform and versions are stamped into the object afterwards.
    """

    macho: int
    triple: str
    archs: tuple[str, ...]
    family: str = ""
    variant: str = ""


# LLVM 15 knows no visionOS; the iOS triple gives the same object but for the platform number.
PLATFORMS: Final[dict[str, Platform]] = {
    # Apple's by the manifest's `sdk`.
    "macosx": Platform(1, "apple-macosx13.0", ("arm64", "x86_64"), "macos"),
    "iphoneos": Platform(2, "apple-ios15.0", ("arm64",), "ios"),
    "iphonesimulator": Platform(7, "apple-ios15.0-simulator", ("arm64", "x86_64"), "ios", "simulator"),
    "maccatalyst": Platform(6, "apple-ios15.0-macabi", ("arm64", "x86_64"), "ios", "maccatalyst"),
    "appletvos": Platform(3, "apple-tvos15.0", ("arm64",), "tvos"),
    "appletvsimulator": Platform(8, "apple-tvos15.0-simulator", ("arm64", "x86_64"), "tvos", "simulator"),
    "watchos": Platform(4, "apple-watchos9.0", ("arm64", "arm64_32"), "watchos"),
    "watchsimulator": Platform(9, "apple-watchos9.0-simulator", ("arm64", "x86_64"), "watchos", "simulator"),
    "xros": Platform(11, "apple-ios15.0", ("arm64",), "xros"),
    "xrsimulator": Platform(12, "apple-ios15.0-simulator", ("arm64", "x86_64"), "xros", "simulator"),
    "linux": Platform(0, "unknown-linux-gnu", ("x86_64", "arm64")),
    "windows": Platform(0, "pc-windows-msvc", ("x86_64", "arm64")),
}


def packed_version(text: str) -> int:
    """`major[.minor[.patch]]` as LC_BUILD_VERSION stores it: 16, 8 and 8 bits. Raises ValueError."""
    parts = text.split(".")
    if not 1 <= len(parts) <= 3 or not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(f"not a version: {text!r}")
    major, minor, patch = (*map(int, parts), 0, 0)[:3]
    if major > 0xFFFF or minor > 0xFF or patch > 0xFF:
        raise ValueError(f"version out of range: {text!r}")
    return major << 16 | minor << 8 | patch


@dataclass(frozen=True)
class ObjectTarget:
    """A target for `write_object`: a key of `PLATFORMS`, and for Apple's the lowest OS and the SDK, such as "17.0".

    The SDK may be left out: LC_BUILD_VERSION then says so with a zero, as an assembler without an SDK does. Raises
    ValueError for an unknown platform, an architecture that the platform never had, or a bad version.
    """

    platform: str
    arch: str
    min_os: str = ""
    sdk: str = ""

    def __post_init__(self) -> None:
        if self.platform not in PLATFORMS:
            raise ValueError(f"unknown platform {self.platform!r}; known: {', '.join(PLATFORMS)}")
        if self.arch not in self.facts.archs:
            raise ValueError(f"{self.platform} has no {self.arch}; known: {', '.join(self.facts.archs)}")
        if self.facts.macho:
            packed_version(self.min_os)
            packed_version(self.sdk or "0")

    @property
    def facts(self) -> Platform:
        return PLATFORMS[self.platform]

    @property
    def is_apple(self) -> bool:
        return self.facts.macho != 0
