"""Arguments and outputs of an AIR entry point, from its metadata node.

An argument node reads `{i32 position, "air.<role>", …}`: a role, then flags (`"air.read"`) and keys with operands
(`"air.location_index", i32 index, i32 count`) in an order that grew over the AIR versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.llvm_metadata import Metadata, Operand, Ref

ADDRESS_SPACES: Final = {0: "thread", 1: "device", 2: "constant", 3: "threadgroup"}

_BUFFERS: Final = ("buffer", "indirect_buffer")
_ACCESS: Final = {
    "air.read": "read",
    "air.write": "write",
    "air.read_write": "read_write",
    "air.sample": "sample",
}
_ONE_OPERAND: Final = (
    "air.buffer_size",
    "air.address_space",
    "air.struct_type_info",
    "air.arg_type_size",
    "air.arg_type_align_size",
    "air.arg_type_name",
    "air.arg_name",
    "air.function_constant",
    "air.raster_order_group",
)
_MAX_DEPTH: Final = 16


@dataclass(frozen=True)
class StructField:
    """One member of a buffer's struct type. `offset` and `size` in bytes, `size` of one element.

    `count` is the array length, 0 for no array. `argument` is set for members of an argument buffer.
    """

    name: str
    type_name: str
    offset: int
    size: int
    count: int
    fields: tuple[StructField, ...] = ()
    argument: Argument | None = None


@dataclass(frozen=True)
class Argument:
    """One parameter of an entry point.

    `kind` is `buffer`, `indirect_buffer`, `texture`, `sampler`, … or the name of a builtin such as
    `thread_position_in_grid`. `index` is the Metal binding, -1 for builtins. `size`, `align` and `buffer_size` are
    in bytes, 0 when not recorded. `constant` names the function constant that the argument depends on.
    """

    position: int
    kind: str
    name: str
    type_name: str
    index: int = -1
    count: int = 0
    access: str = ""
    address_space: int | None = None
    size: int = 0
    align: int = 0
    buffer_size: int = 0
    fields: tuple[StructField, ...] = ()
    unused: bool = False
    constant: str = ""
    qualifiers: tuple[str, ...] = ()

    @property
    def is_buffer(self) -> bool:
        """True for device, constant and threadgroup pointers."""
        return self.kind in _BUFFERS

    @property
    def is_builtin(self) -> bool:
        """True for values that the hardware provides, such as `thread_position_in_grid`."""
        return self.index < 0


@dataclass(frozen=True)
class Output:
    """One output of a vertex or fragment function: `kind` is `position`, `render_target`, `vertex_output`, …"""

    kind: str
    name: str
    type_name: str
    qualifiers: tuple[str, ...] = ()


def read_arguments(metadata: Metadata, ref: Operand) -> tuple[Argument, ...]:
    """The arguments behind the inputs node of an entry point, in parameter order. Raises `FormatError`."""
    return tuple(_argument(metadata, metadata.node(item), 0) for item in metadata.node(ref))


def read_outputs(metadata: Metadata, ref: Operand) -> tuple[Output, ...]:
    """The outputs node of an entry point. Raises `FormatError`."""
    outputs = []
    for item in metadata.node(ref):
        node = metadata.node(item)
        if not node or not isinstance(node[0], str):
            raise FormatError(f"output node of unknown shape: {node!r:.120}")
        keys, flags = _keys(node[1:])
        outputs.append(
            Output(_short(node[0]), _text(keys, "air.arg_name"), _text(keys, "air.arg_type_name"), tuple(flags))
        )
    return tuple(outputs)


def _argument(metadata: Metadata, node: tuple[Operand, ...], depth: int) -> Argument:
    if depth > _MAX_DEPTH or not node or not isinstance(node[0], int):
        raise FormatError(f"argument node of unknown shape: {node!r:.120}")
    rest = list(node[1:])
    predicate: Operand = None
    if rest[:1] == ["air.function_constant"]:
        predicate = rest[1]
        del rest[:2]
    if not rest or not isinstance(rest[0], str):
        raise FormatError(f"argument node without a role: {node!r:.120}")
    keys, flags = _keys(rest[1:])
    location = keys.get("air.location_index", (-1, 0))
    kind = _short(rest[0])
    space = keys.get("air.address_space", (None,))[0]
    return Argument(
        position=node[0],
        kind=kind,
        name=_text(keys, "air.arg_name"),
        type_name=_text(keys, "air.arg_type_name"),
        index=_int(location[0], -1),
        count=_int(location[1]),
        access=next((_ACCESS[flag] for flag in flags if flag in _ACCESS), ""),
        address_space=space if isinstance(space, int) else None,
        size=_number(keys, "air.arg_type_size"),
        align=_number(keys, "air.arg_type_align_size"),
        buffer_size=_number(keys, "air.buffer_size"),
        fields=_fields(metadata, keys.get("air.struct_type_info", (None,))[0], depth),
        unused="air.arg_unused" in flags,
        constant=_predicate(metadata, predicate or keys.get("air.function_constant", (None,))[0]),
        qualifiers=tuple(flag for flag in flags if flag not in _ACCESS and flag != "air.arg_unused"),
    )


def _keys(operands: list[Operand] | tuple[Operand, ...]) -> tuple[dict[str, tuple[Operand, ...]], list[str]]:
    """Split what follows the role into keys with operands and bare flags."""
    keys: dict[str, tuple[Operand, ...]] = {}
    flags = []
    pos = 0
    while pos < len(operands):
        word = operands[pos]
        pos += 1
        if not isinstance(word, str):
            continue
        width = 2 if word == "air.location_index" else 1 if word in _ONE_OPERAND else 0
        if width:
            keys[word] = tuple(operands[pos : pos + width])
            if len(keys[word]) != width:
                raise FormatError(f"{word} lacks its operand")
            pos += width
        else:
            flags.append(word)
    return keys, flags


def _fields(metadata: Metadata, ref: Operand, depth: int) -> tuple[StructField, ...]:
    """Decode `offset, size, count, type, name` rows, each with an optional nested struct or argument before or after.

    A member that is a struct is preceded by `"air.struct_type_info", !node`; a member of an argument buffer is
    followed by `"air.indirect_argument", !node`.
    """
    if depth > _MAX_DEPTH:
        raise FormatError("struct type information nested too deeply")
    node = metadata.node(ref)
    fields: list[StructField] = []
    nested: tuple[StructField, ...] = ()
    pos = 0
    while pos < len(node):
        word = node[pos]
        if word == "air.struct_type_info":
            nested = _fields(metadata, node[pos + 1] if pos + 1 < len(node) else None, depth + 1)
            pos += 2
        elif word == "air.indirect_argument" and fields:
            fields[-1] = _with_argument(metadata, fields[-1], node[pos + 1 : pos + 2], depth)
            pos += 2
        else:
            fields.append(_field(node[pos : pos + 5], nested))
            nested = ()
            pos += 5
    return tuple(fields)


def _field(row: tuple[Operand, ...], nested: tuple[StructField, ...]) -> StructField:
    match row:
        case (int(offset), int(size), int(count), str(type_name), str(name)):
            return StructField(name, type_name, offset, size, count, nested)
    raise FormatError(f"struct type information of unknown shape: {row!r:.120}")


def _with_argument(metadata: Metadata, field: StructField, refs: tuple[Operand, ...], depth: int) -> StructField:
    """Attach the argument node of an argument-buffer member; a member that is a struct has a number there."""
    if not refs or not isinstance(refs[0], Ref):
        return field
    argument = _argument(metadata, metadata.node(refs[0]), depth + 1)
    return StructField(field.name, field.type_name, field.offset, field.size, field.count, field.fields, argument)


def _predicate(metadata: Metadata, ref: Operand) -> str:
    if not isinstance(ref, Ref):
        return ""
    names = [item for item in metadata.node(ref) if isinstance(item, str)]
    return names[-1] if names else ""


def _text(keys: dict[str, tuple[Operand, ...]], key: str) -> str:
    value = keys.get(key, ("",))[0]
    return value if isinstance(value, str) else ""


def _number(keys: dict[str, tuple[Operand, ...]], key: str) -> int:
    return _int(keys.get(key, (0,))[0])


def _int(value: Operand, default: int = 0) -> int:
    return value if isinstance(value, int) else default


def _short(role: str) -> str:
    return role.removeprefix("air.")
