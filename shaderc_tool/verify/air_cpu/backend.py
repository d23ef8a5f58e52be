"""AIR on the CPU as a verification backend."""

from __future__ import annotations

import contextlib
import hashlib
import platform
from collections.abc import Iterator
from typing import Final

import numpy as np

from shaderc_tool.diagnostics import Diagnostic, ToolMissingError
from shaderc_tool.verify.air_cpu import DispatchError, Kernel, load
from shaderc_tool.verify.backend import DeviceInfo, Dispatch, Result

_SIMDGROUP: Final = (32, 1, 1)


class AirCpu:
    """Runs the kernels of Metal libraries; each is compiled once."""

    def __init__(self) -> None:
        import llvmlite
        import llvmlite.binding as llvm

        version = ".".join(map(str, llvm.llvm_version_info))
        self._info = DeviceInfo(0, f"AIR on {platform.machine()}", "cpu", f"LLVM {version}", llvmlite.__version__)
        self._kernels: dict[tuple[bytes, str], Kernel] = {}

    @property
    def info(self) -> DeviceInfo:
        """What evidence records of this device."""
        return self._info

    def run(self, dispatch: Dispatch) -> Result:
        """Run a dispatch; the argument struct goes to the one buffer index that is not bound.

        Raises `AirCpuError` for what the kernel does wrong or the engine does not model, and `FormatError`.
        """
        kernel = self._kernel(dispatch)
        arrays = {b.index: np.frombuffer(b.contents, np.uint8).copy() for b in dispatch.buffers}
        bound = {b.index: arrays[b.index][: b.bound_bytes] for b in dispatch.buffers}
        buffers = {**bound, **_constants(kernel, dispatch)}
        threadgroup = dispatch.threadgroup or _SIMDGROUP
        fresh = {index: array.copy() for index, array in arrays.items()}
        seconds = []
        for _ in range(max(1, dispatch.repeats)):
            for index, array in arrays.items():
                array[:] = fresh[index]
            seconds.append(kernel.dispatch(buffers, grid=dispatch.groups, threadgroup=threadgroup).seconds)
        wanted = {b.index for b in dispatch.buffers if b.read_back}
        return Result({index: arrays[index].tobytes() for index in wanted}, min(seconds) * 1e3, False)

    def _kernel(self, dispatch: Dispatch) -> Kernel:
        key = (hashlib.sha256(dispatch.binary).digest(), dispatch.entry)
        if key not in self._kernels:
            self._kernels[key] = load(dispatch.binary, dispatch.entry)
        return self._kernels[key]


def _constants(kernel: Kernel, dispatch: Dispatch) -> dict[int, bytes]:
    """The argument struct by its buffer index: the one that has no binding."""
    bound = {binding.index for binding in dispatch.buffers}
    free = [
        argument.index
        for argument in kernel.entry.arguments
        if argument.is_buffer and argument.address_space != 3 and argument.index not in bound
    ]
    if len(free) > 1 or (dispatch.constants and not free):
        places = ", ".join(map(str, free)) or "none"
        raise DispatchError(
            f"{kernel.name}: the argument struct has no place of its own",
            subject=kernel.name,
            cause=f"buffer indices without a binding: {places}",
            fix="list every buffer of the kernel in the manifest, with `args` for the struct",
        )
    return dict.fromkeys(free, dispatch.constants)


@contextlib.contextmanager
def open_cpu() -> Iterator[AirCpu]:
    """The backend. Raises ToolMissingError SP5400 without llvmlite."""
    try:
        backend = AirCpu()
    except ImportError as error:
        raise ToolMissingError(
            Diagnostic("SP5400", "llvmlite is not installed", cause=str(error), fix="pip install 'shaderpack[metal]'")
        ) from error
    yield backend
