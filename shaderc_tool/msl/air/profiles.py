"""What differs between the operating systems a Metal library is made for."""

from __future__ import annotations

from dataclasses import dataclass

from shaderc_tool.msl.options import MslOptions

DATA_LAYOUT = (
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-"
    "v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
)
"""The same in every library from macOS 12 to 26."""


@dataclass(frozen=True)
class Platform:
    """An operating system: its word in a triple, what follows the version there, and its family of versions."""

    triple: str
    environment: str
    family: str


PLATFORMS = {
    "macos": Platform("macosx", "", "macos"),
    "ios": Platform("ios", "", "ios"),
    "ios-simulator": Platform("ios", "-simulator", "ios"),
    "mac-catalyst": Platform("ios", "-macabi", "ios"),
    "tvos": Platform("tvos", "", "ios"),
    "tvos-simulator": Platform("tvos", "-simulator", "ios"),
    "visionos": Platform("xros", "", "visionos"),
    "visionos-simulator": Platform("xros", "-simulator", "visionos"),
}

_AIR_BY_OS = {
    "macos": {11: (2, 3), 12: (2, 4), 13: (2, 5), 14: (2, 6), 15: (2, 7), 26: (2, 8)},
    "ios": {14: (2, 3), 15: (2, 4), 16: (2, 5), 17: (2, 6), 18: (2, 7), 26: (2, 8)},
    "visionos": {1: (2, 6), 2: (2, 7), 26: (2, 8)},
}
_LANGUAGE_BY_AIR = {
    (2, 3): (2, 3),
    (2, 4): (2, 4),
    (2, 5): (3, 0),
    (2, 6): (3, 1),
    (2, 7): (3, 2),
    (2, 8): (4, 0),
}


@dataclass(frozen=True)
class Profile:
    """How a module for one deployment target is marked."""

    triple: str
    air: tuple[int, int]
    language: tuple[int, int]
    max_language: tuple[int, int]
    frame_pointer: bool


def profile(options: MslOptions) -> Profile:
    """The profile of a deployment target. Raises ValueError for a platform or OS version that has none."""
    platform = PLATFORMS.get(options.platform)
    if platform is None:
        raise ValueError(f"unknown platform {options.platform!r}: one of {', '.join(sorted(PLATFORMS))}")
    major, minor = options.os_version
    versions = _AIR_BY_OS[platform.family]
    known = [v for v in versions if v <= major]
    if not known:
        raise ValueError(
            f"{options.platform} {options.min_os} is older than {min(versions)}.0, the oldest one modelled"
        )
    air = versions[max(known)]
    arch = "air64" if air < (2, 8) else f"air64_v{20 + air[1]}"
    return Profile(
        triple=f"{arch}-apple-{platform.triple}{major}.{minor}.0{platform.environment}",
        air=air,
        language=options.language,
        max_language=_LANGUAGE_BY_AIR[air],
        frame_pointer=air >= (2, 6),
    )
