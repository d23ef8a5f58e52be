"""From the bitcode of one kernel to the complete text of the module that runs it."""

from __future__ import annotations

import platform
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final, TypeAlias

from shaderc_tool.formats.air import AirModule, EntryPoint, FunctionConstant, read_air_text
from shaderc_tool.formats.bitcode import disassemble
from shaderc_tool.verify.air_cpu import intrinsics, irtext
from shaderc_tool.verify.air_cpu.control import MAX_PARAMETERS
from shaderc_tool.verify.air_cpu.errors import AirCpuError, DispatchError, NotModelledError
from shaderc_tool.verify.air_cpu.instrument import Instrumented, Instrumenter, bounds_place
from shaderc_tool.verify.air_cpu.intrinsics.signature import float_constant
from shaderc_tool.verify.air_cpu.jit import LARGE, optimised
from shaderc_tool.verify.air_cpu.lower import Lowered, asked_constants, lower, missing_functions, unique_declares
from shaderc_tool.verify.air_cpu.trampoline import Trampoline, is_modelled

# Room for spilled registers and library calls beside declared private arrays.
_SPILL_BYTES: Final = 128 * 1024
_SPILL_BYTES_UNOPTIMISED: Final = 512 * 1024
_PAGE: Final = 4096
Constants: TypeAlias = Mapping[int | str, Any] | Mapping[int, Any] | Mapping[str, Any]
"""Values of function constants by index or name."""

_SCALARS: Final = {
    "bool": "i8", "char": "i8", "uchar": "i8", "short": "i16", "ushort": "i16", "int": "i32", "uint": "i32",
    "long": "i64", "ulong": "i64", "half": "half", "float": "float",
}  # fmt: skip
_SWITCHES: Final = {
    "x86_64": "switch_x86_64.ll",
    "amd64": "switch_x86_64.ll",
    "aarch64": "switch_aarch64.ll",
    "arm64": "switch_aarch64.ll",
}


@dataclass(frozen=True)
class Program:
    """One kernel with its scheduler as textual IR, specialised for its function constants.

    `parameters` are (IR type, `%name`) of the kernel; `stack_bytes` is what each thread's stack takes.
    """

    entry: EntryPoint
    instrumented: Instrumented
    parameters: tuple[tuple[str, str], ...]
    stack_bytes: int
    text: str


def build_program(bitcode: bytes, name: str, constants: Constants, machine: str = "") -> Program:
    """Build the program of one kernel. `constants` gives function constants by index or name.

    `machine` is a processor as `platform.machine` names it, this one by default. Raises `FormatError`,
    `DispatchError` for constants, `NotModelledError`, `AirCpuError` for systems without a context switch.
    """
    switch = _switch_file(machine or platform.machine())
    text = disassemble(bitcode)
    module = read_air_text(text)
    entry = _entry(module, name)
    lowered = lower(text, name, _constants(module, text, constants))
    cut = irtext.parse(optimised(lowered.text))
    kernel = next(function for function in cut.functions if function.name.strip('"') == name)
    if len(kernel.parameters) > MAX_PARAMETERS:
        raise NotModelledError((f"a kernel with {len(kernel.parameters)} parameters",), subject=name)
    trampoline = Trampoline(entry, kernel.name, kernel.parameters).text()
    instrumented = Instrumenter(cut, lowered.calls, name).run()
    parts = [
        instrumented.text,
        _resource("runtime.ll"),
        _resource(switch),
        trampoline,
        _poison(entry, instrumented.globals),
        *_used_models(lowered, instrumented.text),
        *([] if f"@{intrinsics.BF16_ROUND_NAME}(float" in instrumented.text else [intrinsics.BF16_ROUND]),
        "declare void @llvm.memset.p0i8.i64(i8*, i8, i64, i1)",
    ]
    final = unique_declares("\n".join(parts))
    stack = instrumented.stack_bytes + (_SPILL_BYTES_UNOPTIMISED if len(final) > LARGE else _SPILL_BYTES)
    return Program(entry, instrumented, tuple(kernel.parameters), -(-stack // _PAGE) * _PAGE, final)


def unmodelled(bitcode: bytes, name: str) -> tuple[str, ...]:
    """What keeps a kernel from running here: functions and argument kinds without a model. Compiles nothing.

    Raises `FormatError`, and `DispatchError` when there is no such kernel.
    """
    text = disassemble(bitcode)
    entry = _entry(read_air_text(text), name)
    kinds = {f"argument kind {item.kind}" for item in entry.arguments if not is_modelled(item.kind)}
    return (*sorted(kinds), *missing_functions(text))


def _used_models(lowered: Lowered, text: str) -> list[str]:
    return [item.text for item in lowered.calls.values() if f"@{item.symbol}(" in text]


def _entry(module: AirModule, name: str) -> EntryPoint:
    for entry in module.entry_points:
        if entry.name == name:
            if entry.stage != "kernel":
                raise NotModelledError((f"a {entry.stage} function",), subject=name)
            return entry
    names = ", ".join(entry.name for entry in module.entry_points)
    raise DispatchError(f"no kernel {name!r} in the module", subject=name, cause=f"it has: {names or 'none'}")


def _resource(name: str) -> str:
    return (resources.files(__package__ or "") / name).read_text("utf-8")


def _switch_file(machine: str) -> str:
    file = _SWITCHES.get(machine.lower())
    if not file or sys.platform == "win32":
        raise AirCpuError(
            f"AIR cannot run on {sys.platform} {machine}",
            cause="the context switch is written for the Linux and macOS calling conventions of x86-64 and AArch64",
            fix="verify on one of these systems, or use another backend",
        )
    return file


# --- function constants


def _constants(module: AirModule, text: str, values: Constants) -> dict[str, str]:
    """Function constants by IR symbol, as IR literals. Metal requires all that the kernel does not ask about."""
    found: dict[str, str] = {}
    missing = []
    optional = asked_constants(text)
    given: dict[int | str, Any] = dict(values.items())
    for constant in module.function_constants:
        if constant.index in given or constant.name in given:
            value = given[constant.index] if constant.index in given else given[constant.name]
            found[constant.symbol] = _literal(constant, value)
        elif constant.symbol not in optional:
            missing.append(f"{constant.name} ({constant.type_name}, index {constant.index})")
    if missing:
        raise DispatchError(
            f"function constants without a value: {', '.join(missing)}", fix="pass them in constants={index: value}"
        )
    return found


def _literal(constant: FunctionConstant, value: Any) -> str:
    kind = _SCALARS.get(constant.type_name)
    if kind is None:
        raise NotModelledError((f"a function constant of type {constant.type_name}",), subject=constant.name)
    if kind in ("half", "float"):
        if kind == "float":
            return float_constant(float(value))
        return f"0xH{struct.unpack('<H', struct.pack('<e', float(value)))[0]:04X}"
    return str(int(value))


# --- threadgroup memory holds garbage when a threadgroup starts; all ones are a NaN in every float type


def _poison(entry: EntryPoint, variables: list[tuple[str, str, int]]) -> str:
    lines = []
    for index, (name, kind, size) in enumerate(variables):
        if kind.endswith("addrspace(3)"):
            plain = f"i8 addrspace(3)* bitcast ({kind}* @{name} to i8 addrspace(3)*)"
            lines.append(f"  %g{index} = addrspacecast {plain} to i8*")
            lines.append(f"  call void @llvm.memset.p0i8.i64(i8* %g{index}, i8 -1, i64 {size}, i1 false)")
    for argument in entry.arguments:
        if not is_threadgroup(argument.address_space):
            continue
        n = argument.position
        for side, index in (("low", 0), ("high", 1)):
            lines.append(f"  %{side}{n} = load i64, i64* {bounds_place(n, index)}")
        lines.append(f"  %size{n} = sub i64 %high{n}, %low{n}")
        lines.append(f"  %at{n} = inttoptr i64 %low{n} to i8*")
        lines.append(f"  call void @llvm.memset.p0i8.i64(i8* %at{n}, i8 -1, i64 %size{n}, i1 false)")
    body = "\n".join(lines)
    return f"define internal void @spk.poison() nounwind {{\n{body}\n  ret void\n}}"


def is_threadgroup(space: int | None) -> bool:
    """Whether an address space is threadgroup memory."""
    return space == 3
