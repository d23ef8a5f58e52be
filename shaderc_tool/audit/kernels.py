"""Every kernel of some artifacts as one flat list, with interface, digest and place: what rules, baselines and diffs
compare."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shaderc_tool.audit.artifacts import Description, LibraryReport, ShaderReport
from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.spirv import Module

Interface = dict[str, Any]
"""What a host must match, as JSON data: bindings, buffers, argument structs, local size, constants."""


@dataclass(frozen=True)
class Kernel:
    """One kernel in one artifact.

    `artifact` names the file or member, `form` is metallib, air, spirv or msl. `target` is the platform or environment
    that the bytes record, such as `ios 17.0`. `sha256` is that of the bitcode or module, empty for source text. `unit`
    is what a program loads as one: an embedded library, a slice, a file; empty when that is not known.
    """

    name: str
    artifact: str
    form: str
    target: str = ""
    size: int = 0
    sha256: str = ""
    unit: str = ""
    interface: Interface = field(default_factory=dict, compare=False)

    def value(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "name": self.name,
            "artifact": self.artifact,
            "form": self.form,
            "target": self.target,
            "size": self.size,
            "sha256": self.sha256,
            "interface": self.interface,
        }


def list_kernels(descriptions: Sequence[Description], *, arguments: bool = False) -> list[Kernel]:
    """All kernels, sorted by name and artifact. With `arguments`, the bitcode is read for argument tables (slow)."""
    found = [kernel for description in descriptions for part in description.walk() for kernel in _of(part, arguments)]
    return sorted(found, key=lambda k: (k.name, k.artifact, k.unit))


def _of(part: Description, arguments: bool) -> Iterator[Kernel]:
    for report in part.libraries:
        yield from _of_library(part, report, arguments)
    if part.air:
        target = f"{part.air.platform} {dotted(part.air.deployment_target)}".strip()
        digest = hashlib.sha256(part.bitcode).hexdigest()
        for entry in part.air.entry_points:
            interface = air_interface(entry)
            yield Kernel(entry.name, part.name, "air", target, part.size, digest, part.name, interface)
    yield from _of_shaders(part)
    for payload in part.payloads:
        for kernel in payload.kernels:
            # A text without a name may be anything, such as a probe that is compiled twice on purpose.
            unit = f"{part.name}@{payload.offset:#x}" if payload.form != "scan" else ""
            yield Kernel(kernel.name, part.name, "msl", unit=unit)


def _of_library(part: Description, report: LibraryReport, arguments: bool) -> Iterator[Kernel]:
    library = report.library
    target = f"{library.platform_name} {dotted(library.os_version)}" if library.platform else ""
    for function in library.functions:
        interface: Interface = {}
        try:
            constants = [[c.index, c.name, c.type_name] for c in function.constants]
        except FormatError:
            constants = []
        if constants:
            interface["function_constants"] = constants
        if arguments and function.hash_matches():
            interface |= _bitcode_interface(bytes(function.bitcode), function.name)
        digest = function.recorded_hash.hex() or hashlib.sha256(function.bitcode).hexdigest()
        unit = f"{part.name}@{report.offset:#x}"
        yield Kernel(function.name, part.name, "metallib", target, len(function.bitcode), digest, unit, interface)


def _bitcode_interface(bitcode: bytes, name: str) -> Interface:
    from shaderc_tool.formats.air import read_air

    try:
        return air_interface(read_air(bitcode).entry_point(name))
    except (FormatError, KeyError):
        return {}


def air_interface(entry: Any) -> Interface:
    """Buffers by index with their struct members, and textures and samplers, of an `air.EntryPoint`."""
    buffers = [
        {
            "index": a.index,
            "space": a.address_space,
            "type": a.type_name,
            "access": a.access,
            "fields": [[f.offset, f.type_name, f.name] for f in a.fields],
        }
        for a in entry.arguments
        if a.is_buffer
    ]
    others = [[a.kind, a.index, a.type_name] for a in entry.arguments if not a.is_buffer and not a.is_builtin]
    interface: Interface = {"buffers": buffers}
    if others:
        interface["resources"] = others
    if entry.max_threads:
        interface["max_threads"] = entry.max_threads
    return interface


def _of_shaders(part: Description) -> Iterator[Kernel]:
    by_offset = {payload.offset: payload.name for payload in part.payloads if payload.kind == "spirv"}
    for report in part.shaders:
        name = Path(part.name).stem if part.kind == "spirv" else by_offset.get(report.offset, "")
        if name:
            yield _of_module(part, report, name)


def _of_module(part: Description, report: ShaderReport, name: str) -> Kernel:
    module = report.module
    target = f"spirv {dotted(module.version)}"
    return Kernel(
        name, part.name, "spirv", target, report.size, report.sha256, f"{part.name}@{report.offset:#x}",
        spirv_interface(module),
    )  # fmt: skip


def spirv_interface(module: Module) -> Interface:
    """Entry points with local sizes, bindings, push constants and specialization constants."""
    interface: Interface = {
        "entry_points": [[e.name, e.execution_model, list(e.local_size or ())] for e in module.entry_points],
        "bindings": [[b.set, b.binding, b.kind, b.count] for b in module.bindings],
    }
    if module.push_constants:
        interface["push_constants"] = [[m.offset, m.type, m.name] for m in module.push_constants.members]
    if module.spec_constants:
        interface["spec_constants"] = [[c.spec_id, c.type, c.name] for c in module.spec_constants]
    return interface


def dotted(version: tuple[int, ...]) -> str:
    """`14.0`, `13.3.1`: the third number only when it says something."""
    return ".".join(map(str, version if len(version) < 3 or version[2] else version[:2]))
