"""Recorded calls to compiles that a manifest can say, and a diagnostic for each that it cannot."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from shaderc_tool.diagnostics import Diagnostic, Place, Severity
from shaderc_tool.record.standins import Call
from shaderc_tool.toolchains.glslang_command import read_glslang
from shaderc_tool.toolchains.glslc_command import GlslcCommand, NotPlainError, read_glslc


@dataclass(frozen=True)
class Compile:
    """One module of the recorded build. Paths are absolute and normalised."""

    tool: str
    source: Path
    output: Path
    include: tuple[Path, ...]
    command: GlslcCommand


def read_compiles(calls: Iterable[Call]) -> tuple[list[Compile], list[Diagnostic]]:
    """The compiles whose source and output are there, by output; and what had to be left out."""
    by_output: dict[Path, Compile] = {}
    found: list[Diagnostic] = []
    for call in calls:
        if call.tool == "xcrun":
            continue
        try:
            made = _compile(call)
        except NotPlainError as error:
            found += left_out(call, str(error))
            continue
        # A probe of the compiler leaves nothing behind, and a compile that failed neither.
        if not made.output.is_file() or not made.source.is_file():
            continue
        before = by_output.setdefault(made.output, made)
        if before.command != made.command:
            found += left_out(call, f"{made.output.name} was made before with other options")
    return [by_output[path] for path in sorted(by_output)], found


def symbols(compiles: list[Compile]) -> dict[Path, str]:
    """A C identifier for every output: its stem, with the folder's name in front where two have one stem."""
    by_stem: dict[str, list[Path]] = {}
    for made in compiles:
        by_stem.setdefault(_identifier(made.output.stem), []).append(made.output)
    result: dict[Path, str] = {}
    for stem, paths in by_stem.items():
        for number, path in enumerate(paths):
            name = stem if len(paths) == 1 else _identifier(f"{path.parent.name}_{stem}")
            result[path] = f"{name}_{number}" if name in result.values() else name
    return result


def remarks(compiles: list[Compile]) -> Iterator[Diagnostic]:
    """What may make the outputs differ from the recorded ones in bytes."""
    debug = [c for c in compiles if c.command.debug]
    if debug:
        yield _may_differ(debug, "-g writes file names into the module", "compare without -g")
    validator = [c for c in compiles if c.tool == "glslangValidator"]
    if validator:
        why = "glslangValidator leaves names in that glslc, and spirv-opt after it, remove"
        yield _may_differ(validator, why, "nothing to do: the code is the same")


def _compile(call: Call) -> Compile:
    read = read_glslang if call.tool == "glslangValidator" else read_glslc
    command = read(list(call.arguments))

    def absolute(path: str) -> Path:
        return Path(os.path.normpath(call.folder / path))

    include = tuple(absolute(folder) for folder in command.include)
    return Compile(call.tool, absolute(command.source), absolute(command.output), include, command)


def _identifier(stem: str) -> str:
    name = re.sub(r"\W", "_", stem.split(".", 1)[0], flags=re.ASCII)
    return name if re.match(r"[A-Za-z_]", name) else f"_{name}"


def left_out(call: Call, why: str) -> Iterator[Diagnostic]:
    """The SP1017 warning for a call that the manifest will not make; none for a probe."""
    if "-o" in call.arguments and call.arguments[call.arguments.index("-o") + 1 :][:1] == ("-",):
        return  # a probe that prints its module
    if any(word.startswith("--version") or word in ("--help", "-v") for word in call.arguments):
        return
    yield Diagnostic(
        "SP1017",
        f"a call of {call.tool} is left out: {why}",
        Place(str(call.folder)),
        cause="a manifest makes one module from one compute shader, or one .air from one Metal source",
        fix="keep this call in the old build, or write it into the manifest by hand",
        subject=call.tool,
        severity=Severity.WARNING,
        detail=" ".join((call.tool, *call.arguments)),
    )


def _may_differ(compiles: list[Compile], why: str, fix: str) -> Diagnostic:
    return Diagnostic(
        "SP1018",
        f"{len(compiles)} recorded module(s) may differ in bytes, the first is {compiles[0].output.name}",
        cause=why,
        fix=fix,
        subject=compiles[0].output.name,
        severity=Severity.WARNING,
    )
