"""A compiled kernel and its dispatch."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from shaderc_tool.formats.air import EntryPoint
from shaderc_tool.verify.air_cpu.control import Arguments, Bounds, Control, Thread
from shaderc_tool.verify.air_cpu.errors import DispatchError
from shaderc_tool.verify.air_cpu.faults import Region, raise_fault
from shaderc_tool.verify.air_cpu.jit import machine_code
from shaderc_tool.verify.air_cpu.memory import ABSENT, Binding, Buffers, Stacks, bind
from shaderc_tool.verify.air_cpu.program import Program, is_threadgroup

_SYMBOLS: Final = ("spk.control", "spk.args", "spk.bounds", "spk.run")
_MAX_THREADS: Final = 1024
_SLICE_SECONDS: Final = 0.1


@dataclass(frozen=True)
class Result:
    """What a dispatch did. `seconds` is the time inside the kernel.

    `incomplete_barriers` counts barriers that opened without some threads, which had returned or were past it in a
    simdgroup function. Metal leaves that undefined, GPUs accept it.
    """

    seconds: float
    threads: int
    barriers: int
    simdgroup_operations: int
    incomplete_barriers: int


class Kernel:
    """One kernel as machine code. Dispatches of the same kernel exclude each other."""

    def __init__(self, program: Program) -> None:
        self._program = program
        variables = program.instrumented.globals
        symbols = [*_SYMBOLS, *(name.strip('"') for name, _, _ in variables)]
        # The engine owns the code; it must live as long as the addresses are used.
        self._engine, addresses = machine_code(program.text, symbols)
        self._control = Control.from_address(addresses["spk.control"])
        self._arguments = Arguments.from_address(addresses["spk.args"])
        self._bounds = Bounds.from_address(addresses["spk.bounds"])
        prototype = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32)
        self._run = prototype(addresses["spk.run"])
        self._stacks = Stacks()
        self.stack_bytes = program.stack_bytes
        """What each thread's stack takes."""
        self._lock = threading.Lock()
        self._globals = [_global_region(addresses[name.strip('"')], name, kind, size) for name, kind, size in variables]

    @property
    def entry(self) -> EntryPoint:
        """Arguments and attributes of the kernel."""
        return self._program.entry

    @property
    def name(self) -> str:
        """The kernel's name in the library."""
        return self._program.entry.name

    def dispatch(
        self,
        buffers: Buffers,
        *,
        threadgroup: Sequence[int],
        grid: Sequence[int] | None = None,
        threads: Sequence[int] | None = None,
        threadgroup_memory: Mapping[int, int] | None = None,
        time_limit: float = 60.0,
    ) -> Result:
        """Run the kernel and change the arrays in place.

        `buffers`: arrays, NumPy scalars or bytes by buffer index; `None` for an index that stays unbound; a
        mapping {id: value} for an argument buffer. Give either `grid`, the number of threadgroups per axis, or
        `threads`, the number of threads per axis, where threadgroups at the edge may be smaller. `threadgroup` is
        the number of threads of a threadgroup per axis; `threadgroup_memory` maps [[threadgroup(n)]] to bytes;
        `time_limit` is in seconds.

        Raises `DispatchError` for arguments that do not fit, and an `AirCpuError` for what the kernel does wrong. The
        arrays then hold what was written until the fault.
        """
        size, groups, total = self._sizes(grid, threads, threadgroup)
        with self._lock:
            bindings = bind(self.entry, buffers, threadgroup_memory or {})
            regions = self._place(bindings)
            table = self._range_table(bindings)
            control = self._prepare(size, groups, total, table)
            count = size[0] * size[1] * size[2]
            thread_table = (Thread * count)()
            control.threads = ctypes.addressof(thread_table)
            stack = self.stack_bytes
            control.stacks = self._stacks.reserve(count * stack)
            control.stack_bytes = stack
            try:
                seconds = self._run_slices(groups[0] * groups[1] * groups[2], time_limit)
                if control.fault.code:
                    raise_fault(control, self.entry, self._program.instrumented.sites, regions)
            finally:
                for binding in bindings:
                    binding.copy_back()
        return Result(
            seconds,
            total[0] * total[1] * total[2],
            int(control.barriers),
            int(control.operations),
            int(control.missed),
        )

    def _sizes(
        self, grid: Sequence[int] | None, threads: Sequence[int] | None, threadgroup: Sequence[int]
    ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """(threadgroup size, threadgroups, threads), three axes each."""
        size = _three("threadgroup", threadgroup)
        if (grid is None) == (threads is None):
            raise DispatchError("give either grid (threadgroups) or threads", subject=self.name)
        if threads is not None:
            total = _three("threads", threads)
            groups = tuple(-(-t // s) for t, s in zip(total, size, strict=True))
        else:
            groups = _three("grid", grid or ())
            total = tuple(g * s for g, s in zip(groups, size, strict=True))
        count = size[0] * size[1] * size[2]
        limit = min(self.entry.max_threads or _MAX_THREADS, _MAX_THREADS)
        if count > limit:
            raise DispatchError(f"{count} threads per threadgroup; {self.name} allows {limit}", subject=self.name)
        if groups[0] * groups[1] * groups[2] >= 2**32 or max(total) >= 2**32:
            raise DispatchError("the grid has more than 2^32 threadgroups or threads per axis", subject=self.name)
        return size, groups, total

    def _place(self, bindings: Sequence[Binding]) -> dict[str, Region]:
        """Write addresses and bounds where the kernel reads them; regions by parameter or global for messages."""
        names = (name for name, _, _ in self._program.instrumented.globals)
        regions = {f"@{name}": region for name, region in zip(names, self._globals, strict=True)}
        for binding in bindings:
            position = binding.argument.position
            low = binding.address
            self._arguments[position] = 0 if low == ABSENT else low
            self._bounds[position][0] = low
            self._bounds[position][1] = low + binding.size
            kind = "threadgroup memory" if is_threadgroup(binding.argument.address_space) else "buffer"
            name = f"{kind} {binding.argument.index} ({binding.argument.name})"
            regions[self._program.parameters[position][1]] = Region(low, low + binding.size, name)
        return regions

    def _range_table(self, bindings: Sequence[Binding]) -> Any:
        """All ranges, for pointers whose buffer is not known at compile time; uint64 array of (n, 2)."""
        rows = [(region.low, region.high) for region in self._globals]
        work = list(bindings)
        for binding in work:
            work.extend(binding.inner)
            if binding.address != ABSENT:
                rows.append((binding.address, binding.address + binding.size))
        return np.array(rows, np.uint64).reshape(-1, 2)

    def _prepare(self, size: tuple[int, ...], groups: tuple[int, ...], total: tuple[int, ...], table: Any) -> Control:
        control = self._control
        ctypes.memset(ctypes.addressof(control), 0, ctypes.sizeof(control))
        control.size[:] = size
        control.groups[:] = groups
        control.total[:] = total
        control.range_count = len(table)
        control.ranges = table.ctypes.data
        return control

    def _run_slices(self, groups: int, time_limit: float) -> float:
        """Run all threadgroups, in slices so that Ctrl-C is heard between them. Gives the seconds spent."""
        timer = threading.Timer(time_limit, self._stop)
        timer.daemon = True
        timer.start()
        spent = 0.0
        done, step = 0, 1
        try:
            while done < groups:
                start = time.perf_counter()
                ran = self._run(done, min(groups, done + step))
                took = time.perf_counter() - start
                spent += took
                done += ran
                if self._control.fault.code:
                    break
                step = max(1, min(2 * step if took < _SLICE_SECONDS else step // 2, 2**31))
        finally:
            timer.cancel()
            timer.join()  # it must not stop the next dispatch
        return spent

    def _stop(self) -> None:
        self._control.stop = 1


def _three(what: str, sizes: Sequence[int]) -> tuple[int, ...]:
    values = tuple(int(value) for value in sizes)
    if not 1 <= len(values) <= 3 or min(values) < 1:
        raise DispatchError(f"{what} must be one to three positive numbers, not {tuple(sizes)}")
    return values + (1,) * (3 - len(values))


def _global_region(address: int, name: str, kind: str, size: int) -> Region:
    what = "threadgroup variable" if kind.endswith("addrspace(3)") else "constant"
    return Region(address, address + size, f"{what} {name}")
