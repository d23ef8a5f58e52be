"""Compiles to manifest text."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shaderc_tool.record.compiles import Compile, symbols
from shaderc_tool.record.fold import Items, Macros, Matrix, fold
from shaderc_tool.record.metal import MetalCompile, kernel_lines, metal_targets, target_line
from shaderc_tool.record.text import entry_name, mapping, relative, scalar

_AXES = "abcdefghijkl"

_HEAD = """\
# Recorded from a build by `shaderpack record`. Symbols are the stems of the recorded outputs.
# That build did not validate its modules, so neither does this manifest: `validate: error` makes it a gate.
"""


@dataclass(frozen=True)
class _Group:
    """What the variants of one set share: they are made from one file with the same flags."""

    file: str
    optimize: str
    target: str


def manifest_text(compiles: list[Compile], metal: list[MetalCompile], manifest: Path, pack: str) -> str:
    """The manifest's text; `manifest` is the absolute path at which it will lie."""
    folder = manifest.parent
    include = _union([*(c.include for c in compiles), *(m.include for m in metal)])
    sources = {api: _common(made) for api, made in (("vulkan", compiles), ("metal", metal)) if made}
    root = Path(os.path.commonpath([folder, *sources.values(), *include]))
    targets = _targets(compiles)
    lines = [_HEAD + "schema: 1", f"pack: {pack}"]
    if root != folder or folder.name == "manifests":
        lines.append(f"root: {scalar(relative(root, folder))}")
    folders = ", ".join(f"{api}: {scalar(relative(path, folder))}" for api, path in sources.items())
    lines.append(f"sources: {{{folders}}}")
    if include:
        lines.append(f"include: [{', '.join(scalar(relative(i, folder)) for i in include)}]")
    lines.append("targets:")
    for (env, spv), name in targets.items():
        version = f', spv: "{spv}"' if spv else ""
        lines.append(f"  {name}: {{api: vulkan, env: {env}{version}}}")
    lines += [target_line(target, name) for target, name in metal_targets(metal).items()]
    debug = ", debug: true" if compiles and all(c.command.debug for c in compiles) else ""
    taken: set[str] = set()
    kernels, variants = _sets(compiles, sources.get("vulkan", root), targets, taken)
    kernels += kernel_lines(metal, sources.get("metal", root), taken)
    lines += [f"defaults: {{vulkan: {{validate: off{debug}}}}}"]
    lines += [*(["kernels:", *kernels] if kernels else []), *(["variants:", *variants] if variants else []), "outputs:"]
    if targets:
        lines.append(f"  - {{kind: c-header, target: [{', '.join(targets.values())}], storage: incbin}}")
    if metal:
        lines.append(f"  - {{kind: metallib, target: [{', '.join(metal_targets(metal).values())}]}}")
    return "\n".join(lines) + "\n"


def _common(made: Sequence[Compile | MetalCompile]) -> Path:
    return Path(os.path.commonpath([m.source.parent for m in made]))


def _targets(compiles: list[Compile]) -> dict[tuple[str, str], str]:
    """Target names by environment and SPIR-V version; the one with most modules is called vulkan."""
    counts: dict[tuple[str, str], int] = {}
    for made in compiles:
        key = (made.command.env, made.command.spv)
        counts[key] = counts.get(key, 0) + 1
    ordered = sorted(counts, key=lambda key: (-counts[key], key))
    return {key: "-spv".join(filter(None, key)) if index else "vulkan" for index, key in enumerate(ordered)}


def _sets(
    compiles: list[Compile], sources: Path, targets: Mapping[tuple[str, str], str], taken: set[str]
) -> tuple[list[str], list[str]]:
    """The lines of `kernels:` and of `variants:`."""
    names = symbols(compiles)
    groups: dict[_Group, dict[str, Macros]] = {}
    for made in compiles:
        command = made.command
        target = targets[command.env, command.spv]
        group = _Group(relative(made.source, sources), command.optimize, target)
        groups.setdefault(group, {})[names[made.output]] = frozenset(command.defines)
    kernels: list[str] = []
    variants: list[str] = []
    for group in sorted(groups, key=lambda g: (g.file, g.optimize, g.target)):
        entry = _entry(group, len(targets) > 1)
        # Text in braces would be read as a template in a matrix, and is plain text in a case.
        plain = {s: m for s, m in groups[group].items() if not any("{" in text for _, text in m)}
        folded = fold(plain)
        cases = {s: m for s, m in groups[group].items() if s in folded.cases or s not in plain}
        for matrix in folded.matrices:
            variants += _matrix(entry_name(group.file, taken), entry, matrix)
        if len(cases) == 1:
            kernels += _kernel(entry_name(group.file, taken), entry, cases)
        elif cases:
            variants += _cases(entry_name(group.file, taken), entry, cases)
    return kernels, variants


def _entry(group: _Group, several_targets: bool) -> str:
    optimize = "" if group.optimize == "speed" else f", optimize: {group.optimize}"
    target = f", targets: {group.target}" if several_targets else ""
    return f"file: {scalar(group.file)}{optimize}{target}"


def _kernel(name: str, entry: str, cases: Items) -> Iterator[str]:
    ((symbol, macros),) = cases.items()
    defines = f", defines: {mapping(macros)}" if macros else ""
    yield f"  {name}: {{vulkan: {{{entry}, symbol: {scalar(symbol)}{defines}}}}}"


def _cases(name: str, entry: str, cases: Items) -> Iterator[str]:
    common = frozenset.intersection(*cases.values())
    if any("{" in text for _, text in common):
        common = frozenset()
    yield f"  {name}:"
    yield f"    vulkan: {{{entry}}}"
    if common:
        yield f"    defines: {mapping(common)}"
    yield "    cases:"
    for symbol in sorted(cases):
        macros = cases[symbol] - common
        defines = f", defines: {mapping(macros)}" if macros else ""
        yield f"      - {{symbol: {scalar(symbol)}{defines}}}"


def _matrix(name: str, entry: str, matrix: Matrix) -> Iterator[str]:
    template = "".join(f"{{{axis}}}" for axis, _ in zip(_AXES, matrix.axes, strict=False))
    yield f"  {name}:"
    yield f'    vulkan: {{{entry}, symbol: "{template}"}}'
    if matrix.common:
        yield f"    defines: {mapping(matrix.common)}"
    yield "    matrix:"
    for axis, values in zip(_AXES, matrix.axes, strict=False):
        if any(values.values()):
            yield f"      {axis}:"
            yield from (f"        {scalar(value)}: {mapping(values[value])}" for value in sorted(values))
        else:
            yield f"      {axis}: [{', '.join(scalar(value) for value in sorted(values))}]"


def _union(lists: Iterable[tuple[Path, ...]]) -> list[Path]:
    return list(dict.fromkeys(path for paths in lists for path in paths))
