"""Types of a SPIR-V module: names, sizes and block layouts from the declarations that the reader collected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from shaderc_tool.formats import spirv_tables as t
from shaderc_tool.formats.errors import FormatError

MAX_DEPTH: Final = 255
MAX_MEMBERS: Final = 16_383
"""The universal limits on nesting and members of structures (section 2.17)."""
MAX_LABEL: Final = 255
"""Characters of a struct's name in the name of its type."""


@dataclass(frozen=True, slots=True)
class StructMember:
    """Offset and size in bytes. `size` is 0 for a run-time array. `array_stride` is 0 when it is no array.

    `struct` is the identifier of the struct that the member is or that its array holds, else 0: `Module.structs` has
    its layout.
    """

    name: str
    offset: int
    size: int
    type: str
    array_stride: int = 0
    array_length: int = 0
    struct: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Block:
    """A block's members in order; `size` in bytes is the end of the last sized member."""

    name: str
    members: tuple[StructMember, ...]
    identifier: int = field(default=0, compare=False)

    @property
    def size(self) -> int:
        return max((m.offset + m.size for m in self.members), default=0)


@dataclass
class Declarations:
    """Instructions of interest, by what they say."""

    types: dict[int, tuple[int, ...]] = field(default_factory=dict)
    type_offsets: dict[int, int] = field(default_factory=dict)
    constants: dict[int, tuple[int, ...]] = field(default_factory=dict)
    variables: list[tuple[int, int, int]] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    member_names: dict[tuple[int, int], str] = field(default_factory=dict)
    decorations: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)
    member_decorations: dict[tuple[int, int, int], tuple[int, ...]] = field(default_factory=dict)
    entries: list[tuple[int, int, str]] = field(default_factory=list)
    entry_names: set[tuple[int, str]] = field(default_factory=set)
    modes: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    capabilities: list[str] = field(default_factory=list)
    extensions: list[str] = field(default_factory=list)
    strings: list[str] = field(default_factory=list)
    conversions: list[str] = field(default_factory=list)
    functions: set[int] = field(default_factory=set)
    defined: set[int] = field(default_factory=set)
    memory_models: int = 0


class Types:
    """Names, sizes and layouts of types, in one pass over their declarations.

    A type names only earlier types (section 2.16.1), but for pointers, which are not followed. So there is nothing to
    recurse into, and a type that contains itself is a type that names a later one. FormatError for those.
    """

    def __init__(self, raw: Declarations, bound: int) -> None:
        self.raw = raw
        self._bound = bound
        self._sizes: dict[int, int] = {}
        self._depths: dict[int, int] = {}
        self._blocks: dict[int, Block] = {}
        self._names: dict[int, str] = {}
        self._readonly: dict[int, bool] = {}
        # OpTypeForwardPointer lets a struct name a pointer that comes later.
        for identifier in sorted(raw.types, key=lambda i: raw.types[i][0] != t.OP_TYPE_POINTER):
            self._depths[identifier] = self._depth(identifier)
            self._sizes[identifier] = self._measure(identifier)

    def _get(self, identifier: int) -> tuple[int, ...]:
        return self.raw.types.get(identifier, (0,))

    def _parts(self, identifier: int) -> tuple[int, ...]:
        """The types that a type is made of."""
        opcode, *rest = self._get(identifier)
        if opcode == t.OP_TYPE_STRUCT:
            return tuple(rest)
        made_of_one = (t.OP_TYPE_VECTOR, t.OP_TYPE_MATRIX, t.OP_TYPE_ARRAY, t.OP_TYPE_RUNTIME_ARRAY)
        return (rest[0],) if opcode in made_of_one else ()

    def _depth(self, identifier: int) -> int:
        offset = self.raw.type_offsets[identifier]
        parts = self._parts(identifier)
        for part in parts:
            if not 0 < part < self._bound:
                raise FormatError(f"type {identifier} is made of {part}, outside the bound {self._bound}", offset)
            # A type of an extension is not in the table, and may be part of others.
            if part in self.raw.types and part not in self._depths:
                raise FormatError(f"type {identifier} contains itself, or type {part} before its definition", offset)
        depth = 1 + max((self._depths.get(part, 0) for part in parts), default=0)
        if depth > MAX_DEPTH or len(parts) > MAX_MEMBERS:
            raise FormatError(f"type {identifier} has more levels or members than SPIR-V allows", offset)
        element = {t.OP_TYPE_VECTOR: t.SCALARS, t.OP_TYPE_MATRIX: (t.OP_TYPE_VECTOR,)}.get(self._get(identifier)[0])
        if element and self._get(parts[0])[0] not in (*element, 0):
            raise FormatError(f"vector or matrix {identifier} is not made of scalars or vectors", offset)
        return depth

    def _measure(self, identifier: int) -> int:
        opcode, *rest = self._get(identifier)
        if opcode in (t.OP_TYPE_INT, t.OP_TYPE_FLOAT):
            return rest[0] // 8
        if opcode == t.OP_TYPE_BOOL:
            return 4
        if opcode in (t.OP_TYPE_VECTOR, t.OP_TYPE_MATRIX):
            return rest[1] * self.size(rest[0])
        if opcode == t.OP_TYPE_ARRAY:
            return self._length(rest[1]) * (self._stride(identifier) or self.size(rest[0]))
        if opcode == t.OP_TYPE_STRUCT:
            ends = (self._offset(identifier, i) + self._member_size(identifier, i) for i in range(len(rest)))
            return max(ends, default=0)
        if opcode == t.OP_TYPE_POINTER and rest[0] == t.PHYSICAL_STORAGE_BUFFER:
            return 8
        return 0

    def _member_size(self, struct: int, index: int) -> int:
        """A matrix takes a stride for each column, or row (section 3.20, MatrixStride is the member's)."""
        member = self._get(struct)[1 + index]
        opcode, *rest = self._get(member)
        stride = self.raw.member_decorations.get((struct, index, t.DECORATION_MATRIX_STRIDE))
        if opcode != t.OP_TYPE_MATRIX or not stride:
            return self.size(member)
        by_row = (struct, index, t.DECORATION_ROW_MAJOR) in self.raw.member_decorations
        column = self._get(rest[0])
        return stride[0] * (column[2] if by_row and len(column) > 2 else rest[1])

    def _offset(self, struct: int, index: int) -> int:
        offset = self.raw.member_decorations.get((struct, index, t.DECORATION_OFFSET))
        return offset[0] if offset else 0

    def _stride(self, array: int) -> int:
        stride = self.raw.decorations.get((array, t.DECORATION_ARRAY_STRIDE))
        return stride[0] if stride else 0

    def _length(self, constant: int) -> int:
        value = self.raw.constants.get(constant, (0,))
        return value[2] if value[0] in (t.OP_CONSTANT, t.OP_SPEC_CONSTANT) else 0

    def size(self, identifier: int) -> int:
        """Bytes of a type in memory; 0 for run-time arrays and opaque types."""
        return self._sizes.get(identifier, 0)

    def pointee(self, pointer: int) -> int:
        kind = self._get(pointer)
        if kind[0] != t.OP_TYPE_POINTER:
            raise FormatError(f"variable type {pointer} is not a pointer")
        return kind[2]

    def array(self, identifier: int) -> tuple[int, int]:
        """(length, element); length 1 for what is no array, 0 for a run-time array."""
        kind = self._get(identifier)
        if kind[0] == t.OP_TYPE_ARRAY:
            return self._length(kind[2]), kind[1]
        if kind[0] == t.OP_TYPE_RUNTIME_ARRAY:
            return 0, kind[1]
        return 1, identifier

    def is_struct(self, identifier: int) -> bool:
        return self._get(identifier)[0] == t.OP_TYPE_STRUCT

    def blocks(self) -> Iterator[Block]:
        """Every struct that is decorated as a block or lies inside of one, by identifier."""
        marks = (t.DECORATION_BLOCK, t.DECORATION_BUFFER_BLOCK)
        waiting = [i for i in self.raw.types if any((i, mark) in self.raw.decorations for mark in marks)]
        reached: set[int] = set()
        while waiting:
            identifier = waiting.pop()
            if identifier not in reached:
                reached.add(identifier)
                waiting += self._parts(identifier)
        return (self.block(i) for i in sorted(reached) if self.is_struct(i))

    def all_readonly(self, identifier: int) -> bool:
        """Whether every member of a struct is NonWritable."""
        if identifier not in self._readonly:
            members = range(len(self._get(identifier)) - 1) if self.is_struct(identifier) else ()
            key = t.DECORATION_NON_WRITABLE
            found = bool(members) and all((identifier, m, key) in self.raw.member_decorations for m in members)
            self._readonly[identifier] = found
        return self._readonly[identifier]

    def descriptor_kind(self, identifier: int, storage: int) -> str:
        opcode = self._get(identifier)[0]
        if opcode == t.OP_TYPE_STRUCT:
            old_style = (identifier, t.DECORATION_BUFFER_BLOCK) in self.raw.decorations
            return "storage_buffer" if storage == t.STORAGE_BUFFER or old_style else "uniform_buffer"
        kinds = {
            t.OP_TYPE_IMAGE: "image",
            t.OP_TYPE_SAMPLER: "sampler",
            t.OP_TYPE_SAMPLED_IMAGE: "sampled_image",
        }
        return kinds.get(opcode, "other")

    def block(self, identifier: int) -> Block:
        """The layout of a struct, made once: many descriptors may share it."""
        if identifier not in self._blocks:
            count = len(self._get(identifier)) - 1
            members = tuple(self._member(identifier, index) for index in range(count))
            self._blocks[identifier] = Block(self.raw.names.get(identifier, ""), members, identifier)
        return self._blocks[identifier]

    def _member(self, struct: int, index: int) -> StructMember:
        member = self._get(struct)[1 + index]
        length, element = self.array(member)
        is_array = element != member
        innermost = element
        while self.array(innermost)[1] != innermost:
            innermost = self.array(innermost)[1]
        return StructMember(
            name=self.raw.member_names.get((struct, index), ""),
            offset=self._offset(struct, index),
            size=self._member_size(struct, index),
            type=self.name(element),
            array_stride=self._stride(member) if is_array else 0,
            array_length=length if is_array else 0,
            struct=innermost if self.is_struct(innermost) else 0,
        )

    def name(self, identifier: int) -> str:
        """A GLSL-like type name."""
        if identifier not in self._names:
            self._names[identifier] = self._make_name(identifier)
        return self._names[identifier]

    def _make_name(self, identifier: int) -> str:
        suffix = ""
        while self.array(identifier)[1] != identifier:
            identifier = self.array(identifier)[1]
            suffix += "[]"
        opcode, *rest = self._get(identifier)
        if opcode in (t.OP_TYPE_INT, t.OP_TYPE_FLOAT):
            base = _scalar_name(opcode, rest)
        elif opcode == t.OP_TYPE_BOOL:
            base = "bool"
        elif opcode == t.OP_TYPE_VECTOR:
            scalar = self.name(rest[0])
            base = f"{_VECTOR_PREFIX.get(scalar, scalar + ' ')}vec{rest[1]}"
        elif opcode == t.OP_TYPE_MATRIX:
            base = f"mat{rest[1]} of {self.name(rest[0])}"
        elif opcode == t.OP_TYPE_STRUCT:
            # Damaged modules repeat a name of megabytes in thousands of types.
            base = f"struct {self.raw.names.get(identifier, '')[:MAX_LABEL]}".strip()
        else:
            base = "pointer" if opcode == t.OP_TYPE_POINTER else "opaque"
        return base + suffix


_VECTOR_PREFIX: Final = {"float": "", "int": "i", "uint": "u", "bool": "b", "double": "d", "float16_t": "f16"}
_ENCODINGS: Final = {0: "bfloat16_t", 4214: "floate4m3_t", 4215: "floate5m2_t"}
_FLOATS: Final = {16: "float16_t", 32: "float", 64: "double"}


def _scalar_name(opcode: int, operands: list[int]) -> str:
    width, *rest = operands
    if opcode == t.OP_TYPE_INT:
        base = "int" if rest[0] else "uint"
        return base if width == 32 else f"{base}{width}_t"
    encoding = _ENCODINGS.get(rest[0], f"float{width}_t of encoding {rest[0]}") if rest else ""
    return encoding or _FLOATS.get(width, f"float{width}_t")
