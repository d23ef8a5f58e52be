"""Types of kernel parameters, read from the debug information that clang writes.

The DWARF nodes carry what AIR's argument metadata needs and LLVM's types lack: signedness, field names and offsets,
type names, constness.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from shaderc_tool.msl.air.module import IrModule

_NODE = re.compile(r"(?:distinct )?!(DI\w+)\((.*)\)$")
_ATTRIBUTE = re.compile(r'(\w+): ("(?:[^"\\]|\\.)*"|!\{\}|![0-9]+|[^,]+)')
_BASIC = {
    "unsigned int": "uint",
    "unsigned char": "uchar",
    "unsigned short": "ushort",
    "unsigned long": "ulong",
    "signed char": "char",
}


@dataclass(frozen=True)
class Field:
    """A field of a structure. `count` is 0 for no array; `size` is that of one element; `offset` in bytes."""

    name: str
    offset: int
    count: int
    type: ValueType


@dataclass(frozen=True)
class ValueType:
    """A type as AIR describes it: Metal's name, size and alignment in bytes, fields when it is a structure."""

    name: str
    size: int
    align: int
    fields: tuple[Field, ...] = ()
    is_pointer: bool = False


@dataclass(frozen=True)
class ParameterType:
    """A parameter: what it is or points to. `space` is -1 for a value."""

    type: ValueType
    space: int = -1
    is_reference: bool = False
    is_const: bool = False


@dataclass
class DebugTypes:
    """Reads type nodes of one module, each once."""

    module: IrModule
    _cache: dict[int, ValueType] = field(default_factory=dict)

    def parameters(self, pointer: int) -> list[ParameterType]:
        """The parameter types of a node that is a pointer to a DISubroutineType."""
        fields = self._strip_typedefs(pointer)
        while fields.get("kind") != "DISubroutineType":
            fields = self._strip_typedefs(self._reference(fields, "baseType"))
        items = self.module.metadata[self._reference(fields, "types")]
        return [self._parameter(int(n)) for n in re.findall(r"!(\d+)", items)]

    def _fields(self, node: int) -> dict[str, str]:
        match = _NODE.match(self.module.metadata[node])
        if match is None:
            return {}
        found = {key: value.strip() for key, value in _ATTRIBUTE.findall(match[2])}
        found["kind"] = match[1]
        return found

    @staticmethod
    def _reference(fields: dict[str, str], key: str) -> int:
        value = fields.get(key, "")
        return int(value[1:]) if value[1:].isdigit() else -1

    def _parameter(self, node: int) -> ParameterType:
        fields = self._strip_typedefs(node)
        tag = fields.get("tag", "")
        if tag in ("DW_TAG_pointer_type", "DW_TAG_reference_type"):
            target = self._reference(fields, "baseType")
            pointee = self.value(target) if target >= 0 else ValueType("void", 0, 0)
            return ParameterType(
                pointee,
                int(fields.get("dwarfAddressSpace", "0")),
                tag == "DW_TAG_reference_type",
                target >= 0 and self._is_const(target),
            )
        return ParameterType(self.value(node))

    def _strip_typedefs(self, node: int) -> dict[str, str]:
        fields = self._fields(node)
        while fields.get("tag") in ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type"):
            node = self._reference(fields, "baseType")
            if node < 0:
                return {}
            fields = self._fields(node)
        return fields

    def _is_const(self, node: int) -> bool:
        fields = self._fields(node)
        while fields.get("tag") in ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_array_type"):
            if fields["tag"] == "DW_TAG_const_type":
                return True
            node = self._reference(fields, "baseType")
            if node < 0:
                return False
            fields = self._fields(node)
        return False

    def value(self, node: int) -> ValueType:
        """The type of an object."""
        if node not in self._cache:
            self._cache[node] = self._value(node)
        return self._cache[node]

    def _value(self, node: int) -> ValueType:
        fields = self._fields(node)
        tag = fields.get("tag", "")
        size = int(fields.get("size", "0")) // 8
        base = self._reference(fields, "baseType")
        if fields.get("kind") == "DIBasicType":
            name = fields["name"].strip('"')
            return ValueType(_BASIC.get(name, name), size, size)
        if tag in ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type"):
            return self.value(base) if base >= 0 else ValueType("void", 0, 0)
        if tag in ("DW_TAG_pointer_type", "DW_TAG_reference_type"):
            inner = self.value(base) if base >= 0 else ValueType("void", 0, 0)
            return ValueType(inner.name, 8, 8, is_pointer=True)
        if tag == "DW_TAG_enumeration_type":
            return self.value(base) if base >= 0 else ValueType("int", 4, 4)
        if tag == "DW_TAG_array_type":
            element = self.value(base)
            if "DIFlagVector" in fields.get("flags", ""):
                return ValueType(f"{element.name}{self._counts(fields)}", size, size)
            return element
        return self._record(fields, size)

    def _counts(self, fields: dict[str, str]) -> int:
        total = 1
        elements = self._reference(fields, "elements")
        for number in re.findall(r"!(\d+)", self.module.metadata.get(elements, "")):
            total *= max(int(self._fields(int(number)).get("count", "1")), 0)
        return total

    def _record(self, fields: dict[str, str], size: int) -> ValueType:
        name = self._qualified(fields)
        special = _special(name, size)
        if special is not None:
            return special
        members = self._members(fields, 0)
        align = max([m.type.align for m in members], default=1)
        declared = int(fields.get("align", "0")) // 8
        return ValueType(name.split("<")[0], size, max(align, declared), tuple(members))

    def _members(self, record: dict[str, str], base: int) -> list[Field]:
        found: list[Field] = []
        elements = self._reference(record, "elements")
        for number in re.findall(r"!(\d+)", self.module.metadata.get(elements, "")):
            fields = self._fields(int(number))
            if fields.get("tag") not in ("DW_TAG_member", "DW_TAG_inheritance") or "DIFlagStaticMember" in fields.get(
                "flags", ""
            ):
                continue
            offset = base + int(fields.get("offset", "0")) // 8
            target = self._reference(fields, "baseType")
            inner = self._strip_typedefs(target)
            if "name" not in fields:  # a base class or an anonymous structure: its fields are the record's own
                found += self._members(inner, offset)
                continue
            is_array = inner.get("tag") == "DW_TAG_array_type" and "DIFlagVector" not in inner.get("flags", "")
            count = self._counts(inner) if is_array else 0
            found.append(Field(fields["name"].strip('"'), offset, count, self.value(target)))
        return found

    def _qualified(self, fields: dict[str, str]) -> str:
        name = fields.get("name", '"(anonymous)"').strip('"')
        scope = self._reference(fields, "scope")
        while scope >= 0:
            outer = self._fields(scope)
            if outer.get("kind") not in ("DINamespace", "DICompositeType"):
                break
            name = f"{outer.get('name', '').strip(chr(34))}::{name}"
            scope = self._reference(outer, "scope")
        return name


def _special(name: str, size: int) -> ValueType | None:
    """Shim classes that Metal knows as built-in types."""
    if name == "metal::bfloat":
        return ValueType("bfloat", 2, 2)
    packed = re.fullmatch(r"metal::packed_vec<(.+), (\d)>", name)
    if packed is not None:
        element = _BASIC.get(packed[1], packed[1])
        return ValueType(f"packed_{element}{packed[2]}", size, size // int(packed[2]))
    matrix = re.fullmatch(r"metal::matrix<(\w+), (\d), (\d)>", name)
    if matrix is not None:
        return ValueType(f"{matrix[1]}{matrix[2]}x{matrix[3]}", size, size // int(matrix[2]))
    if re.fullmatch(r"bool[234]", name):
        return ValueType(name, size, size)
    return None
