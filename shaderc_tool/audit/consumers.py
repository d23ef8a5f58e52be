"""The host sources of a manifest: which files they are, the kernel names in them, and what the gate reads beside the
outputs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from shaderc_tool.audit.host_names import SUFFIXES, NameUse, name_uses
from shaderc_tool.audit.rules_consumers import fill_axes
from shaderc_tool.diagnostics import Diagnostic, Place
from shaderc_tool.manifest.model import Axis, Consumer, Manifest

MAX_SOURCE: Final = 16 << 20
"""Bytes of a host source that is read."""


def source_files(root: Path, globs: Iterable[str]) -> list[Path]:
    """The host sources that the globs give, sorted; a folder's other files are left out."""
    found: set[Path] = set()
    for glob in globs:
        found |= {path for path in root.glob(glob) if path.is_file() and path.suffix.lower() in SUFFIXES}
    return sorted(found)


def read_uses(files: Sequence[Path], root: Path, prefixes: Sequence[str]) -> list[NameUse]:
    """The kernel names in some host sources, places relative to `root`."""
    uses: list[NameUse] = []
    for path in files:
        text = _read(path)
        if any(prefix in text for prefix in prefixes) or "unction" in text:
            uses += name_uses(text, _relative(path, root), prefixes)
    return uses


def consumer_uses(consumer: Consumer, root: Path) -> tuple[list[NameUse], list[Diagnostic]]:
    """The names of one consumer; SP1008 when its globs give no file."""
    files = source_files(root, consumer.files)
    if not files:
        return [], [
            Diagnostic(
                "SP1008",
                f"audit.consumers: no host source matches {', '.join(consumer.files)}",
                consumer.place,
                cause=f"looked for {', '.join(SUFFIXES)} below the manifest's root",
                fix="correct the globs; they are relative to the manifest",
                subject=consumer.files[0] if consumer.files else "",
            )
        ]
    return read_uses(files, root, consumer.prefixes), []


def consumer_axes(consumer: Consumer, root: Path) -> tuple[Axis, ...]:
    """The consumer's axes with their rows, read from host sources where a pattern says so."""
    files = {axis.file for axis in consumer.axes if axis.file}
    return fill_axes(consumer.axes, {file: _read(root / file) for file in files})


def dispatch_places(manifest: Manifest) -> Mapping[str, Place] | None:
    """For each kernel or symbol that a host source names, the first place; None without consumers."""
    if not manifest.audit.consumers:
        return None
    from shaderc_tool.audit.rules_consumers import users

    uses = [use for consumer in manifest.audit.consumers for use in consumer_uses(consumer, manifest.root)[0]]
    names = {job.symbol for job in manifest.shaders} | {f.name for u in manifest.metal for f in u.functions}
    return {name: found[0].place for name in sorted(names) if (found := users(name, uses))}


def gate_inputs(manifest: Manifest) -> list[Path]:
    """Files beside the outputs that the gate reads: host sources and headers of argument structs."""
    root, rules = manifest.root, manifest.audit
    paths = {path for consumer in rules.consumers for path in source_files(root, consumer.files)}
    paths |= {root / axis.file for consumer in rules.consumers for axis in consumer.axes if axis.file}
    for header in rules.structs:
        paths |= {root / header.header, *(root / header.header).parent.glob("*.h")}
    return sorted(paths)


def inputs_digest(manifest: Manifest) -> str:
    """SHA-256 over names and contents of `gate_inputs`."""
    digest = hashlib.sha256()
    for path in gate_inputs(manifest):
        content = path.read_bytes() if path.is_file() else b""
        digest.update(f"{path}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_SOURCE:
            return ""
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
