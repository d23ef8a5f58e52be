"""The function that a fiber runs: it loads the kernel's arguments and calls it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shaderc_tool.formats.air import EntryPoint
from shaderc_tool.verify.air_cpu.control import MAX_PARAMETERS
from shaderc_tool.verify.air_cpu.errors import NotModelledError

_CONTROL: Final = "%spk.control.type, %spk.control.type* @spk.control, i64 0"
_SIZE, _GROUPS, _TOTAL, _POSITION, _EXTENT = 3, 4, 5, 6, 7  # fields of the control block, see runtime.ll
_SIMD_WIDTH: Final = 32
_QUAD_WIDTH: Final = 4

# builtins that are three-component fields of the control block
_VECTORS: Final = {
    "threadgroup_position_in_grid": _POSITION,
    "threads_per_threadgroup": _EXTENT,
    "dispatch_threads_per_threadgroup": _SIZE,
    "threadgroups_per_grid": _GROUPS,
    "threads_per_grid": _TOTAL,
}


class Trampoline:
    """Builds `@spk.kernel` for one entry point."""

    def __init__(self, entry: EntryPoint, kernel: str, parameters: Sequence[tuple[str, str]]) -> None:
        self._entry = entry
        self._kernel = kernel
        self._parameters = parameters
        self._lines: list[str] = []

    def text(self) -> str:
        """The functions `@spk.kernel` and `@spk.lane`. Raises `NotModelledError` for unknown argument kinds."""
        unknown = tuple(
            f"argument kind {argument.kind}" for argument in self._entry.arguments if not is_modelled(argument.kind)
        )
        if unknown:
            raise NotModelledError(tuple(dict.fromkeys(unknown)), subject=self._entry.name)
        by_position = {argument.position: argument for argument in self._entry.arguments}
        values = []
        for position, (kind, _) in enumerate(self._parameters):
            argument = by_position.get(position)
            if argument is None:
                raise NotModelledError((f"parameter {position} without metadata",), subject=self._entry.name)
            if argument.is_buffer:
                values.append(f"{kind} {self._pointer(position, kind)}")
            else:
                values.append(f"{kind} {self._builtin(argument.kind, kind)}")
        body = "\n".join(self._lines)
        return f"""define void @spk.kernel() noinline nounwind {{
{body}
  call void @{self._kernel}({", ".join(values)})
  ret void
}}
{_LANE}"""

    def _op(self, text: str) -> str:
        name = f"%v{len(self._lines)}"
        self._lines.append(f"  {name} = {text}")
        return name

    def _pointer(self, position: int, kind: str) -> str:
        table = f"[{MAX_PARAMETERS} x i64]"
        place = f"getelementptr ({table}, {table}* @spk.args, i64 0, i64 {position})"
        return self._op(f"inttoptr i64 {self._op(f'load i64, i64* {place}')} to {kind}")

    def _builtin(self, name: str, kind: str) -> str:
        if kind.startswith("<"):
            count = int(kind[1:].split()[0])
            element = kind.rstrip(">").split()[-1]
            vector = "undef"
            for axis in range(count):
                value = self._narrow(self._component(name, axis), element)
                vector = self._op(f"insertelement {kind} {vector}, {element} {value}, i32 {axis}")
            return vector
        return self._narrow(self._component(name, 0), kind)

    def _narrow(self, value: str, kind: str) -> str:
        return value if kind == "i32" else self._op(f"trunc i32 {value} to {kind}")

    def _component(self, name: str, axis: int) -> str:
        if name in _VECTORS:
            return self._control(_VECTORS[name], axis)
        if name == "thread_position_in_threadgroup":
            return self._own(6, axis)
        if name == "thread_position_in_grid":
            size = self._control(_SIZE, axis)
            start = self._op(f"mul i32 {self._control(_POSITION, axis)}, {size}")
            return self._op(f"add i32 {start}, {self._own(6, axis)}")
        return self._scalar(name)

    def _scalar(self, name: str) -> str:
        index = self._own(5)
        match name:
            case "thread_index_in_threadgroup":
                return index
            case "thread_index_in_simdgroup":
                return self._op(f"and i32 {index}, {_SIMD_WIDTH - 1}")
            case "simdgroup_index_in_threadgroup":
                return self._op(f"udiv i32 {index}, {_SIMD_WIDTH}")
            case "thread_index_in_quadgroup":
                return self._op(f"and i32 {index}, {_QUAD_WIDTH - 1}")
            case "quadgroup_index_in_threadgroup":
                return self._op(f"udiv i32 {index}, {_QUAD_WIDTH}")
            case "simdgroups_per_threadgroup":
                return self._groups_of(_EXTENT, _SIMD_WIDTH)
            case "dispatch_simdgroups_per_threadgroup":
                return self._groups_of(_SIZE, _SIMD_WIDTH)
            case "quadgroups_per_threadgroup":
                return self._groups_of(_EXTENT, _QUAD_WIDTH)
            case _:
                return str(_CONSTANTS[name])

    def _groups_of(self, field: int, width: int) -> str:
        x, y, z = (self._control(field, axis) for axis in range(3))
        threads = self._op(f"mul i32 {self._op(f'mul i32 {x}, {y}')}, {z}")
        return self._op(f"udiv i32 {self._op(f'add i32 {threads}, {width - 1}')}, {width}")

    def _control(self, field: int, axis: int) -> str:
        return self._op(f"load i32, i32* getelementptr ({_CONTROL}, i32 {field}, i64 {axis})")

    def _own(self, field: int, axis: int = -1) -> str:
        """A field of the current thread."""
        thread = self._op(f"load %spk.thread*, %spk.thread** getelementptr ({_CONTROL}, i32 11)")
        index = f", i64 {axis}" if axis >= 0 else ""
        place = self._op(f"getelementptr %spk.thread, %spk.thread* {thread}, i64 0, i32 {field}{index}")
        return self._op(f"load i32, i32* {place}")


_CONSTANTS: Final = {
    "threads_per_simdgroup": _SIMD_WIDTH,
    "thread_execution_width": _SIMD_WIDTH,
    "grid_origin": 0,
}
_SCALARS: Final = (
    "thread_position_in_threadgroup",
    "thread_position_in_grid",
    "thread_index_in_threadgroup",
    "thread_index_in_simdgroup",
    "simdgroup_index_in_threadgroup",
    "thread_index_in_quadgroup",
    "quadgroup_index_in_threadgroup",
    "simdgroups_per_threadgroup",
    "dispatch_simdgroups_per_threadgroup",
    "quadgroups_per_threadgroup",
)
_LANE: Final = f"""define internal i32 @spk.lane() alwaysinline nounwind {{
  %thread = load %spk.thread*, %spk.thread** getelementptr ({_CONTROL}, i32 11)
  %place = getelementptr %spk.thread, %spk.thread* %thread, i64 0, i32 5
  %index = load i32, i32* %place
  %lane = and i32 %index, {_SIMD_WIDTH - 1}
  ret i32 %lane
}}"""


def is_modelled(kind: str) -> bool:
    """Whether an argument kind can be passed."""
    return kind in ("buffer", "indirect_buffer", *_VECTORS, *_SCALARS, *_CONSTANTS)
