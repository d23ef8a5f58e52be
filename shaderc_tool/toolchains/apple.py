"""The Apple toolchain: command lines for `metal` and `metallib`, and lint of what a target asks for. All pure.

Each source becomes one `.air` file and one link makes the library; nothing is piped, so that each step has an exit
status of its own. Paths are relative to one fixed working directory: a library records the paths that it was made of.

The target is named by `-target` alone. It is what Xcode itself passes; one word holds system, deployment target and
environment; it has a spelling for visionOS and Mac Catalyst, which the `-m…-version-min` options lack; and the driver
refuses `-target` and `-mtargetos` together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import Final

from shaderc_tool.diagnostics import Diagnostic, Place, Severity
from shaderc_tool.toolchains.apple_targets import (
    LANGUAGES,
    AppleTarget,
    floor,
    newest_language,
    show_version,
)

XCRUN: Final = "xcrun"

_OPTIMIZE: Final = {"none": ("-O0",), "size": ("-Os",), "speed": ("-O2",)}

# The compiler's default is fast math in every language version (specification, section 1.6.3), so each mode is
# spelled out. `-fno-fast-math` means `-fmetal-math-mode=safe -fmetal-math-fp32-functions=precise`, and it is known to
# toolchains that are older than those two.
_MATH: Final = {
    "safe": ("-fno-fast-math",),
    "relaxed": ("-fmetal-math-mode=relaxed", "-fmetal-math-fp32-functions=fast"),
    "fast": ("-ffast-math",),
}

# Line tables and the sources inside the library; full `-g` is reported to crash the compiler.
_DEBUG: Final = ("-gline-tables-only", "-frecord-sources")

BFLOAT_LANGUAGE: Final = (3, 1)


@dataclass(frozen=True)
class MetalOptions:
    """How to compile: `optimize` is none, size or speed; `math` is safe, relaxed or fast."""

    optimize: str = "speed"
    math: str = "safe"
    debug: bool = False
    defines: tuple[tuple[str, str], ...] = ()
    include: tuple[str, ...] = ()


def metal_argv(target: AppleTarget, source: str, output: str, depfile: str, options: MetalOptions) -> tuple[str, ...]:
    """Compile one Metal source to AIR and write its dependencies. Raises ValueError for an absolute path.

    System headers stay out of the depfile (`-MMD`): the toolchain's version stands for them in cache keys.
    """
    _require_relative(source, output, depfile, *options.include)
    return (
        *_tool(target, "metal"),
        "-c",
        "-target",
        target.triple,
        target.std_flag,
        *_OPTIMIZE[options.optimize],
        *_MATH[options.math],
        *(_DEBUG if options.debug else ()),
        *(f"-D{name}={value}" if value else f"-D{name}" for name, value in options.defines),
        *(f"-I{folder}" for folder in options.include),
        "-MMD",
        "-MF",
        depfile,
        "-o",
        output,
        source,
    )


def metallib_argv(target: AppleTarget, airs: Sequence[str], output: str) -> tuple[str, ...]:
    """Link AIR files to one library. Raises ValueError for an absolute path.

    The linker takes the deployment target from the first file, so the files are sorted: the result does not depend on
    which compile ended first, and `check_metallib` reads it back. `metallib` is used rather than the `metal` driver,
    which was seen to leave out newer modules and report success.
    """
    _require_relative(output, *airs)
    return (*_tool(target, "metallib"), "-o", output, *sorted(airs))


def version_argv(target: AppleTarget, tool: str) -> tuple[str, ...]:
    """Ask `metal` or `metallib` for its version: the probe that tells a compiler from a stub."""
    return (*_tool(target, tool), "--version")


def child_env(toolchain: str = "") -> dict[str, str]:
    """What the tools need on top of the clean environment that every child gets.

    `toolchain` is the identifier of the Metal Toolchain component, needed where the default look-up fails. It is set
    for this one child only: exported, it would redirect other tools' library search. `ZERO_AR_DATE` keeps time stamps
    out of archives.
    """
    chosen = {"TOOLCHAINS": toolchain} if toolchain else {}
    return {"ZERO_AR_DATE": "1", **chosen}


def lint_target(target: AppleTarget, place: Place | None) -> tuple[Diagnostic, ...]:
    """SP2019 when the deployment target cannot load the language version, or when the version is not known."""
    newest = newest_language(target)
    lower = f"use std: metal{newest[0]}.{newest[1]}" if newest else "use another SDK"
    if target.language not in LANGUAGES:
        known = ", ".join(f"metal{major}.{minor}" for major, minor in LANGUAGES)
        message = f"{target.std} is not a Metal language version that is known here"
        return (Diagnostic("SP2019", message, place, cause=f"known are {known}", fix=lower),)
    least = floor(target, target.language)
    if target.min_version >= least:
        return ()
    label = target.platform.label
    return (
        Diagnostic(
            "SP2019",
            f"{target.std} needs {label} {show_version(least)}, but min_os is {target.min_os}",
            place,
            cause=f"{label} {target.min_os} refuses to load a library in a newer language version",
            fix=f"{lower}, or raise min_os to {show_version(least)}",
        ),
    )


def lint_math(math: str, place: Place | None, *, allowed: bool = False) -> tuple[Diagnostic, ...]:
    """SP2021 (warning) for fast math, unless the manifest allows it by a policy."""
    if math != "fast" or allowed:
        return ()
    return (
        Diagnostic(
            "SP2021",
            "fast math lets the compiler assume that no value is infinite or NaN",
            place,
            cause="masked softmax and norm kernels rely on both, and then give wrong results without a fault",
            fix="use math: safe or math: relaxed, or state the reason in a policy",
            severity=Severity.WARNING,
        ),
    )


_BFLOAT = re.compile(r"\bbfloat[234]?\b")
_NOT_CODE = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
_GUARD = re.compile(r"__HAVE_BFLOAT__|__METAL_VERSION__")


def lint_source(target: AppleTarget, file: str, text: str) -> tuple[Diagnostic, ...]:
    """SP2020 (warning) when `text` uses bfloat without a guard and the language version has none."""
    if target.language >= BFLOAT_LANGUAGE or _GUARD.search(text):
        return ()
    code = _NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    match = _BFLOAT.search(code)
    if match is None:
        return ()
    line = code.count("\n", 0, match.start()) + 1
    column = match.start() - code.rfind("\n", 0, match.start())
    return (
        Diagnostic(
            "SP2020",
            f"{match[0]} needs metal3.1, but the target asks for {target.std}",
            Place(file, line, column),
            cause="bfloat came with Metal 3.1",
            fix="raise std to metal3.1, or guard the code with __HAVE_BFLOAT__",
            severity=Severity.WARNING,
        ),
    )


def _tool(target: AppleTarget, name: str) -> tuple[str, ...]:
    return XCRUN, "-sdk", target.platform.sdk, name


def _require_relative(*paths: str) -> None:
    for path in paths:
        if PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute():
            raise ValueError(f"absolute path in a Metal command line: {path}")
