"""Recorded calls of Apple's Metal compiler, and the part of a manifest that they become."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from shaderc_tool.diagnostics import Diagnostic
from shaderc_tool.formats.glsl import strip_comments
from shaderc_tool.record.compiles import left_out
from shaderc_tool.record.standins import Call
from shaderc_tool.record.text import entry_name, mapping, relative, scalar
from shaderc_tool.toolchains.glslc_command import NotPlainError
from shaderc_tool.toolchains.metal_command import MetalCommand, read_metal

_HOST_NAME = re.compile(r'host_name\s*\(\s*"(\w+)"\s*\)')
_KERNEL = re.compile(r"(?:\bkernel|\[\[\s*kernel\s*\]\])\s+void\s+(\w+)\s*\(")
_TEMPLATE = re.compile(r"\btemplate\s*<[^;{]*$")

Target = tuple[str, str, str]
"""SDK, deployment target, language version."""


@dataclass(frozen=True)
class MetalCompile:
    """One `.air` of the recorded build. Paths are absolute; `functions` are the kernels that its source names."""

    source: Path
    include: tuple[Path, ...]
    command: MetalCommand
    functions: tuple[str, ...]

    @property
    def target(self) -> Target:
        return self.command.sdk, self.command.min_os, self.command.std


def read_metal_compiles(calls: Iterable[Call]) -> tuple[list[MetalCompile], list[Diagnostic]]:
    """The compiles whose source is there; and what had to be left out."""
    made: dict[tuple[Path, Target], MetalCompile] = {}
    found: list[Diagnostic] = []
    for call in calls:
        if call.tool != "xcrun":
            continue
        try:
            command = read_metal(list(call.arguments))
        except NotPlainError as error:
            found += left_out(call, str(error))
            continue
        source = Path(os.path.normpath(call.folder / command.source)) if command else None
        if command is None or source is None or not source.is_file():
            continue
        functions = kernels_of(source.read_text("utf-8", "replace"))
        if not functions:
            found += left_out(call, f"{source.name} names no kernel")
            continue
        include = tuple(Path(os.path.normpath(call.folder / i)) for i in command.include)
        compiled = MetalCompile(source, include, command, functions)
        made.setdefault((source, compiled.target), compiled)
    return [made[key] for key in sorted(made)], found


def kernels_of(text: str) -> tuple[str, ...]:
    """The entry points that a Metal source names: plain kernels, and the host names of template instances."""
    bare = strip_comments(text)
    names = _HOST_NAME.findall(bare)
    names += [m[1] for m in _KERNEL.finditer(bare) if not _TEMPLATE.search(bare, 0, m.start())]
    return tuple(dict.fromkeys(names))


def metal_targets(compiles: list[MetalCompile]) -> dict[Target, str]:
    """Target names: the SDK, with the rest where one SDK has several."""
    targets = sorted({c.target for c in compiles})
    several = {sdk for sdk, *_ in targets if sum(t[0] == sdk for t in targets) > 1}
    return {t: "-".join(t) if t[0] in several else t[0] for t in targets}


def target_line(target: Target, name: str) -> str:
    sdk, min_os, std = target
    return f'  {name}: {{api: metal, sdk: {sdk}, min_os: "{min_os}", std: {std}}}'


def kernel_lines(compiles: list[MetalCompile], sources: Path, taken: set[str]) -> Iterator[str]:
    """One kernel entry for each source and set of options; targets that share them share the entry."""
    names = metal_targets(compiles)
    groups: dict[tuple[str, str], list[str]] = {}
    for made in compiles:
        command = made.command
        file = relative(made.source, sources)
        entry = f"file: {scalar(file)}, functions: [{', '.join(made.functions)}]"
        entry += f", optimize: {command.optimize}, math: {command.math}"
        entry += f", defines: {mapping(frozenset(command.defines))}" if command.defines else ""
        groups.setdefault((file, entry), []).append(names[made.target])
    for (file, entry), targets in groups.items():
        yield f"  {entry_name(file, taken)}: {{metal: {{{entry}, targets: [{', '.join(targets)}]}}}}"
