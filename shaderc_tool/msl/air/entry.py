"""Metadata of an entry point, as Apple's compiler writes it (fields and order seen in its libraries)."""

from __future__ import annotations

from dataclasses import dataclass

from shaderc_tool.msl.air.debuginfo import ParameterType, ValueType
from shaderc_tool.msl.air.module import IrModule
from shaderc_tool.msl.rewrite.entries import Parameter

BUILTINS = frozenset(
    [
        "thread_position_in_grid",
        "thread_position_in_threadgroup",
        "thread_index_in_threadgroup",
        "thread_index_in_simdgroup",
        "thread_index_in_quadgroup",
        "threadgroup_position_in_grid",
        "threads_per_threadgroup",
        "threads_per_grid",
        "threadgroups_per_grid",
        "threads_per_simdgroup",
        "simdgroup_index_in_threadgroup",
        "quadgroup_index_in_threadgroup",
        "simdgroups_per_threadgroup",
        "quadgroups_per_threadgroup",
        "dispatch_threads_per_threadgroup",
        "dispatch_simdgroups_per_threadgroup",
        "dispatch_quadgroups_per_threadgroup",
        "thread_execution_width",
        "grid_origin",
        "grid_size",
    ]
)
"""Parameter attributes whose value the hardware gives."""

_AIR_NAMES = {"thread_execution_width": "threads_per_simdgroup"}
DEVICE, CONSTANT, THREADGROUP = 1, 2, 3


@dataclass(frozen=True)
class Argument:
    """One argument: source and compiled view together. `predicate` is metadata of a function constant, or ""."""

    parameter: Parameter
    type: ParameterType
    location: int
    unused: bool
    predicate: str = ""


def assign_locations(parameters: tuple[Parameter, ...], spaces: tuple[int, ...]) -> list[int]:
    """Buffer and threadgroup indices: what the attributes say, and the lowest free ones for the rest.

    -1 for arguments without an index.
    """
    taken: dict[bool, set[int]] = {False: set(), True: set()}
    found = [-1] * len(parameters)
    for i, parameter in enumerate(parameters):
        attribute = parameter.attribute("buffer") or parameter.attribute("threadgroup")
        if attribute is not None and attribute.number is not None:
            found[i] = attribute.number
            taken[spaces[i] == THREADGROUP].add(found[i])
    for i, space in enumerate(spaces):
        if found[i] < 0 and space in (DEVICE, CONSTANT, THREADGROUP):
            used = taken[space == THREADGROUP]
            found[i] = next(n for n in range(len(used) + 1) if n not in used)
            used.add(found[i])
    return found


def entry_node(module: IrModule, signature: str, arguments: list[Argument], extra: list[int]) -> str:
    """The node of an entry point. `signature` is the function as a typed constant, `extra` nodes that follow."""
    outputs = _empty(module)
    numbers = [module.add_metadata(_argument(module, i, a)) for i, a in enumerate(arguments)]
    inputs = module.add_metadata("!{" + ", ".join(f"!{n}" for n in numbers) + "}") if numbers else outputs
    rest = "".join(f", !{n}" for n in extra)
    return f"!{{{signature}, !{outputs}, !{inputs}{rest}}}"


def _empty(module: IrModule) -> int:
    return (
        next((n for n, v in module.metadata.items() if v == "!{}"), -1)
        if "!{}" in module.metadata.values()
        else (module.add_metadata("!{}"))
    )


def _argument(module: IrModule, index: int, argument: Argument) -> str:
    parts = [f"i32 {index}"]
    if argument.predicate:
        parts += ['!"air.function_constant"', argument.predicate]
    if argument.type.space >= 0:
        parts += _buffer(module, argument)
    else:
        builtin = next(a.name for a in argument.parameter.attributes if a.name in BUILTINS)
        parts.append(f'!"air.{_AIR_NAMES.get(builtin, builtin)}"')
    parts += ['!"air.arg_type_name"', f'!"{argument.type.type.name}"']
    parts += ['!"air.arg_name"', f'!"{argument.parameter.name}"']
    if argument.unused:
        parts.append('!"air.arg_unused"')
    return "!{" + ", ".join(parts) + "}"


def _buffer(module: IrModule, argument: Argument) -> list[str]:
    kind, value = argument.type, argument.type.type
    parts = ['!"air.buffer"']
    if kind.is_reference:
        parts += ['!"air.buffer_size"', f"i32 {value.size}"]
    access = "air.read" if kind.is_const or kind.space == CONSTANT else "air.read_write"
    parts += ['!"air.location_index"', f"i32 {argument.location}", "i32 1", f'!"{access}"']
    parts += ['!"air.address_space"', f"i32 {kind.space}"]
    if value.fields:
        parts += ['!"air.struct_type_info"', f"!{_struct_info(module, value)}"]
    if value.size:
        parts += ['!"air.arg_type_size"', f"i32 {value.size}", '!"air.arg_type_align_size"', f"i32 {value.align}"]
    return parts


def _struct_info(module: IrModule, value: ValueType) -> int:
    parts: list[str] = []
    for member in value.fields:
        if member.type.fields:
            parts += ['!"air.struct_type_info"', f"!{_struct_info(module, member.type)}"]
        parts += [f"i32 {member.offset}", f"i32 {member.type.size}", f"i32 {member.count}"]
        parts += [f'!"{member.type.name}"', f'!"{member.name}"']
    return module.add_metadata("!{" + ", ".join(parts) + "}")
