"""SP4065 and SP4066: argument structs of host, Metal and SPIR-V have one layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from shaderc_tool.audit.layouts import Layout, differences, metal_layout, shared_differences, spirv_layout, table
from shaderc_tool.diagnostics import Diagnostic, Place
from shaderc_tool.formats.air import EntryPoint
from shaderc_tool.formats.spirv import Module
from shaderc_tool.manifest.model import StructHeader


@dataclass(frozen=True)
class ShaderStruct:
    """The argument struct of one kernel of one target. `group` joins the Metal and Vulkan forms of one kernel: what
    they are verified against. `language` is `Metal` or `SPIR-V`."""

    symbol: str
    target: str
    language: str
    layout: Layout
    file: str
    group: str = ""


def metal_structs(symbol: str, target: str, entry: EntryPoint, file: str, group: str) -> Iterator[ShaderStruct]:
    """The structs in constant memory that an entry point takes."""
    for argument in entry.arguments:
        if argument.is_buffer and argument.address_space == 2 and argument.fields:
            yield ShaderStruct(symbol, target, "Metal", metal_layout(argument), file, group)


def spirv_structs(
    symbol: str, target: str, module: Module, file: str, group: str, names: Sequence[str] = ()
) -> Iterator[ShaderStruct]:
    """The push-constant block of a module. `names` are the declared members, as optimized modules keep none."""
    if module.push_constants:
        layout = spirv_layout(module.push_constants)
        if len(names) == len(layout.fields) and not all(layout.names):
            fields = tuple(replace(f, name=name) for f, name in zip(layout.fields, names, strict=True))
            layout = replace(layout, fields=fields)
        yield ShaderStruct(symbol, target, "SPIR-V", layout, file, group)


def check_structs(
    header: StructHeader, records: Mapping[str, Layout], structs: Sequence[ShaderStruct]
) -> list[Diagnostic]:
    """Compare every shader struct that belongs to the header.

    With `struct` and `kernels`, those kernels take that record. Else a record is found by the Metal type's name, for
    SPIR-V by the Metal form of the same kernel or by equal field names.
    """
    if header.struct and header.struct not in records:
        return [_unknown(header, f"{header.header} has no record {header.struct}")]
    pairs = matched(header, records, structs)
    if header.struct and not pairs:
        return [_unknown(header, f"no kernel is called {', '.join(header.kernels)}")]
    found: dict[tuple[str, str, str], Diagnostic] = {}
    for struct, record in pairs:
        wrong = _compare(header, record, struct)
        if wrong:
            group = (struct.group or struct.symbol, record)
            same = {f"{s.symbol} {s.language}": s.layout for s, r in pairs if (s.group or s.symbol, r) == group}
            key = (struct.symbol, record.name, struct.language)
            found.setdefault(key, _differs(header, record, struct, wrong, table(record, same)))
    return list(found.values())


def _compare(header: StructHeader, record: Layout, struct: ShaderStruct) -> list[str]:
    """Push constants that were joined with a record only by what they are verified against may have other members."""
    names = set(struct.layout.names)
    if struct.language == "SPIR-V" and not header.struct and "" not in names and names != set(record.names):
        return shared_differences(record, struct.layout)
    return differences(record, struct.layout)


def matched(
    header: StructHeader, records: Mapping[str, Layout], structs: Sequence[ShaderStruct]
) -> list[tuple[ShaderStruct, Layout]]:
    """The shader structs that belong to a record of the header, each with its record."""
    if header.struct:
        record = records.get(header.struct)
        hits = [s for s in structs if any(fnmatchcase(s.symbol, glob) for glob in header.kernels)]
        return [(s, record) for s in hits] if record else []
    groups = {s.group: s.layout.name for s in structs if s.language == "Metal" and s.group and s.layout.name in records}
    by_names = {frozenset(record.names): record for record in records.values()}
    pairs = []
    for struct in structs:
        name = struct.layout.name if struct.language == "Metal" else groups.get(struct.group, "")
        found = records.get(name) or (None if name else by_names.get(frozenset(struct.layout.names)))
        if found is not None:
            pairs.append((struct, found))
    return pairs


def _differs(
    header: StructHeader, record: Layout, struct: ShaderStruct, wrong: Sequence[str], detail: str
) -> Diagnostic:
    return Diagnostic(
        "SP4065",
        f"{struct.symbol}: {record.name}: {'; '.join(wrong)}",
        Place(struct.file),
        cause=f"{header.header} and the {struct.language} form lay the struct out differently",
        fix="use members of one size and alignment in all languages: no vec3, explicit padding, the same order",
        subject=struct.symbol,
        detail=detail,
    )


def _unknown(header: StructHeader, why: str) -> Diagnostic:
    return Diagnostic(
        "SP4066",
        f"an entry of audit.structs compares nothing: {why}",
        header.place,
        cause=why,
        fix="correct the name of the record or of the kernels",
        subject=header.struct or header.header,
    )
