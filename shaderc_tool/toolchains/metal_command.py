"""Read an `xcrun … metal -c` command line: what it compiles, or why a manifest cannot say it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shaderc_tool.toolchains.apple_targets import PLATFORMS
from shaderc_tool.toolchains.glslc_command import NotPlainError

_TRIPLE = re.compile(r"air64(?:_v\d+)?-apple-([a-z]+)([\d.]+)(?:-(simulator|macabi))?")
_MINIMUM = re.compile(r"-m(macosx?|ios|iphoneos|ios-simulator|tvos|watchos|xros)-version-min=([\d.]+)")
_STD = re.compile(r"-std=(?:[a-z]+-)?(metal\d\.\d)")
_OPTIMIZE = {"-O0": "none", "-Os": "size", "-O": "speed", "-O1": "speed", "-O2": "speed", "-O3": "speed"}
_MATH = {
    "-fno-fast-math": "safe",
    "-fmetal-math-mode=safe": "safe",
    "-fmetal-math-mode=relaxed": "relaxed",
    "-ffast-math": "fast",
    "-fmetal-math-mode=fast": "fast",
}
_WITH_VALUE = ("-MF", "-MT", "-MQ", "-x", "-isysroot", "-fmodules-cache-path")
_IGNORED = re.compile(r"-M?M?D|-c|-W.*|-fmetal-math-fp32-functions=.*|-q|-g.*|-frecord-sources")


@dataclass(frozen=True)
class MetalCommand:
    """One source to one `.air`. Paths are as written; the rest in the manifest's terms."""

    source: str
    output: str
    sdk: str
    min_os: str
    std: str
    optimize: str
    math: str
    defines: tuple[tuple[str, str], ...]
    include: tuple[str, ...]


def read_metal(arguments: list[str]) -> MetalCommand | None:
    """The compile behind xcrun's arguments; None for another tool than `metal`, or a link. Raises NotPlainError."""
    sdk, words = _tool(arguments)
    if words[:1] != ["metal"] or "-c" not in words:
        return None
    # The compiler's own default is fast math and -O2.
    values = {"optimize": "speed", "math": "fast", "sdk": sdk}
    defines: dict[str, str] = {}
    include: list[str] = []
    sources: list[str] = []
    rest = iter(words[1:])
    for word in rest:
        if word.startswith(("-D", "-I", "-o")):
            value = word[2:] or next(rest, "")
            if word[1] == "D":
                name, _, text = value.partition("=")
                defines[name] = text
            elif word[1] == "I":
                include.append(value)
            else:
                values["output"] = value
        elif word in _WITH_VALUE:
            next(rest, None)
        elif word == "-target":
            _read_triple(next(rest, ""), values)
        elif not word.startswith("-"):
            sources.append(word)
        else:
            _read_flag(word, values)
    return _command(values, defines, include, sources)


def _tool(arguments: list[str]) -> tuple[str, list[str]]:
    """The SDK and the tool's own command line."""
    sdk, at = "macosx", 0
    while at < len(arguments) and arguments[at].startswith("-"):
        option = arguments[at].lstrip("-")
        if option == "sdk":
            sdk = arguments[at + 1] if at + 1 < len(arguments) else ""
        at += 2 if option in ("sdk", "toolchain") else 1
    return re.sub(r"[\d.]+$", "", sdk), arguments[at:]


def _read_triple(triple: str, values: dict[str, str]) -> None:
    match = _TRIPLE.fullmatch(triple)
    if match is None:
        raise NotPlainError(f"-target {triple}")
    values["min_os"] = match[2]
    fitting = [p for p, f in PLATFORMS.items() if (f.os, f.environment) == (match[1].rstrip("x"), match[3] or "")]
    values["sdk"] = fitting[0] if fitting else values["sdk"]


def _read_flag(word: str, values: dict[str, str]) -> None:
    minimum, std = _MINIMUM.fullmatch(word), _STD.fullmatch(word)
    if minimum:
        values["min_os"] = minimum[2]
    elif std:
        values["std"] = std[1]
    elif word in _OPTIMIZE:
        values["optimize"] = _OPTIMIZE[word]
    elif word in _MATH:
        values["math"] = _MATH[word]
    elif not _IGNORED.fullmatch(word):
        raise NotPlainError(word)


def _command(values: dict[str, str], defines: dict[str, str], include: list[str], sources: list[str]) -> MetalCommand:
    for key, what in (("output", "output"), ("min_os", "deployment target"), ("std", "language version")):
        if key not in values:
            raise NotPlainError(f"no {what} is named, so the SDK's own would decide")
    if len(sources) != 1 or values["sdk"] not in PLATFORMS:
        raise NotPlainError(f"{len(sources)} sources for the SDK {values['sdk']}")
    return MetalCommand(
        source=sources[0],
        output=values["output"],
        sdk=values["sdk"],
        min_os=values["min_os"],
        std=values["std"],
        optimize=values["optimize"],
        math=values["math"],
        defines=tuple(defines.items()),
        include=tuple(include),
    )
