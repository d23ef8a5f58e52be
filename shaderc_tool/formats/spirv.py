"""SPIR-V modules: what a compute module declares (SPIR-V specification, unified1, sections 2.3 and 3).

The reader walks every instruction once, so a truncated or overwritten module is found, and keeps only declarations.
Time and memory are linear in the size of the module, whatever it holds.
"""

from __future__ import annotations

import re
import struct
import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from shaderc_tool.formats import spirv_tables as t
from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.spirv_types import Block, Declarations, Types

_ABSOLUTE = re.compile(r"/|\\\\|[A-Za-z]:[\\/]")
MAX_BOUND = 4_194_303
"""The universal limit on identifiers (section 2.17)."""


@dataclass(frozen=True)
class EntryPoint:
    """`local_size` is (x, y, z) in invocations, None when the module leaves it to specialization constants."""

    name: str
    execution_model: str
    local_size: tuple[int, int, int] | None
    local_size_spec_ids: tuple[int, ...] = ()


@dataclass(frozen=True)
class Binding:
    """One descriptor. `kind` is storage_buffer, uniform_buffer, sampled_image, image, sampler or other."""

    set: int
    binding: int
    kind: str
    name: str
    readonly: bool
    count: int
    block: Block | None


@dataclass(frozen=True)
class SpecConstant:
    """`default` is the raw value; `type` its scalar type."""

    spec_id: int
    name: str
    type: str
    default: int | float | bool


@dataclass(frozen=True)
class Module:
    """What a module declares.

    `structs` are the layouts of all blocks and of the structs inside of them. `source_files` are the absolute paths
    that debug information names. `constant_conversions` are the instructions that convert an OpConstant.
    """

    version: tuple[int, int]
    generator: str
    bound: int
    capabilities: tuple[str, ...]
    extensions: tuple[str, ...]
    entry_points: tuple[EntryPoint, ...]
    bindings: tuple[Binding, ...]
    push_constants: Block | None
    spec_constants: tuple[SpecConstant, ...]
    structs: tuple[Block, ...]
    source_files: tuple[str, ...]
    has_debug_names: bool
    constant_conversions: tuple[str, ...]


def read_module(data: bytes) -> Module:
    """Read one module. FormatError when it is cut, overwritten or not SPIR-V."""
    version, generator, bound, words = _header(data)
    raw = _collect(words, bound)
    if raw.memory_models != 1:
        raise FormatError(f"a module needs one OpMemoryModel, this one has {raw.memory_models}")
    if not raw.entries and "Linkage" not in raw.capabilities:
        raise FormatError("the module has no entry point: it is cut, or no shader (section 2.16.1)")
    for _, function, name in raw.entries:
        if function not in raw.functions:
            raise FormatError(f"entry point {name!r} names a function that is not there")
    types = Types(raw, bound)
    return Module(
        version=version,
        generator=generator,
        bound=bound,
        capabilities=tuple(raw.capabilities),
        extensions=tuple(raw.extensions),
        entry_points=_entry_points(raw),
        bindings=tuple(sorted(_bindings(raw, types), key=lambda b: (b.set, b.binding))),
        push_constants=_push_constants(raw, types),
        spec_constants=tuple(sorted(_spec_constants(raw, types), key=lambda c: c.spec_id)),
        structs=tuple(types.blocks()),
        source_files=tuple(s for s in raw.strings if _ABSOLUTE.match(s)),
        has_debug_names=bool(raw.names or raw.member_names),
        constant_conversions=tuple(raw.conversions),
    )


def _header(data: bytes) -> tuple[tuple[int, int], str, int, array[int]]:
    if len(data) < 4 * t.HEADER_WORDS:
        raise FormatError(f"too short for a SPIR-V header: {len(data)} bytes", 0)
    if len(data) % 4:
        raise FormatError("the length is not a multiple of 4", len(data))
    magic = struct.unpack_from("<I", data)[0]
    if magic == int.from_bytes(t.MAGIC.to_bytes(4, "little"), "big"):
        raise FormatError("the module is big-endian; Vulkan takes the host's order, which is little-endian here", 0)
    if magic != t.MAGIC:
        raise FormatError(f"not SPIR-V: the magic number is {magic:#010x}", 0)
    words = array("I", bytes(data))
    if sys.byteorder == "big":
        words.byteswap()
    version, generator, bound, schema = words[1:5]
    major, minor = version >> 16 & 0xFF, version >> 8 & 0xFF
    if version & 0xFF0000FF or major != 1 or minor > 6:
        raise FormatError(f"unknown SPIR-V version word {version:#010x}", 4)
    if not 0 < bound <= MAX_BOUND:
        raise FormatError(f"identifier bound {bound} is out of range", 12)
    if schema:
        raise FormatError(f"the reserved schema word is {schema}, not 0", 16)
    tool = t.GENERATORS.get(generator >> 16, f"generator {generator >> 16}")
    return (major, minor), f"{tool} {generator & 0xFFFF}", bound, words


def _instructions(words: array[int]) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """(byte offset, opcode, operands) of every instruction that `_collect` reads; all others are only measured."""
    at, end = t.HEADER_WORDS, len(words)
    while at < end:
        count, opcode = words[at] >> 16, words[at] & 0xFFFF
        if count == 0:
            raise FormatError("an instruction has no words", 4 * at)
        if at + count > end:
            raise FormatError(f"instruction {opcode} reaches {at + count - end} words past the end", 4 * at)
        if opcode in _READ:
            yield 4 * at, opcode, tuple(words[at + 1 : at + count])
        at += count


# Fewest operands of the instructions whose operands are read.
_LEAST = {
    t.OP_SOURCE: 2, t.OP_NAME: 2, t.OP_MEMBER_NAME: 3, t.OP_STRING: 2, t.OP_EXTENSION: 1, t.OP_ENTRY_POINT: 3,
    t.OP_MEMORY_MODEL: 2, t.OP_EXECUTION_MODE: 2, t.OP_EXECUTION_MODE_ID: 2, t.OP_CAPABILITY: 1, t.OP_TYPE_VOID: 1,
    t.OP_TYPE_BOOL: 1, t.OP_TYPE_INT: 3, t.OP_TYPE_FLOAT: 2, t.OP_TYPE_VECTOR: 3, t.OP_TYPE_MATRIX: 3,
    t.OP_TYPE_IMAGE: 8, t.OP_TYPE_SAMPLER: 1, t.OP_TYPE_SAMPLED_IMAGE: 2, t.OP_TYPE_ARRAY: 3,
    t.OP_TYPE_RUNTIME_ARRAY: 2, t.OP_TYPE_STRUCT: 1, t.OP_TYPE_POINTER: 3, t.OP_CONSTANT_TRUE: 2,
    t.OP_CONSTANT_FALSE: 2, t.OP_CONSTANT: 3, t.OP_CONSTANT_COMPOSITE: 2, t.OP_SPEC_CONSTANT_TRUE: 2,
    t.OP_SPEC_CONSTANT_FALSE: 2, t.OP_SPEC_CONSTANT: 3, t.OP_SPEC_CONSTANT_COMPOSITE: 2, t.OP_FUNCTION: 4,
    t.OP_VARIABLE: 3, t.OP_DECORATE: 2, t.OP_MEMBER_DECORATE: 3, t.OP_EXT_INST_IMPORT: 2, t.OP_GROUP_DECORATE: 1,
    t.OP_GROUP_MEMBER_DECORATE: 1, t.OP_TYPE_OPAQUE: 2,
    **dict.fromkeys(t.CONVERSIONS, 3),
}  # fmt: skip
_TYPES_RANGE = range(t.OP_TYPE_VOID, t.OP_TYPE_POINTER + 1)
_READ = frozenset({*_LEAST, *_TYPES_RANGE, t.OP_FUNCTION_END})
_ANNOTATIONS = frozenset({
    t.OP_NAME, t.OP_MEMBER_NAME, t.OP_DECORATE, t.OP_MEMBER_DECORATE, t.OP_GROUP_DECORATE, t.OP_GROUP_MEMBER_DECORATE,
})  # fmt: skip
_CONSTANTS = frozenset({
    t.OP_CONSTANT_TRUE, t.OP_CONSTANT_FALSE, t.OP_CONSTANT, t.OP_CONSTANT_COMPOSITE, t.OP_SPEC_CONSTANT_TRUE,
    t.OP_SPEC_CONSTANT_FALSE, t.OP_SPEC_CONSTANT, t.OP_SPEC_CONSTANT_COMPOSITE,
})  # fmt: skip


def _collect(words: array[int], bound: int) -> Declarations:
    raw = Declarations()
    depth = 0
    for offset, opcode, operands in _instructions(words):
        if len(operands) < _LEAST.get(opcode, 0):
            raise FormatError(f"instruction {opcode} lacks operands", offset)
        if opcode in (t.OP_FUNCTION, t.OP_FUNCTION_END):
            depth += 1 if opcode == t.OP_FUNCTION else -1
            if not 0 <= depth <= 1:
                raise FormatError("functions are nested or not closed", offset)
        _note(raw, opcode, operands, offset, bound)
    if depth:
        raise FormatError("the last function is not closed: the module is cut", 4 * len(words))
    return raw


def _note(raw: Declarations, opcode: int, operands: tuple[int, ...], offset: int, bound: int) -> None:
    if opcode in _ANNOTATIONS:
        _annotate(raw, opcode, operands, offset, bound)
    elif opcode in _TYPES_RANGE:
        identifier = _define(raw, operands[0], offset, bound)
        raw.types[identifier] = (opcode, *operands[1:])
        raw.type_offsets[identifier] = offset
    elif opcode in _CONSTANTS:
        raw.constants[_define(raw, operands[1], offset, bound)] = (opcode, operands[0], *operands[2:])
    elif opcode == t.OP_VARIABLE:
        pointer = _identifier(operands[0], offset, bound)
        raw.variables.append((pointer, _define(raw, operands[1], offset, bound), operands[2]))
    elif opcode == t.OP_ENTRY_POINT:
        name = _string(operands[2:], offset)
        if (operands[0], name) in raw.entry_names:
            raise FormatError(f"entry point {name!r} is declared twice", offset)
        raw.entry_names.add((operands[0], name))
        raw.entries.append((operands[0], _identifier(operands[1], offset, bound), name))
    elif opcode in (t.OP_EXECUTION_MODE, t.OP_EXECUTION_MODE_ID):
        if operands[1] in (t.MODE_LOCAL_SIZE, t.MODE_LOCAL_SIZE_ID):
            if len(operands) != 5:
                raise FormatError("a local size needs three values", offset)
            raw.modes[operands[0]] = (operands[1], operands[2:])
    elif opcode == t.OP_CAPABILITY:
        raw.capabilities.append(t.capability_name(operands[0]))
    elif opcode == t.OP_EXTENSION:
        raw.extensions.append(_string(operands, offset))
    elif opcode in (t.OP_STRING, t.OP_EXT_INST_IMPORT):
        _define(raw, operands[0], offset, bound)
        text = _string(operands[1:], offset)
        if opcode == t.OP_STRING:
            raw.strings.append(text)
    elif opcode == t.OP_FUNCTION:
        raw.functions.add(_define(raw, operands[1], offset, bound))
    elif opcode == t.OP_MEMORY_MODEL:
        raw.memory_models += 1
    elif opcode in t.CONVERSIONS:
        _define(raw, operands[1], offset, bound)
        if raw.constants.get(operands[2], (0,))[0] == t.OP_CONSTANT:
            raw.conversions.append(t.CONVERSIONS[opcode])


def _annotate(raw: Declarations, opcode: int, operands: tuple[int, ...], offset: int, bound: int) -> None:
    """Names and decorations, those of decoration groups included (deprecated, and still valid)."""
    target = _identifier(operands[0], offset, bound)
    if opcode == t.OP_NAME:
        raw.names[target] = _string(operands[1:], offset)
    elif opcode == t.OP_MEMBER_NAME:
        raw.member_names[target, operands[1]] = _string(operands[2:], offset)
    elif opcode == t.OP_DECORATE:
        _decorate(raw.decorations, (target, operands[1]), operands[2:], offset)
    elif opcode == t.OP_MEMBER_DECORATE:
        _decorate(raw.member_decorations, (target, operands[1], operands[2]), operands[3:], offset)
    else:
        of_group = [(d, raw.decorations[target, d]) for d in t.DECORATIONS if (target, d) in raw.decorations]
        for decoration, values in of_group:
            if opcode == t.OP_GROUP_DECORATE:
                for decorated in operands[1:]:
                    _decorate(raw.decorations, (decorated, decoration), values, offset)
            else:
                for struct_type, member in zip(operands[1::2], operands[2::2], strict=False):
                    _decorate(raw.member_decorations, (struct_type, member, decoration), values, offset)


_Key = TypeVar("_Key", tuple[int, int], tuple[int, int, int])


def _decorate(table: dict[_Key, tuple[int, ...]], key: _Key, values: tuple[int, ...], offset: int) -> None:
    if key[-1] in t.DECORATIONS and table.setdefault(key, values) != values:
        raise FormatError(f"identifier {key[0]} is decorated twice, with different values", offset)


def _identifier(value: int, offset: int, bound: int) -> int:
    if not 0 < value < bound:
        raise FormatError(f"identifier {value} is outside the bound {bound}", offset)
    return value


def _define(raw: Declarations, identifier: int, offset: int, bound: int) -> int:
    if _identifier(identifier, offset, bound) in raw.defined:
        raise FormatError(f"identifier {identifier} is defined twice", offset)
    raw.defined.add(identifier)
    return identifier


def _string(operands: tuple[int, ...], offset: int) -> str:
    """A literal string, which a zero byte ends (section 2.2.1)."""
    text, end, _ = struct.pack(f"<{len(operands)}I", *operands).partition(b"\0")
    if not end:
        raise FormatError("a string has no end", offset)
    return text.decode("utf-8", "replace")


def _entry_points(raw: Declarations) -> tuple[EntryPoint, ...]:
    override = _workgroup_size_constant(raw)
    return tuple(_entry(raw, override, *entry) for entry in raw.entries)


def _entry(raw: Declarations, override: tuple[int, ...], model: int, function: int, name: str) -> EntryPoint:
    execution_model = t.EXECUTION_MODELS.get(model, f"ExecutionModel<{model}>")
    mode, sizes = raw.modes.get(function, (0, ()))
    if override or mode == t.MODE_LOCAL_SIZE_ID:
        return EntryPoint(name, execution_model, *_size_from_constants(raw, override or sizes))
    if mode == t.MODE_LOCAL_SIZE:
        return EntryPoint(name, execution_model, (sizes[0], sizes[1], sizes[2]))
    return EntryPoint(name, execution_model, None)


def _workgroup_size_constant(raw: Declarations) -> tuple[int, ...]:
    """The three constants of the WorkgroupSize built-in, which overrides LocalSize; empty when there is none."""
    for (target, decoration), operands in raw.decorations.items():
        if decoration == t.DECORATION_BUILT_IN and operands[:1] == (t.BUILT_IN_WORKGROUP_SIZE,):
            constant = raw.constants.get(target, ())
            if len(constant) == 5:
                return constant[2:]
    return ()


def _size_from_constants(
    raw: Declarations, identifiers: tuple[int, ...]
) -> tuple[tuple[int, int, int] | None, tuple[int, ...]]:
    """The size, None when one of the three is specialized or computed, and the specialization identifiers."""
    sizes, spec_ids = [], []
    for identifier in identifiers:
        spec = raw.decorations.get((identifier, t.DECORATION_SPEC_ID))
        constant = raw.constants.get(identifier, (0,))
        if spec:
            spec_ids.append(spec[0])
        elif constant[0] in (t.OP_CONSTANT, t.OP_SPEC_CONSTANT):
            sizes.append(constant[2])
    return ((sizes[0], sizes[1], sizes[2]) if len(sizes) == 3 else None), tuple(spec_ids)


def _bindings(raw: Declarations, types: Types) -> Iterator[Binding]:
    for pointer, variable, storage in raw.variables:
        where = raw.decorations.get((variable, t.DECORATION_BINDING))
        if not where or storage not in (t.UNIFORM_CONSTANT, t.UNIFORM, t.STORAGE_BUFFER):
            continue
        pointee = types.pointee(pointer)
        count, element = types.array(pointee)
        set_number = raw.decorations.get((variable, t.DECORATION_SET), (0,))
        yield Binding(
            set=set_number[0] if set_number else 0,
            binding=where[0],
            kind=types.descriptor_kind(element, storage),
            name=raw.names.get(variable) or raw.names.get(element, ""),
            readonly=(variable, t.DECORATION_NON_WRITABLE) in raw.decorations or types.all_readonly(element),
            count=count,
            block=types.block(element) if types.is_struct(element) else None,
        )


def _push_constants(raw: Declarations, types: Types) -> Block | None:
    for pointer, _, storage in raw.variables:
        if storage == t.PUSH_CONSTANT and types.is_struct(types.pointee(pointer)):
            return types.block(types.pointee(pointer))
    return None


def _spec_constants(raw: Declarations, types: Types) -> Iterator[SpecConstant]:
    for identifier, constant in raw.constants.items():
        spec = raw.decorations.get((identifier, t.DECORATION_SPEC_ID))
        if spec:
            kind = types.name(constant[1])
            yield SpecConstant(spec[0], raw.names.get(identifier, ""), kind, _value(constant, kind))


_FORMS = {
    "float16_t": "e", "float": "f", "double": "d", "int8_t": "b", "uint8_t": "B", "int16_t": "h", "uint16_t": "H",
    "int": "i", "uint": "I", "int64_t": "q", "uint64_t": "Q",
}  # fmt: skip


def _value(constant: tuple[int, ...], kind: str) -> int | float | bool:
    if constant[0] in (t.OP_SPEC_CONSTANT_TRUE, t.OP_SPEC_CONSTANT_FALSE):
        return constant[0] == t.OP_SPEC_CONSTANT_TRUE
    value = struct.pack(f"<{len(constant) - 2}I", *constant[2:])
    form = _FORMS.get(kind, "I")
    # Narrow values fill a word, whose other bits do not count (section 2.2.1).
    number = struct.unpack_from(f"<{form}", value.ljust(8, b"\0"))[0]
    return float(number) if form in "efd" else int(number)
