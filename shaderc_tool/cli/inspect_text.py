"""The readable form of `shaderpack inspect`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from shaderc_tool.audit.artifact_json import Modules, dotted, newest_versions
from shaderc_tool.audit.artifacts import Description, LibraryReport, ShaderReport
from shaderc_tool.audit.payloads import Payload
from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.metallib import Function
from shaderc_tool.formats.metallib_sources import read_sources

if TYPE_CHECKING:
    from shaderc_tool.formats.air import AirModule, EntryPoint

SHOWN_SYMBOLS = 40
_KINDS = {
    "metallib": "Metal library",
    "air": "AIR bitcode",
    "spirv": "SPIR-V",
    "fat": "fat file",
    "mach-o": "Mach-O",
    "elf": "ELF",
    "pe": "PE",
    "coff": "COFF",
    "archive": "static archive",
    "zip": "zip",
    "msl": "Metal source",
    "folder": "folder",
}


def render(
    description: Description, select: Callable[[str], bool], modules: Mapping[int, Modules], indent: str = ""
) -> Iterator[str]:
    """Lines for one file. `modules` gives parsed bitcode by `id` of the library report."""
    what = " ".join(filter(None, [_KINDS.get(description.kind, "unknown"), description.architecture]))
    yield f"{indent}{description.name}: {what}, {description.size:,} bytes"
    inner = indent + "  "
    for fault in description.faults:
        yield f"{inner}damaged: {fault.message}" + (f" (at byte {fault.offset:#x})" if fault.offset >= 0 else "")
    for report in description.libraries:
        yield from (inner + line for line in _library(report, select, modules.get(id(report), {})))
    yield from (inner + line for line in _shaders(description.shaders))
    for payload in description.payloads:
        yield from (inner + line for line in _source(payload, select))
    if description.air:
        yield from (inner + line for line in _air(description.air))
    if description.defined:
        yield from (inner + line for line in _symbols(description.defined))
    for member in description.members:
        yield from render(member, select, modules, inner)


def _library(report: LibraryReport, select: Callable[[str], bool], modules: Modules) -> Iterator[str]:
    library = report.library
    air, language = newest_versions(library)
    place = f" at {report.offset:#x}" if report.offset or report.where else ""
    place += f" in {report.where}" if report.where else ""
    versions = f", AIR {air}, Metal {language}" if air else ""
    yield f"library{place}: {library.file_type_name} {library.container} for {library.os_name}{versions}"
    if library.uuid:
        yield f"  uuid {library.uuid}"
    try:
        sources = read_sources(library)
    except FormatError:
        sources = None
    if sources:
        yield f"  recorded sources: {', '.join(f.name for a in sources.archives for f in a.files)}"
    chosen = [f for f in library.functions if select(f.name)]
    yield f"  {len(library.functions)} functions" + (
        f", {len(chosen)} shown" if len(chosen) != len(library.functions) else ""
    )
    yield from (
        "    " + line for line in table(("type", "function", "AIR", "Metal", "bytes", "constants"), map(_row, chosen))
    )
    for function in chosen:
        if module := modules.get(function.name):
            for entry in module.entry_points:
                yield from ("  " + line for line in _arguments(entry))
    shown = [f for f in report.findings if not f.function or select(f.function)]
    if shown:
        yield "  findings"
        yield from (f"    {f.kind}: {f.message}" for f in shown)


def _source(payload: Payload, select: Callable[[str], bool]) -> Iterator[str]:
    """Source text and what is wrong with other payloads; whole libraries and modules are listed by themselves."""
    name = payload.name or f"at {payload.offset:#x}"
    if payload.problem:
        yield f"payload {name}: {payload.problem}"
    if payload.kind == "msl":
        yield f"source {name} ({payload.form}): {payload.size:,} bytes, {len(payload.kernels)} kernels"
        yield from (f"    {kernel.name}" for kernel in payload.kernels if select(kernel.name))


def _row(function: Function) -> Sequence[str]:
    try:
        constants = " ".join(f"{c.name}:{c.type_name}[{c.index}]" for c in function.constants)
    except FormatError:
        constants = "damaged"
    versions = dotted(function.air_version), dotted(function.language_version)
    return (function.type_name, function.name, *versions, str(len(function.bitcode)), constants)


def table(heads: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    """Left-aligned columns, none for no rows."""
    cells = list(rows)
    if not cells:
        return
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    for row in (heads, *cells):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _shaders(shaders: Sequence[ShaderReport]) -> Iterator[str]:
    if not shaders:
        return
    yield f"{len(shaders)} SPIR-V {'module' if len(shaders) == 1 else 'modules'}"
    heads = ("at", "bytes", "SPIR-V", "entry points", "bindings", "push constants")
    yield from ("  " + line for line in table(heads, map(_shader_row, shaders)))


def _shader_row(report: ShaderReport) -> Sequence[str]:
    module = report.module
    entries = " ".join(
        f"{e.execution_model} {e.name}" + (f"({','.join(map(str, e.local_size))})" if e.local_size else "")
        for e in module.entry_points
    )
    size = module.push_constants.size if module.push_constants else 0
    version = dotted(module.version)
    return (f"{report.offset:#x}", str(report.size), version, entries, str(len(module.bindings)), f"{size} bytes")


def _air(module: AirModule) -> Iterator[str]:
    yield f"AIR {dotted(module.air_version)}, Metal {dotted(module.language_version)}, {module.triple}"
    if module.compiler:
        yield f"compiler {module.compiler}"
    for entry in module.entry_points:
        yield from _arguments(entry)


def _arguments(entry: EntryPoint) -> Iterator[str]:
    limit = f", at most {entry.max_threads} threads" if entry.max_threads else ""
    yield f"{entry.stage} {entry.name}{limit}"
    heads = ("index", "kind", "type", "name", "access", "")
    rows = (
        (str(a.index) if a.index >= 0 else "", a.kind, a.type_name, a.name, a.access, "unused" if a.unused else "")
        for a in entry.arguments
    )
    yield from ("  " + line for line in table(heads, rows))


def _symbols(symbols: Sequence[str]) -> Iterator[str]:
    yield f"{len(symbols)} defined symbols"
    yield from (f"  {name}" for name in symbols[:SHOWN_SYMBOLS])
    if len(symbols) > SHOWN_SYMBOLS:
        yield f"  … and {len(symbols) - SHOWN_SYMBOLS} more; --json lists all"
