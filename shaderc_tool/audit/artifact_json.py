"""A description as JSON: the keys are listed in docs/inspect.md and stay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from shaderc_tool.audit.artifacts import Description, LibraryReport, ShaderReport
from shaderc_tool.audit.payloads import Payload
from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.metallib import Function, Library
from shaderc_tool.formats.metallib_sources import read_sources

if TYPE_CHECKING:
    from shaderc_tool.formats.air import AirModule

Select = Callable[[str], bool]
Modules = Mapping[str, "AirModule"]


def description_json(
    description: Description, select: Select, modules: Mapping[int, Modules] | None = None
) -> dict[str, Any]:
    """One file. `select` filters functions by name; `modules` gives parsed bitcode by `id` of the library report."""
    known = modules or {}
    return {
        "file": description.name,
        "kind": description.kind,
        "size": description.size,
        "architecture": description.architecture,
        "libraries": [_library(report, select, known.get(id(report), {})) for report in description.libraries],
        "shaders": [_shader(report) for report in description.shaders],
        "air": air_json(description.air) if description.air else None,
        "payloads": [_payload(payload, select) for payload in description.payloads],
        "platform": description.platform,
        "min_os": dotted(description.min_os),
        "sections": [{"name": s.name, "offset": s.offset, "size": s.size} for s in description.sections],
        "symbols": list(description.defined),
        "members": [description_json(member, select, known) for member in description.members],
        "faults": [{"message": f.message, "offset": f.offset} for f in description.faults],
    }


def _payload(payload: Payload, select: Select) -> dict[str, Any]:
    return {
        "name": payload.name,
        "form": payload.form,
        "kind": payload.kind,
        "offset": payload.offset,
        "size": payload.size,
        "kernels": [kernel.name for kernel in payload.kernels if select(kernel.name)],
        "problem": payload.problem,
    }


def dotted(version: tuple[int, ...]) -> str:
    """`2.6`, `13.3.1`: the third number only when it says something."""
    return ".".join(map(str, version if len(version) < 3 or version[2] else version[:2]))


def newest_versions(library: Library) -> tuple[str, str]:
    """The newest AIR and language version among the functions, empty for a library without functions."""
    pairs = library.versions()
    if not pairs:
        return "", ""
    return dotted(max(air for air, _ in pairs)), dotted(max(language for _, language in pairs))


def _library(report: LibraryReport, select: Select, modules: Modules) -> dict[str, Any]:
    library = report.library
    air, language = newest_versions(library)
    return {
        "offset": report.offset,
        "size": report.size,
        "where": report.where,
        "container": library.container,
        "type": library.file_type_name,
        "platform": library.platform_name,
        "deployment_target": dotted(library.os_version) if library.platform else "",
        "os": library.os_name,
        "air": air,
        "language": language,
        "dialect": library.dialect.value,
        "uuid": library.uuid,
        **_dynamic(library),
        "function_count": len(library.functions),
        "functions": [_function(f, modules.get(f.name)) for f in library.functions if select(f.name)],
        "sources": _sources(library),
        "findings": [
            {"kind": f.kind, "message": f.message, "function": f.function}
            for f in report.findings
            if not f.function or select(f.function)
        ],
    }


def _dynamic(library: Library) -> dict[str, Any]:
    try:
        return {"install_name": library.install_name, "linked_libraries": list(library.linked_libraries)}
    except FormatError:
        return {"install_name": "", "linked_libraries": []}  # a finding of the library says so


def _function(function: Function, module: AirModule | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": function.name,
        "type": function.type_name,
        "air": dotted(function.air_version),
        "language": dotted(function.language_version),
        "bitcode_size": len(function.bitcode),
        "sha256": function.recorded_hash.hex(),
        "constants": _constants(function),
    }
    if function.patch:
        row["patch"] = {"type": function.patch[0], "control_points": function.patch[1]}
    if function.layer_type:
        row["layer_type"] = function.layer_type
    if module is not None:
        row["bitcode"] = air_json(module)
    return row


def _constants(function: Function) -> list[dict[str, Any]]:
    try:
        constants = function.constants
    except FormatError:
        return []  # a finding of the library says so
    return [{"name": c.name, "type": c.type_name, "index": c.index, "active": c.active} for c in constants]


def _sources(library: Library) -> dict[str, Any] | None:
    try:
        sources = read_sources(library)
    except FormatError:
        return None  # a finding of the library says so
    if sources is None:
        return None
    return {
        "link_command": sources.link_command,
        "working_folder": sources.working_folder,
        "archives": [
            {
                "identifier": archive.identifier,
                "input": archive.input_name,
                "options": archive.options,
                "files": [{"name": file.name, "size": len(file.data)} for file in archive.files],
            }
            for archive in sources.archives
        ],
    }


def _shader(report: ShaderReport) -> dict[str, Any]:
    module = report.module
    return {
        "offset": report.offset,
        "size": report.size,
        "version": dotted(module.version),
        "generator": module.generator,
        "entry_points": [
            {"name": e.name, "stage": e.execution_model, "local_size": list(e.local_size) if e.local_size else None}
            for e in module.entry_points
        ],
        "bindings": [{"set": b.set, "binding": b.binding, "kind": b.kind, "name": b.name} for b in module.bindings],
        "push_constant_size": module.push_constants.size if module.push_constants else 0,
        "capabilities": list(module.capabilities),
    }


def air_json(module: AirModule) -> dict[str, Any]:
    """One AIR module."""
    return {
        "triple": module.triple,
        "platform": module.platform,
        "deployment_target": dotted(module.deployment_target),
        "air": dotted(module.air_version),
        "language": dotted(module.language_version),
        "compiler": module.compiler,
        "threadgroup_bytes": module.threadgroup_bytes,
        "entry_points": [
            {
                "name": entry.name,
                "stage": entry.stage,
                "max_threads": entry.max_threads,
                "arguments": [
                    {
                        "name": a.name,
                        "kind": a.kind,
                        "index": a.index,
                        "type": a.type_name,
                        "access": a.access,
                        "size": a.size,
                        "unused": a.unused,
                    }
                    for a in entry.arguments
                ],
            }
            for entry in module.entry_points
        ],
        "intrinsics": list(module.intrinsics),
    }
