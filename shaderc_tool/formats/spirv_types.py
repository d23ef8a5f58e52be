"""Types of a SPIR-V module: names, sizes and block layouts from the declarations that the reader collected."""

from __future__ import annotations

from dataclasses import dataclass, field

from shaderc_tool.formats import spirv_tables as t
from shaderc_tool.formats.errors import FormatError

MAX_DEPTH = 255
"""The universal limit on nesting of structures (section 2.17)."""


@dataclass(frozen=True)
class StructMember:
    """Offset and size in bytes. `size` is 0 for a run-time array. `array_stride` is 0 when it is no array."""

    name: str
    offset: int
    size: int
    type: str
    array_stride: int = 0
    array_length: int = 0


@dataclass(frozen=True)
class Block:
    """A block's members in order; `size` in bytes is the end of the last sized member."""

    name: str
    members: tuple[StructMember, ...]

    @property
    def size(self) -> int:
        return max((m.offset + m.size for m in self.members), default=0)


@dataclass
class Declarations:
    """Instructions of interest, by what they say."""

    types: dict[int, tuple[int, ...]] = field(default_factory=dict)
    constants: dict[int, tuple[int, ...]] = field(default_factory=dict)
    variables: list[tuple[int, int, int]] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    member_names: dict[tuple[int, int], str] = field(default_factory=dict)
    decorations: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)
    member_decorations: dict[tuple[int, int, int], tuple[int, ...]] = field(default_factory=dict)
    entries: list[tuple[int, int, str]] = field(default_factory=list)
    modes: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    capabilities: list[str] = field(default_factory=list)
    extensions: list[str] = field(default_factory=list)
    strings: list[str] = field(default_factory=list)
    conversions: list[str] = field(default_factory=list)
    functions: set[int] = field(default_factory=set)
    memory_models: int = 0


class Types:
    """Names, sizes and layouts of types. Cycles, which only damaged modules have, end at MAX_DEPTH."""

    def __init__(self, raw: Declarations) -> None:
        self.raw = raw
        self._sizes: dict[int, int] = {}

    def _get(self, identifier: int) -> tuple[int, ...]:
        return self.raw.types.get(identifier, (0,))

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

    def is_block(self, identifier: int) -> bool:
        marks = (t.DECORATION_BLOCK, t.DECORATION_BUFFER_BLOCK)
        return self.is_struct(identifier) and any((identifier, d) in self.raw.decorations for d in marks)

    def all_readonly(self, identifier: int) -> bool:
        members = range(len(self._get(identifier)) - 1) if self.is_struct(identifier) else ()
        key = t.DECORATION_NON_WRITABLE
        return bool(members) and all((identifier, m, key) in self.raw.member_decorations for m in members)

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
        members = []
        for index, member in enumerate(self._get(identifier)[1:]):
            offset = self.raw.member_decorations.get((identifier, index, t.DECORATION_OFFSET), (0,))
            length, element = self.array(member)
            stride = self.raw.decorations.get((member, t.DECORATION_ARRAY_STRIDE), (0,))
            is_array = element != member
            members.append(
                StructMember(
                    name=self.raw.member_names.get((identifier, index), ""),
                    offset=offset[0] if offset else 0,
                    size=self.size(member),
                    type=self.name(element),
                    array_stride=stride[0] if is_array and stride else 0,
                    array_length=length if is_array else 0,
                )
            )
        return Block(self.raw.names.get(identifier, ""), tuple(members))

    def size(self, identifier: int, depth: int = 0) -> int:
        """Bytes of a type in memory; 0 for run-time arrays and opaque types."""
        if depth > MAX_DEPTH:
            raise FormatError("a type contains itself")
        # Types share members; without memory a damaged module could make this exponential.
        if identifier not in self._sizes:
            self._sizes[identifier] = self._measure(identifier, depth)
        return self._sizes[identifier]

    def _measure(self, identifier: int, depth: int) -> int:
        opcode, *rest = self._get(identifier)
        if opcode in (t.OP_TYPE_INT, t.OP_TYPE_FLOAT):
            return rest[0] // 8
        if opcode == t.OP_TYPE_BOOL:
            return 4
        if opcode in (t.OP_TYPE_VECTOR, t.OP_TYPE_MATRIX):
            return rest[1] * self.size(rest[0], depth + 1)
        if opcode == t.OP_TYPE_ARRAY:
            stride = self.raw.decorations.get((identifier, t.DECORATION_ARRAY_STRIDE))
            each = stride[0] if stride else self.size(rest[0], depth + 1)
            return self._length(rest[1]) * each
        if opcode == t.OP_TYPE_STRUCT:
            return self._struct_size(identifier, rest, depth)
        return 0

    def _struct_size(self, identifier: int, members: list[int], depth: int) -> int:
        end = 0
        for index, member in enumerate(members):
            offset = self.raw.member_decorations.get((identifier, index, t.DECORATION_OFFSET), (0,))
            end = max(end, (offset[0] if offset else 0) + self.size(member, depth + 1))
        return end

    def _length(self, constant: int) -> int:
        value = self.raw.constants.get(constant, (0, 0, 0))
        return value[2] if len(value) > 2 else 0

    def name(self, identifier: int, depth: int = 0) -> str:
        """A GLSL-like type name."""
        if depth > MAX_DEPTH:
            raise FormatError("a type contains itself")
        opcode, *rest = self._get(identifier)
        if opcode == t.OP_TYPE_INT:
            base = "int" if rest[1] else "uint"
            return base if rest[0] == 32 else f"{base}{rest[0]}_t"
        if opcode == t.OP_TYPE_FLOAT:
            return {16: "float16_t", 32: "float", 64: "double"}.get(rest[0], f"float{rest[0]}_t")
        if opcode == t.OP_TYPE_BOOL:
            return "bool"
        if opcode == t.OP_TYPE_VECTOR:
            scalar = self.name(rest[0], depth + 1)
            prefix = {"float": "", "int": "i", "uint": "u", "bool": "b", "double": "d", "float16_t": "f16"}
            return f"{prefix.get(scalar, scalar + ' ')}vec{rest[1]}"
        if opcode == t.OP_TYPE_MATRIX:
            return f"mat{rest[1]} of {self.name(rest[0], depth + 1)}"
        if opcode in (t.OP_TYPE_ARRAY, t.OP_TYPE_RUNTIME_ARRAY):
            return f"{self.name(rest[0], depth + 1)}[]"
        if opcode == t.OP_TYPE_STRUCT:
            return f"struct {self.raw.names.get(identifier, '')}".strip()
        return "opaque"
