"""The gate over Metal libraries: required kernels, target, hashes and argument tables, all from the bytes."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from shaderc_tool.audit.ledger import library_output
from shaderc_tool.audit.rules_math import check_math
from shaderc_tool.diagnostics import Diagnostic, Place, Related, Severity
from shaderc_tool.formats.air import AirModule, EntryPoint, read_air
from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.metallib import read_library
from shaderc_tool.formats.metallib_model import Function, Library
from shaderc_tool.manifest.model import MetalFunction, MetalUnit, Target
from shaderc_tool.toolchains.apple_check import check_metallib
from shaderc_tool.toolchains.apple_targets import AppleTarget

Read = Callable[[str], "bytes | None"]


@dataclass
class LibraryAudit:
    """The findings, the names in each target's library, and the bitcode of declared functions by (target, name)."""

    found: list[Diagnostic] = field(default_factory=list)
    names: dict[str, set[str]] = field(default_factory=dict)
    modules: dict[tuple[str, str], AirModule] = field(default_factory=dict)


def audit_libraries(
    targets: Iterable[Target], units: Sequence[MetalUnit], read: Read, digests: Mapping[str, str]
) -> LibraryAudit:
    """Check the library of every Metal target that has units. `digests` are the SHA-256 that the build recorded."""
    audit = LibraryAudit()
    for target in targets:
        mine = [unit for unit in units if unit.target == target.name]
        if mine:
            output = library_output(target.name)
            found = _audit_library(target, mine, read(output), digests, audit)
            # The same kernel may be sound in another target's library.
            audit.found += [replace(d, related=(Related(Place(output), "in this library"),)) for d in found]
    return audit


def _audit_library(
    target: Target, units: list[MetalUnit], data: bytes | None, digests: Mapping[str, str], audit: LibraryAudit
) -> list[Diagnostic]:
    output = library_output(target.name)
    wanted = {f.name: (f, unit) for unit in units for f in unit.functions if f.is_wanted(target.std)}
    if data is None:
        return [_missing(name, output, place.place, "the library is not there") for name, (place, _) in wanted.items()]
    try:
        library = read_library(data)
    except FormatError as error:
        return [_damaged(output, target.place, str(error))]
    audit.names[target.name] = {function.name for function in library.functions}
    found = _check_functions(library, wanted, target, audit)
    extra = audit.names[target.name] - {function.name for unit in units for function in unit.functions}
    found += [_undeclared(sorted(extra), output)] if extra else []
    names = [function.name for function in library.functions]
    found += check_metallib(library, AppleTarget(target.sdk, target.min_os, target.std), names, output)
    recorded = digests.get(output)
    if recorded and recorded != hashlib.sha256(data).hexdigest():
        found.append(_stale(output, target.place))
    return found


def _check_functions(
    library: Library, wanted: Mapping[str, tuple[MetalFunction, MetalUnit]], target: Target, audit: LibraryAudit
) -> list[Diagnostic]:
    output = library_output(target.name)
    functions = {function.name: function for function in library.functions}
    found: list[Diagnostic] = []
    for name, count in Counter(f.name for f in library.functions).items():
        if count > 1:
            found.append(_duplicate(name, output, count))
    for name, (declared, unit) in wanted.items():
        function = functions.get(name)
        if function is None:
            cause = f"the library has {', '.join(sorted(functions)) or 'no function'}"
            found.append(_missing(name, output, declared.place, cause))
        elif not function.hash_matches():
            found.append(_damaged(output, declared.place, f"the bitcode of {name} does not match its hash"))
        elif declared.buffers:
            found += _check_bitcode(declared, unit, function, audit)
    return found


def _check_bitcode(
    declared: MetalFunction, unit: MetalUnit, function: Function, audit: LibraryAudit
) -> list[Diagnostic]:
    output = library_output(unit.target)
    try:
        module = read_air(bytes(function.bitcode))
        entry = module.entry_point(function.name)
    except (FormatError, KeyError) as error:
        return [_damaged(output, declared.place, f"the AIR of {function.name} cannot be read: {error}")]
    audit.modules[unit.target, function.name] = module
    return [*check_math(declared, unit, module), *_check_arguments(declared, unit, entry)]


def _check_arguments(declared: MetalFunction, unit: MetalUnit, entry: EntryPoint) -> list[Diagnostic]:
    has = sorted(a.index for a in entry.arguments if a.is_buffer and a.address_space != 3)
    if has != list(range(len(declared.buffers))):
        return [_drift(declared, unit, "buffer indices", str(list(range(len(declared.buffers)))), str(has))]
    if "args" in declared.buffers:
        return _check_struct(declared, unit, entry)
    return []


def _check_struct(declared: MetalFunction, unit: MetalUnit, entry: EntryPoint) -> list[Diagnostic]:
    argument = entry.buffer(declared.buffers.index("args"))
    members = [(f.offset, f.type_name, f.name) for f in argument.fields] if argument else []
    wanted = [(4 * i, m.type, m.name) for i, m in enumerate(declared.args)]
    if members == wanted:
        return []
    return [_drift(declared, unit, "argument struct (offset, type, name)", str(wanted), str(members))]


def _missing(name: str, output: str, place: Place, cause: str) -> Diagnostic:
    return Diagnostic(
        "SP4001",
        f"required kernel {name} is missing from {output}",
        place,
        cause=cause,
        fix="check the source for a guard that drops it (`__METAL_VERSION__`, a macro), or correct the name",
        subject=name,
    )


def _damaged(output: str, place: Place, why: str) -> Diagnostic:
    return Diagnostic(
        "SP4002",
        f"{output} is not a whole Metal library",
        place,
        cause=why,
        fix="build again; something else wrote to the output folder",
        subject=output,
    )


def _stale(output: str, place: Place) -> Diagnostic:
    return Diagnostic(
        "SP4008",
        f"{output} is not what the last build made",
        place,
        cause="its SHA-256 differs from report.json",
        fix="build again",
        subject=output,
    )


def _duplicate(name: str, output: str, count: int) -> Diagnostic:
    return Diagnostic(
        "SP4004",
        f"{name} is {count} times in {output}",
        cause="two sources define it, or one was linked twice",
        fix="rename one of the kernels, or make the shared helper `static`",
        subject=name,
    )


def _undeclared(names: list[str], output: str) -> Diagnostic:
    return Diagnostic(
        "SP4010",
        f"{output} has kernels that the manifest does not declare: {', '.join(names)}",
        cause="they ship without being required, checked or verified",
        fix="declare them under `functions:`, or remove them from the source",
        subject=output,
        severity=Severity.WARNING,
    )


def _drift(declared: MetalFunction, unit: MetalUnit, what: str, wanted: str, has: str) -> Diagnostic:
    return Diagnostic(
        "SP4005",
        f"{declared.name}: {what} differ from the manifest",
        Place(unit.file),
        cause=f"declared {wanted}, the library has {has}",
        fix="correct the shader; if the change is meant, change the manifest and the host code with it",
        subject=declared.name,
    )
