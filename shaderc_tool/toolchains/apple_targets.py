"""Apple targets: one value that every stage uses, from the compiler's command line to the check of its output.

Sources: Metal Shading Language Specification, section 1.6.10 (`-std` and operating systems); the platform numbers of
<mach-o/loader.h>, which the metallib header repeats (metal-facts.md, section 2).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

Version = tuple[int, int, int]

_VERSION = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?")
_STD = re.compile(r"metal(\d+)\.(\d+)")


def parse_version(text: str) -> Version:
    """`"14"`, `"14.0"`, `"10.15.4"` as three numbers. Raises ValueError for anything else."""
    match = _VERSION.fullmatch(text)
    if match is None:
        raise ValueError(f"not a version: {text!r}")
    major, minor, patch = (int(part or 0) for part in match.groups())
    return major, minor, patch


def show_version(version: Version) -> str:
    """`14.0`, `10.15.4`: the third number only when it says something."""
    return ".".join(map(str, version if version[2] else version[:2]))


@dataclass(frozen=True)
class Platform:
    """What an SDK means: `sdk` for xcrun, `os` and `environment` for the triple, `number` in a Mach-O file.

    `dialect` is the prefix of `-std` before Metal 3.0; `label` is the platform's name for people.
    """

    sdk: str
    os: str
    environment: str
    number: int
    dialect: str
    label: str


PLATFORMS: Final[dict[str, Platform]] = {
    "macosx": Platform("macosx", "macos", "", 1, "macos", "macOS"),
    "iphoneos": Platform("iphoneos", "ios", "", 2, "ios", "iOS"),
    "iphonesimulator": Platform("iphonesimulator", "ios", "simulator", 7, "ios", "iOS simulator"),
    "appletvos": Platform("appletvos", "tvos", "", 3, "ios", "tvOS"),
    "appletvsimulator": Platform("appletvsimulator", "tvos", "simulator", 8, "ios", "tvOS simulator"),
    "watchos": Platform("watchos", "watchos", "", 4, "ios", "watchOS"),
    "xros": Platform("xros", "xros", "", 11, "ios", "visionOS"),
    "xrsimulator": Platform("xrsimulator", "xros", "simulator", 12, "ios", "visionOS simulator"),
    # Catalyst has no SDK of its own; its versions are those of iOS.
    "maccatalyst": Platform("macosx", "ios", "macabi", 6, "ios", "Mac Catalyst"),
}
"""By the manifest's `sdk`."""

PLATFORM_NAMES: Final[dict[int, str]] = {
    **{platform.number: platform.label for platform in PLATFORMS.values()},
    5: "bridgeOS",
    9: "watchOS simulator",
    10: "DriverKit",
}
"""Names of the Mach-O platform numbers."""

LANGUAGES: Final[dict[tuple[int, int], tuple[Version, Version]]] = {
    (1, 1): ((10, 11, 0), (9, 0, 0)),
    (1, 2): ((10, 12, 0), (10, 0, 0)),
    (2, 0): ((10, 13, 0), (11, 0, 0)),
    (2, 1): ((10, 14, 0), (12, 0, 0)),
    (2, 2): ((10, 15, 0), (13, 0, 0)),
    (2, 3): ((11, 0, 0), (14, 0, 0)),
    (2, 4): ((12, 0, 0), (15, 0, 0)),
    (3, 0): ((13, 0, 0), (16, 0, 0)),
    (3, 1): ((14, 0, 0), (17, 0, 0)),
    (3, 2): ((15, 0, 0), (18, 0, 0)),
    (4, 0): ((26, 0, 0), (26, 0, 0)),
    (4, 1): ((27, 0, 0), (27, 0, 0)),
}
"""The first macOS and the first iOS that load each Metal language version."""

UNIFIED_MAJOR: Final = 26
"""The year in which all of Apple's systems took one version number."""


@dataclass(frozen=True)
class AppleTarget:
    """What to build for. `sdk` is a key of PLATFORMS, `min_os` the deployment target, `std` such as `metal3.1`.

    For Mac Catalyst `min_os` is the iOS version, as in every `-macabi` triple. Raises ValueError when a field is not
    of its form, KeyError for an SDK that is not known.
    """

    sdk: str
    min_os: str
    std: str

    def __post_init__(self) -> None:
        _ = self.platform, self.min_version, self.language

    @property
    def platform(self) -> Platform:
        return PLATFORMS[self.sdk]

    @property
    def min_version(self) -> Version:
        return parse_version(self.min_os)

    @property
    def language(self) -> tuple[int, int]:
        match = _STD.fullmatch(self.std)
        if match is None:
            raise ValueError(f"not a Metal language version: {self.std!r}")
        return int(match[1]), int(match[2])

    @property
    def triple(self) -> str:
        """`air64-apple-ios17.0-simulator`: architecture, system, deployment target and environment in one word."""
        platform = self.platform
        environment = f"-{platform.environment}" if platform.environment else ""
        return f"air64-apple-{platform.os}{show_version(self.min_version)}{environment}"

    @property
    def std_flag(self) -> str:
        """From Metal 3.0 on the language has one name; before, it had one for macOS and one for the others."""
        prefix = "" if self.language >= (3, 0) else f"{self.platform.dialect}-"
        return f"-std={prefix}{self.std}"


def floor(target: AppleTarget, language: tuple[int, int]) -> Version:
    """The first version of the target's system that loads `language` (major, minor). KeyError when not known.

    tvOS and Catalyst number as iOS does. watchOS 10 came with iOS 17 and visionOS 1 did too, until all became 26; a
    version below 1 means that every release loads the language.
    """
    macos, ios = LANGUAGES[language]
    if target.platform.os == "macos":
        return macos
    behind = {"watchos": 7, "xros": 16}.get(target.platform.os, 0)
    if ios[0] >= UNIFIED_MAJOR or not behind:
        return ios
    return ios[0] - behind, 0, 0


def newest_language(target: AppleTarget) -> tuple[int, int] | None:
    """The newest language version that the target's deployment target loads, or None when it is older than all."""
    fitting = [language for language in LANGUAGES if floor(target, language) <= target.min_version]
    return max(fitting, default=None)
