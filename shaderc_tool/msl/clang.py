"""Command lines for the clang 15 inside the `ziglang` wheel, and what it prints. Pure: nothing is started here."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from shaderc_tool.msl.options import MslOptions
from shaderc_tool.msl.shim import INCLUDE

_TRIPLE = "spir64-unknown-unknown"
"""SPIR numbers its address spaces as AIR does, passes vectors as they are, and adds no target-specific code."""

_LANGUAGE = (
    "-x",
    "clcpp",
    "-cl-std=clc++2021",
    "-cl-ext=+cl_khr_fp16,+__cl_clang_function_pointers,+__cl_clang_variadic_functions",
    "-cl-single-precision-constant",
    "-fdeclspec",
    "-fpreserve-vec3-type",
    "-no-opaque-pointers",
)
_FAST = (
    "-ffast-math",
    "-ffinite-math-only",
    "-menable-no-infs",
    "-menable-no-nans",
    "-menable-unsafe-fp-math",
    "-fno-signed-zeros",
    "-mreassociate",
    "-freciprocal-math",
    "-fapprox-func",
    "-ffp-contract=fast",
)
_MATH = {"safe": ("-ffp-contract=on",), "relaxed": ("-ffp-contract=fast",), "fast": _FAST}
_INLINE_EVERYTHING = ("-mllvm", "-inline-threshold=1000000")
"""AIR has no place for calls: Apple's compiler inlines all of them too."""

_MESSAGE = re.compile(r"(.*?):(\d+):(\d+): ?(?:((?:\{[^}]*\})+): )?(fatal error|error|warning|note): (.*)")


def clang_program() -> Path | None:
    """The zig binary, which is clang when its first argument says so; None when the wheel is not installed."""
    import importlib.util

    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations)))
    return next((folder / name for name in ("zig", "zig.exe") if (folder / name).is_file()), None)


def preprocess_argv(program: Path, filename: str, options: MslOptions) -> list[str]:
    """Preprocess standard input as Metal."""
    major, minor = options.language
    argv = [str(program), "clang", "-cc1", "-E", "-x", "c++", "-triple", _TRIPLE, "-undef"]
    argv += ["-std=c++17" if major >= 4 else "-std=c++14"]
    argv += ["-iquote", str(Path(filename).parent)]
    for folder in options.include_dirs:
        argv += ["-I", folder]
    argv += ["-I", str(INCLUDE), "-include", str(INCLUDE / "metal_macros.h")]
    argv += [f"-D{name}" for name in predefined(options, major, minor)]
    argv += [f"-D{name}" for name in options.defines]
    return [*argv, "-"]


def predefined(options: MslOptions, major: int, minor: int) -> list[str]:
    """The macros that Metal's compiler predefines."""
    os_major, os_minor = options.os_version
    names = [f"__METAL_VERSION__={major * 100 + minor * 10}", "__METAL__=1", "__AIR64__=1", "__METAL_CPP__=1"]
    if options.platform == "macos":
        names += [
            "__METAL_MACOS__=1",
            f"__ENVIRONMENT_MAC_OS_X_VERSION_MIN_REQUIRED__={os_major * 10000 + os_minor * 100}",
        ]
    else:
        names += [
            "__METAL_IOS__=1",
            f"__ENVIRONMENT_IPHONE_OS_VERSION_MIN_REQUIRED__={os_major * 10000 + os_minor * 100}",
        ]
    if options.platform.endswith("-simulator"):
        names.append("__TARGET_OS_SIMULATOR__=1")
    if (major, minor) >= (3, 1):
        names.append("__HAVE_BFLOAT__=1")
    if options.math != "safe":
        names.append("__FAST_MATH__=1")
    return names


def header_argv(program: Path, options: MslOptions, header: Path, output: Path) -> list[str]:
    """Precompile the shim."""
    flags = [*_LANGUAGE, *_MATH[options.math]]
    return [
        str(program),
        "clang",
        "-cc1",
        "-triple",
        _TRIPLE,
        *flags,
        "-w",
        "-emit-pch",
        "-fno-pch-timestamp",
        "-O2",
        "-debug-info-kind=limited",
        "-o",
        str(output),
        str(header),
    ]


def compile_argv(program: Path, options: MslOptions, header: Path, precompiled: bool) -> list[str]:
    """Compile rewritten source from standard input to LLVM IR on standard output."""
    argv = [str(program), "clang", "-cc1", "-triple", _TRIPLE, *_LANGUAGE, *_MATH[options.math]]
    argv += ["-include-pch" if precompiled else "-include", str(header)]
    argv += ["-w", "-ferror-limit", "60", "-fno-caret-diagnostics", "-fdiagnostics-print-source-range-info"]
    argv += ["-ftemplate-backtrace-limit", "0", "-fno-elide-type", "-O2", "-debug-info-kind=limited"]
    argv += [*_INLINE_EVERYTHING, "-discard-value-names", "-emit-llvm", "-o", "-", "-"]
    return argv


def syntax_argv(program: Path, options: MslOptions) -> list[str]:
    """Check text from standard input that has the shim in front of it; a measure of what clang itself needs."""
    flags = [*_LANGUAGE, *_MATH[options.math]]
    return [str(program), "clang", "-cc1", "-triple", _TRIPLE, *flags, "-w", "-fsyntax-only", "-"]


@dataclass(frozen=True)
class Message:
    """One line of clang's. `ranges` are (line, first column, line, end column) of the operands it is about."""

    file: str
    line: int
    column: int
    severity: str
    text: str
    ranges: tuple[tuple[int, int, int, int], ...] = ()
    notes: list[Message] = field(default_factory=list, compare=False)


def parse_messages(stderr: str) -> list[Message]:
    """Errors and warnings with the notes that follow each."""
    found: list[Message] = []
    for line in stderr.splitlines():
        match = _MESSAGE.match(line)
        if match is None:
            continue
        numbers = re.findall(r"\{(\d+):(\d+)-(\d+):(\d+)\}", match[4] or "")
        ranges = tuple((int(a), int(b), int(c), int(d)) for a, b, c, d in numbers)
        message = Message(match[1], int(match[2]), int(match[3]), match[5], match[6], ranges)
        if message.severity == "note" and found:
            found[-1].notes.append(message)
        elif message.severity != "note":
            found.append(message)
    return found
