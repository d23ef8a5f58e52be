"""Layouts of argument structs in C, Metal and SPIR-V as one kind of value, and static asserts made from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from shaderc_tool.formats.air_arguments import Argument, StructField
from shaderc_tool.formats.spirv_types import Block

_ROW: Final = re.compile(r"\s*(\d+)(?::\d+-\d+)? \| (\s*)(.*\S)")
_SIZE: Final = re.compile(r"\[sizeof=(\d+),")
_TITLE: Final = "*** Dumping AST Record Layout"
_TAG: Final = re.compile(r"(?:struct|class|union) (\S+)(?: \(empty\))?")


@dataclass(frozen=True)
class Field:
    """One member. `name` is a path such as `shape.width`, empty when the form keeps no names; `offset` in bytes."""

    name: str
    offset: int
    type: str


@dataclass(frozen=True)
class Layout:
    """A struct as one language lays it out. `size` in bytes, with padding at the end as far as the form records it."""

    name: str
    fields: tuple[Field, ...]
    size: int

    def offset(self, name: str) -> int | None:
        return next((field.offset for field in self.fields if field.name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)


def parse_record_layouts(text: str) -> dict[str, Layout]:
    """Clang's `-fdump-record-layouts-complete` output as layouts by record name. Members of members have paths."""
    layouts: dict[str, Layout] = {}
    for block in text.split(_TITLE)[1:]:
        lines = block.strip("\n").splitlines()
        title, size = _ROW.match(lines[0]) if lines else None, _SIZE.search(block)
        tag = _TAG.fullmatch(title[3]) if title else None
        if tag and size:
            layouts[tag[1]] = Layout(tag[1], tuple(_record_fields(lines[1:])), int(size[1]))
    return layouts


def _record_fields(lines: list[str]) -> Iterator[Field]:
    parents: list[tuple[int, str]] = []
    rows = [(int(m[1]), len(m[2]), m[3]) for m in map(_ROW.match, lines) if m]
    for position, (offset, depth, text) in enumerate(rows):
        if text.endswith("(base)") or text.startswith("("):
            continue
        kind, _, name = text.rpartition(" ")
        while parents and parents[-1][0] >= depth:
            parents.pop()
        path = ".".join([*(p for _, p in parents), name])
        has_members = position + 1 < len(rows) and rows[position + 1][1] > depth
        if has_members:
            parents.append((depth, name))
        else:
            yield Field(path, offset, kind)


def metal_layout(argument: Argument) -> Layout:
    """The struct behind a buffer argument, from the AIR's struct type information."""
    return Layout(argument.type_name, tuple(_metal_fields(argument.fields, "", 0)), argument.size)


def _metal_fields(fields: Iterable[StructField], path: str, base: int) -> Iterator[Field]:
    for field in fields:
        name = f"{path}{field.name}"
        if field.fields and not field.count:
            yield from _metal_fields(field.fields, f"{name}.", base + field.offset)
        else:
            suffix = f"[{field.count}]" if field.count else ""
            yield Field(name, base + field.offset, f"{field.type_name}{suffix}")


def spirv_layout(block: Block) -> Layout:
    """A push-constant or buffer block, from its member decorations."""
    return Layout(block.name, tuple(Field(m.name, m.offset, m.type) for m in block.members), block.size)


def shared_differences(host: Layout, shader: Layout) -> list[str]:
    """The same for two structs that only share fields, such as push constants with more members than a Metal struct."""
    return [
        f"{field.name} is at byte {field.offset} in the shader, at byte {offset} in the host's struct"
        for field in shader.fields
        if (offset := host.offset(field.name)) is not None and offset != field.offset
    ]


def differences(host: Layout, shader: Layout) -> list[str]:
    """How a shader's layout differs from the host's, each with both offsets. Fields without names go by position."""
    found = []
    named = all(shader.names)
    for index, field in enumerate(shader.fields):
        if named:
            name, offset = field.name, host.offset(field.name)
        else:
            name = host.fields[index].name if index < len(host.fields) else f"member {index}"
            offset = host.fields[index].offset if index < len(host.fields) else None
        if offset is None:
            found.append(f"{name} is at byte {field.offset} in the shader and not in the host's struct")
        elif offset != field.offset:
            found.append(f"{name} is at byte {field.offset} in the shader, at byte {offset} in the host's struct")
    if named:
        found += [
            f"{field.name} is at byte {field.offset} in the host's struct and not in the shader"
            for field in host.fields
            if shader.offset(field.name) is None
        ]
    if not found and shader.size > host.size:
        found.append(f"the shader reads {shader.size} bytes, the host's struct has {host.size}")
    return found


def table(host: Layout, shaders: dict[str, Layout]) -> str:
    """All layouts side by side, one row a field: what a diagnostic shows as detail."""
    names = list(dict.fromkeys([*host.names, *(n for layout in shaders.values() for n in layout.names if n)]))
    columns = {"host": host, **shaders}
    width = max([len("field"), len("size"), *map(len, names)])
    lines = ["  ".join(["field".ljust(width), *columns])]
    for name in names:
        cells = []
        for title, layout in columns.items():
            offset = layout.offset(name)
            cells.append(("-" if offset is None else str(offset)).rjust(len(title)))
        lines.append("  ".join([name.ljust(width), *cells]))
    lines.append("  ".join(["size".ljust(width), *(str(c.size).rjust(len(t)) for t, c in columns.items())]))
    return "\n".join(lines)


def static_asserts(header: str, layouts: Iterable[Layout]) -> str:
    """A C11 and C++11 header that compiles only where the host lays the structs out as the shaders do."""
    guard = re.sub(r"\W", "_", header).upper() + "_LAYOUT"
    lines = [
        "// Offsets as the shaders have them. Include this once in the host code.",
        f"#ifndef {guard}",
        f"#define {guard}",
        "#include <stddef.h>",
        f'#include "{header}"',
        "",
        "#if defined(__cplusplus)",
        "#define SHADERPACK_ASSERT(condition, text) static_assert(condition, text)",
        "#else",
        "#define SHADERPACK_ASSERT(condition, text) _Static_assert(condition, text)",
        "#endif",
    ]
    for layout in layouts:
        lines.append("")
        for field in layout.fields:
            what = f"{layout.name}.{field.name}"
            condition = f"offsetof({layout.name}, {field.name}) == {field.offset}"
            lines.append(f'SHADERPACK_ASSERT({condition}, "{what} is at byte {field.offset} in the shaders");')
        condition = f"sizeof({layout.name}) >= {layout.size}"
        lines.append(f'SHADERPACK_ASSERT({condition}, "the shaders read {layout.size} bytes of {layout.name}");')
    return "\n".join([*lines, "", "#undef SHADERPACK_ASSERT", f"#endif // {guard}", ""])
