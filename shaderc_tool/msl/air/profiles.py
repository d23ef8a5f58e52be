"""What differs between the operating systems a Metal library is made for."""

from __future__ import annotations

from dataclasses import dataclass

from shaderc_tool.formats import metallib_profiles
from shaderc_tool.msl.options import MslOptions

DATA_LAYOUT = (
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32-"
    "v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
)
"""The same in every library from macOS 12 to 26."""

_SYSTEMS = {
    "macos": ("macosx", ""),
    "ios": ("ios", ""),
    "ios-simulator": ("ios", "-simulator"),
    "mac-catalyst": ("ios", "-macabi"),
    "tvos": ("tvos", ""),
    "tvos-simulator": ("tvos", "-simulator"),
    "watchos": ("watchos", ""),
    "watchos-simulator": ("watchos", "-simulator"),
    "visionos": ("xros", ""),
    "visionos-simulator": ("xros", "-simulator"),
}
"""The system's word in a triple, and what follows the version there, by platform slug."""

_VERSIONED_ARCHITECTURE = (2, 8)
"""The AIR version from which triples name it: air64_v28."""
_FRAME_POINTER = (2, 6)
"""The AIR version from which modules carry the frame-pointer flag."""


@dataclass(frozen=True)
class Profile:
    """How a module for one deployment target is marked. Versions are (major, minor)."""

    triple: str
    air: tuple[int, int]
    language: tuple[int, int]
    max_language: tuple[int, int]
    frame_pointer: bool


def profile(options: MslOptions) -> Profile:
    """The profile of a deployment target. Raises ValueError for a platform or OS version that has none."""
    if options.platform not in _SYSTEMS:
        raise ValueError(f"unknown platform {options.platform!r}: one of {', '.join(_SYSTEMS)}")
    word, environment = _SYSTEMS[options.platform]
    major, minor = options.os_version
    known = metallib_profiles.profile(options.platform, major)
    architecture = "air64" if known.air < _VERSIONED_ARCHITECTURE else f"air64_v{known.air[0]}{known.air[1]}"
    return Profile(
        triple=f"{architecture}-apple-{word}{major}.{minor}.0{environment}",
        air=known.air,
        language=options.language,
        max_language=known.language,
        frame_pointer=known.air >= _FRAME_POINTER,
    )
