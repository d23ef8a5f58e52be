"""Platforms and operating system generations of Metal libraries: one table for the reader, the writer and the lints.

Sources: the platform numbers of <mach-o/loader.h>, which the metallib header repeats; versions as Apple's tools write
them for each deployment target.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MACOS: Final = 1
MAC_CATALYST: Final = 6


@dataclass(frozen=True)
class Platform:
    """A Mach-O platform. `family` names the system whose version numbers it follows, empty when it has no Metal."""

    number: int
    slug: str
    label: str
    family: str


PLATFORMS: Final = (
    Platform(MACOS, "macos", "macOS", "macos"),
    Platform(2, "ios", "iOS", "ios"),
    Platform(3, "tvos", "tvOS", "ios"),
    Platform(4, "watchos", "watchOS", "watchos"),
    Platform(5, "bridgeos", "bridgeOS", ""),
    Platform(MAC_CATALYST, "mac-catalyst", "Mac Catalyst", "ios"),
    Platform(7, "ios-simulator", "iOS simulator", "ios"),
    Platform(8, "tvos-simulator", "tvOS simulator", "ios"),
    Platform(9, "watchos-simulator", "watchOS simulator", "watchos"),
    Platform(10, "driverkit", "DriverKit", ""),
    Platform(11, "visionos", "visionOS", "visionos"),
    Platform(12, "visionos-simulator", "visionOS simulator", "visionos"),
)
_BY_NUMBER: Final = {p.number: p for p in PLATFORMS}
_BY_SLUG: Final = {p.slug: p for p in PLATFORMS}


@dataclass(frozen=True)
class Profile:
    """What Apple's tools of one year write.

    `containers` are the (minor, bugfix) versions that were seen, the linker's first; `air` and `language` are the
    newest (major, minor) that the systems of that year load.
    """

    containers: tuple[tuple[int, int], ...]
    air: tuple[int, int]
    language: tuple[int, int]


_BY_YEAR: Final = {
    2020: Profile(((2, 5),), (2, 3), (2, 3)),
    2021: Profile(((2, 6),), (2, 4), (2, 4)),
    2022: Profile(((2, 7),), (2, 5), (3, 0)),
    2023: Profile(((2, 7),), (2, 6), (3, 1)),
    2024: Profile(((2, 7), (2, 8)), (2, 7), (3, 2)),
    2025: Profile(((2, 9),), (2, 8), (4, 0)),
}
_YEAR_OF: Final = {
    "macos": {11: 2020, 12: 2021, 13: 2022, 14: 2023, 15: 2024, 26: 2025},
    "ios": {14: 2020, 15: 2021, 16: 2022, 17: 2023, 18: 2024, 26: 2025},
    "watchos": {7: 2020, 8: 2021, 9: 2022, 10: 2023, 11: 2024, 26: 2025},
    "visionos": {1: 2023, 2: 2024, 26: 2025},
}


def platform(which: int | str) -> Platform:
    """A platform by Mach-O number or by slug such as `ios-simulator`. Raises `ValueError`."""
    found = _BY_NUMBER.get(which) if isinstance(which, int) else _BY_SLUG.get(which)
    if found is None:
        raise ValueError(f"unknown platform {which!r}; known are {', '.join(_BY_SLUG)}")
    return found


def platform_label(number: int) -> str:
    """The platform's name for people; an unknown number names itself."""
    found = _BY_NUMBER.get(number)
    return found.label if found else f"platform {number}"


def profile(which: int | str, os_major: int) -> Profile:
    """The newest profile that a system of this major version loads.

    Raises `ValueError` for a platform without Metal libraries and for a system older than those of 2020. A system
    newer than the table gets the last row, as newer systems load older libraries.
    """
    target = platform(which)
    years = _YEAR_OF.get(target.family)
    if years is None:
        raise ValueError(f"{target.label} has no Metal libraries")
    majors = [major for major in years if major <= os_major]
    if not majors:
        raise ValueError(f"{target.label} {os_major} is older than {min(years)}, the oldest that is modelled")
    return _BY_YEAR[years[max(majors)]]


def is_newer_than_table(which: int, os_major: int) -> bool:
    """True when the system came after the last row, so that nothing can be said about what it refuses."""
    found = _BY_NUMBER.get(which)
    years = _YEAR_OF.get(found.family) if found else None
    return years is None or os_major > max(years)
