"""Runs Metal kernels on the CPU from their AIR, Apple's or our own, without a Mac.

    import numpy as np
    from shaderc_tool.verify.air_cpu import run

    x = np.ones(1000, np.float32)
    run(open("default.metallib", "rb").read(), "scale", buffers=[x, np.float32(2)], threads=(1000,), threadgroup=(64,))

A kernel is specialised, compiled by LLVM, and run with one fiber per GPU thread. Threadgroup barriers and simdgroup
operations behave as on a GPU with simdgroups of 32 lanes, divergent and partial groups included. Out-of-bounds access,
barrier divergence, deadlock and endless loops become errors. Functions without a model are named, never guessed.

Results are not bit-equal to a GPU's: order of reductions, `fast_` functions, fused multiply-add and denormals differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shaderc_tool.verify.air_cpu.errors import (
    AirCpuError,
    BarrierDivergenceError,
    DeadlockError,
    DispatchError,
    IncompleteSimdgroupError,
    NotModelledError,
    OutOfBoundsError,
    StackOverflowError,
    TimeLimitError,
)
from shaderc_tool.verify.air_cpu.kernel import Kernel, Result
from shaderc_tool.verify.air_cpu.library import Source, kernel_bitcode
from shaderc_tool.verify.air_cpu.memory import Buffer, Buffers
from shaderc_tool.verify.air_cpu.program import Constants, build_program
from shaderc_tool.verify.air_cpu.program import unmodelled as _unmodelled

__all__ = [
    "AirCpuError",
    "BarrierDivergenceError",
    "Buffer",
    "Buffers",
    "Constants",
    "DeadlockError",
    "DispatchError",
    "IncompleteSimdgroupError",
    "Kernel",
    "NotModelledError",
    "OutOfBoundsError",
    "Result",
    "Source",
    "StackOverflowError",
    "TimeLimitError",
    "load",
    "run",
    "unmodelled",
]


def load(library: Source, kernel: str, *, constants: Constants | None = None) -> Kernel:
    """Compile one kernel.

    `library` is the bytes of a Metal library or of one AIR module, or a parsed library. `constants` gives function
    constants by index or name; as in Metal, those that the kernel does not have are ignored.

    Raises `FormatError`, `DispatchError`, `NotModelledError`.
    """
    return Kernel(build_program(kernel_bitcode(library, kernel), kernel, constants or {}))


def run(
    library: Source,
    kernel: str,
    *,
    buffers: Buffers,
    threadgroup: Sequence[int],
    grid: Sequence[int] | None = None,
    threads: Sequence[int] | None = None,
    constants: Constants | None = None,
    threadgroup_memory: Mapping[int, int] | None = None,
    time_limit: float = 60.0,
) -> Result:
    """Compile and dispatch one kernel; see `load` and `Kernel.dispatch`."""
    return load(library, kernel, constants=constants).dispatch(
        buffers,
        threadgroup=threadgroup,
        grid=grid,
        threads=threads,
        threadgroup_memory=threadgroup_memory,
        time_limit=time_limit,
    )


def unmodelled(library: Source, kernel: str) -> tuple[str, ...]:
    """What keeps a kernel from running here: functions and argument kinds without a model. Compiles nothing."""
    return _unmodelled(kernel_bitcode(library, kernel), kernel)
