"""What can go wrong when a kernel runs on the CPU, each as an error with a diagnostic code."""

from __future__ import annotations

from shaderc_tool.diagnostics import Diagnostic, ShaderpackError


class AirCpuError(ShaderpackError):
    """A kernel cannot be loaded or run, or did something that Metal does not define."""

    code = "SP5400"

    def __init__(self, message: str, *, subject: str = "", cause: str = "", fix: str = "") -> None:
        super().__init__(Diagnostic(self.code, message, subject=subject, cause=cause, fix=fix))


class NotModelledError(AirCpuError):
    """The kernel uses AIR functions or argument kinds that this engine does not model; `names` lists them."""

    code = "SP5401"

    def __init__(self, names: tuple[str, ...], *, subject: str = "") -> None:
        super().__init__(
            f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} not modelled",
            subject=subject,
            fix="run this kernel on a device, or verify it by another kernel",
        )
        self.names = names


class DispatchError(AirCpuError):
    """Buffers, constants or sizes do not fit the kernel's arguments."""

    code = "SP5402"


class OutOfBoundsError(AirCpuError):
    """A load or store outside of every buffer that was passed."""

    code = "SP5403"


class BarrierDivergenceError(AirCpuError):
    """Threads of one threadgroup wait at different barriers, and none can open."""

    code = "SP5404"


class DeadlockError(AirCpuError):
    """Threads spin on values that no thread will change."""

    code = "SP5405"


class TimeLimitError(AirCpuError):
    """The dispatch ran longer than its time limit."""

    code = "SP5406"


class StackOverflowError(AirCpuError):
    """A thread's private variables outgrew its stack."""

    code = "SP5407"


class IncompleteSimdgroupError(AirCpuError):
    """A simdgroup matrix product was reached by only some of the 32 lanes."""

    code = "SP5408"
