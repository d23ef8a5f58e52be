"""The rules over all outputs of a manifest together: consumers, argument structs, devices, source payloads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from shaderc_tool.audit.rules_merged import check_merged_sources
from shaderc_tool.diagnostics import Diagnostic, Place, Severity
from shaderc_tool.formats.spirv import Module
from shaderc_tool.manifest.model import Consumer, Manifest, StructHeader

if TYPE_CHECKING:
    from shaderc_tool.audit.layouts import Layout
    from shaderc_tool.audit.rules_structs import ShaderStruct
    from shaderc_tool.formats.air import AirModule


@dataclass(frozen=True)
class Seen:
    """What the gate has read: SPIR-V modules by output, function names by Metal target, bitcode by (target, name)."""

    modules: Mapping[str, Module]
    names: Mapping[str, set[str]] = field(default_factory=dict)
    air: Mapping[tuple[str, str], AirModule] = field(default_factory=dict)


def check_manifest(manifest: Manifest, whole: Manifest, folder: Path, seen: Seen) -> list[Diagnostic]:
    """All rules. `manifest` has the targets that were built, `whole` all of them."""
    found: list[Diagnostic] = []
    for consumer in manifest.audit.consumers:
        found += _check_consumer(consumer, manifest, whole, seen)
    if manifest.audit.structs:
        structs = shader_structs(manifest, seen)
        for header in manifest.audit.structs:
            found += _check_header(header, manifest, structs)
    found += _check_profiles(manifest, seen)
    found += _check_paths(manifest, seen)
    found += check_merged_sources(manifest, folder)
    return found


# --- consumers


def _check_consumer(consumer: Consumer, manifest: Manifest, whole: Manifest, seen: Seen) -> list[Diagnostic]:
    from shaderc_tool.audit.consumers import consumer_axes, consumer_uses
    from shaderc_tool.audit.rules_consumers import check_consumers

    if manifest.metal and not seen.names:
        return []  # no library could be made, which is reported already
    uses, found = consumer_uses(consumer, manifest.root)
    axes = consumer_axes(consumer, manifest.root)
    symbols = {job.symbol for job in whole.shaders}
    # Kernels of targets that are not part of this build count as declared.
    other = {f.name for unit in whole.metal for f in unit.functions if unit.target not in manifest.targets}
    merged: dict[tuple[str, str, str], Diagnostic] = {}
    for target, names in (seen.names or {"": set[str]()}).items():
        known = names | symbols | (set() if seen.names else other)
        where = f"{target}/default.metallib" if target else "the build"
        for diagnostic in check_consumers(uses, axes, known, consumer.unused, where):
            key = (diagnostic.code, diagnostic.subject, str(diagnostic.place))
            first = merged.get(key)
            if first is None:
                merged[key] = diagnostic
            else:
                merged[key] = replace(first, message=f"{where}, {first.message}")
    return [*found, *merged.values()]


# --- argument structs


def shader_structs(manifest: Manifest, seen: Seen) -> list[ShaderStruct]:
    """The argument structs of all kernels that were read."""
    from shaderc_tool.audit.rules_structs import metal_structs, spirv_structs

    found: list[ShaderStruct] = []
    for unit in manifest.metal:
        for function in unit.functions:
            module = seen.air.get((unit.target, function.name))
            if module is not None:
                entry = module.entry_point(function.name)
                found += metal_structs(function.name, unit.target, entry, unit.file, function.verify)
    for job in manifest.shaders:
        shader = seen.modules.get(job.output)
        if shader is not None:
            names = [member.name for member in job.interface.push_constants or ()]
            found += spirv_structs(job.symbol, job.target, shader, job.file, job.verify, names)
    return found


def _check_header(header: StructHeader, manifest: Manifest, structs: list[ShaderStruct]) -> list[Diagnostic]:
    from shaderc_tool.audit.rules_structs import check_structs

    records, found = host_records(header, manifest)
    return found if found else check_structs(header, records, structs)


def host_records(header: StructHeader, manifest: Manifest) -> tuple[dict[str, Layout], list[Diagnostic]]:
    """The records of a header, read with the manifest's include folders."""
    from shaderc_tool.audit.host_layouts import read_host_layouts

    return read_host_layouts(manifest.root, header.header, header.place, manifest.include)


def layout_header(manifest: Manifest, seen: Seen) -> tuple[str, list[Diagnostic]]:
    """The static asserts of every header in `audit.structs`: the shaders' offsets for the host's compiler to check."""
    from shaderc_tool.audit.layouts import static_asserts
    from shaderc_tool.audit.rules_structs import matched

    structs = shader_structs(manifest, seen)
    text, found = "", []
    for header in manifest.audit.structs:
        records, faults = host_records(header, manifest)
        found += faults
        layouts: dict[str, Layout] = {}
        for struct, record in matched(header, records, structs):
            if set(struct.layout.names) == set(record.names):
                layouts.setdefault(record.name, replace(struct.layout, name=record.name))
        text += static_asserts(Path(header.header).name, layouts.values())
    return text, found


# --- devices, paths


def _check_profiles(manifest: Manifest, seen: Seen) -> list[Diagnostic]:
    from shaderc_tool.audit.rules_profile import check_profile

    return [
        diagnostic
        for profile in manifest.audit.profiles
        for job in manifest.shaders
        if (not profile.targets or job.target in profile.targets) and job.output in seen.modules
        for diagnostic in check_profile(job.symbol, seen.modules[job.output], profile)
    ]


def _check_paths(manifest: Manifest, seen: Seen) -> list[Diagnostic]:
    return [
        Diagnostic(
            "SP4072",
            f"{job.symbol}: the module names {seen.modules[job.output].source_files[0]}",
            Place(job.file),
            cause="debug information records where the source was compiled",
            fix="set `debug: false`, or compile from relative paths",
            subject=job.symbol,
            severity=Severity.WARNING,
        )
        for job in manifest.shaders
        if job.output in seen.modules and seen.modules[job.output].source_files
    ]
