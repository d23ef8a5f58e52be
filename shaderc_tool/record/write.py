"""Compiles to manifest text."""

from __future__ import annotations

import json
import os.path
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from shaderc_tool.record.compiles import Compile, symbols
from shaderc_tool.record.fold import Items, Macros, Matrix, fold

_PLAIN = re.compile(r"[A-Za-z_][\w./-]*|\d[\w.]*")
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


def manifest_text(compiles: list[Compile], manifest: Path, pack: str) -> str:
    """The manifest's text; `manifest` is the absolute path at which it will lie."""
    folder = manifest.parent
    include = _union(c.include for c in compiles)
    sources = Path(os.path.commonpath([c.source.parent for c in compiles]))
    root = Path(os.path.commonpath([folder, sources, *include]))
    targets = _targets(compiles)
    lines = [_HEAD + "schema: 1", f"pack: {pack}"]
    if root != folder or folder.name == "manifests":
        lines.append(f"root: {_scalar(_relative(root, folder))}")
    if sources != folder:
        lines.append(f"sources: {{vulkan: {_scalar(_relative(sources, folder))}}}")
    if include:
        lines.append(f"include: [{', '.join(_scalar(_relative(i, folder)) for i in include)}]")
    lines.append("targets:")
    for (env, spv), name in targets.items():
        version = f', spv: "{spv}"' if spv else ""
        lines.append(f"  {name}: {{api: vulkan, env: {env}{version}}}")
    debug = ", debug: true" if all(c.command.debug for c in compiles) else ""
    lines += [f"defaults: {{vulkan: {{validate: off{debug}}}}}", *_sets(compiles, sources, targets)]
    names = ", ".join(targets.values())
    lines.append(f"outputs:\n  - {{kind: c-header, target: [{names}], storage: incbin}}")
    return "\n".join(lines) + "\n"


def _targets(compiles: list[Compile]) -> dict[tuple[str, str], str]:
    """Target names by environment and SPIR-V version; the one with most modules is called vulkan."""
    counts: dict[tuple[str, str], int] = {}
    for made in compiles:
        key = (made.command.env, made.command.spv)
        counts[key] = counts.get(key, 0) + 1
    ordered = sorted(counts, key=lambda key: (-counts[key], key))
    return {key: "-spv".join(filter(None, key)) if index else "vulkan" for index, key in enumerate(ordered)}


def _sets(compiles: list[Compile], sources: Path, targets: Mapping[tuple[str, str], str]) -> Iterator[str]:
    names = symbols(compiles)
    groups: dict[_Group, dict[str, Macros]] = {}
    for made in compiles:
        command = made.command
        target = targets[command.env, command.spv]
        group = _Group(_relative(made.source, sources), command.optimize, target)
        groups.setdefault(group, {})[names[made.output]] = frozenset(command.defines)
    kernels: list[str] = []
    variants: list[str] = []
    taken: set[str] = set()
    for group in sorted(groups, key=lambda g: (g.file, g.optimize, g.target)):
        entry = _entry(group, len(targets) > 1)
        # Text in braces would be read as a template in a matrix, and is plain text in a case.
        plain = {s: m for s, m in groups[group].items() if not any("{" in text for _, text in m)}
        folded = fold(plain)
        cases = {s: m for s, m in groups[group].items() if s in folded.cases or s not in plain}
        for matrix in folded.matrices:
            variants += _matrix(_name(group, taken), entry, matrix)
        if len(cases) == 1:
            kernels += _kernel(_name(group, taken), entry, cases)
        elif cases:
            variants += _cases(_name(group, taken), entry, cases)
    yield from (["kernels:", *kernels] if kernels else [])
    yield from (["variants:", *variants] if variants else [])


def _name(group: _Group, taken: set[str]) -> str:
    stem = re.sub(r"[^\w.+-]", "_", Path(group.file).stem, flags=re.ASCII)
    stem = stem if re.match(r"[A-Za-z_]", stem) else f"_{stem}"
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}-{number}"
    taken.add(name)
    return name


def _entry(group: _Group, several_targets: bool) -> str:
    optimize = "" if group.optimize == "speed" else f", optimize: {group.optimize}"
    target = f", targets: {group.target}" if several_targets else ""
    return f"file: {_scalar(group.file)}{optimize}{target}"


def _kernel(name: str, entry: str, cases: Items) -> Iterator[str]:
    ((symbol, macros),) = cases.items()
    defines = f", defines: {_mapping(macros)}" if macros else ""
    yield f"  {name}: {{vulkan: {{{entry}, symbol: {_scalar(symbol)}{defines}}}}}"


def _cases(name: str, entry: str, cases: Items) -> Iterator[str]:
    common = frozenset.intersection(*cases.values())
    if any("{" in text for _, text in common):
        common = frozenset()
    yield f"  {name}:"
    yield f"    vulkan: {{{entry}}}"
    if common:
        yield f"    defines: {_mapping(common)}"
    yield "    cases:"
    for symbol in sorted(cases):
        macros = cases[symbol] - common
        defines = f", defines: {_mapping(macros)}" if macros else ""
        yield f"      - {{symbol: {_scalar(symbol)}{defines}}}"


def _matrix(name: str, entry: str, matrix: Matrix) -> Iterator[str]:
    template = "".join(f"{{{axis}}}" for axis, _ in zip(_AXES, matrix.axes, strict=False))
    yield f"  {name}:"
    yield f'    vulkan: {{{entry}, symbol: "{template}"}}'
    if matrix.common:
        yield f"    defines: {_mapping(matrix.common)}"
    yield "    matrix:"
    for axis, values in zip(_AXES, matrix.axes, strict=False):
        if any(values.values()):
            yield f"      {axis}:"
            yield from (f"        {_scalar(value)}: {_mapping(values[value])}" for value in sorted(values))
        else:
            yield f"      {axis}: [{', '.join(_scalar(value) for value in sorted(values))}]"


def _mapping(macros: Macros) -> str:
    return "{" + ", ".join(f"{name}: {_scalar(text)}" for name, text in sorted(macros)) + "}"


def _scalar(text: str) -> str:
    plain = _PLAIN.fullmatch(text) and text.lower() not in ("null", "~")
    return text if plain else json.dumps(text, ensure_ascii=False)


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


def _union(lists: Iterable[tuple[Path, ...]]) -> list[Path]:
    return list(dict.fromkeys(path for paths in lists for path in paths))
