"""Runs the cases of a kernel on a backend and compares with the references; knows neither Vulkan nor Metal.

result = verify_kernel(backend, kernel, cases("turbo3"))
result.passed, result.max_abs, result.diagnostics()
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shaderc_tool.diagnostics import Diagnostic, ShaderpackError
from shaderc_tool.verify import grid
from shaderc_tool.verify.backend import Backend, Dispatch, Result
from shaderc_tool.verify.case import Case
from shaderc_tool.verify.guarded import POISON_WORD, Guarded, input_bytes, output_bytes


@dataclass(frozen=True)
class Kernel:
    """A built kernel and its declared dispatch.

    `bindings` maps binding (or buffer) index to role name; `constants` lists the u32 members of the push-constant block
    or argument struct; `grid` holds one expression for each grid dimension, over the members and the case's own names.
    `threadgroup` is threads per work-group where the binary does not fix it.
    """

    name: str
    binary: bytes
    entry: str
    bindings: Mapping[int, str]
    constants: tuple[str, ...]
    grid: tuple[str, ...]
    threadgroup: tuple[int, ...] = ()


@dataclass(frozen=True)
class Failure:
    """Why a case failed: a code of SP50xx, where, and what was found there."""

    code: str
    message: str
    role: str = ""
    index: int = -1


@dataclass(frozen=True)
class CaseResult:
    """One case: errors over all outputs, `max_rel` relative to the largest expected magnitude of each output."""

    name: str
    max_abs: float
    max_rel: float
    milliseconds: float
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True)
class KernelResult:
    """All cases of a kernel. `skipped` names cases that the kernel's interface cannot express."""

    kernel: str
    cases: tuple[CaseResult, ...]
    skipped: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """At least one case ran and none failed."""
        return bool(self.cases) and not any(case.failures for case in self.cases)

    @property
    def max_abs(self) -> float:
        return max((case.max_abs for case in self.cases), default=0.0)

    @property
    def max_rel(self) -> float:
        return max((case.max_rel for case in self.cases), default=0.0)

    @property
    def milliseconds(self) -> float:
        return sum(case.milliseconds for case in self.cases)

    def diagnostics(self) -> list[Diagnostic]:
        """One error for each failure."""
        return [
            Diagnostic(failure.code, f"{self.kernel}: case {case.name}: {failure.message}", subject=self.kernel)
            for case in self.cases
            for failure in case.failures
        ]


def verify_kernel(
    backend: Backend, kernel: Kernel, cases: Iterable[Case], *, fail_fast: bool = False, repeats: int = 1
) -> KernelResult:
    """Run each case. `fail_fast` stops after the first that fails.

    Raises ShaderpackError SP5006 when the declaration does not fit the cases, SP5004 or SP5005 from the backend.
    """
    expressions = [_parse(kernel, text) for text in kernel.grid]
    known = set(kernel.constants).union(*(e.names for e in expressions))
    results: list[CaseResult] = []
    skipped: list[str] = []
    for case in cases:
        if any(value and name not in known for name, value in case.params.items()):
            skipped.append(case.name)
            continue
        groups = _groups(kernel, expressions, case)
        results.append(_run_case(backend, kernel, case, groups, repeats))
        if fail_fast and results[-1].failures:
            break
    return KernelResult(kernel.name, tuple(results), tuple(skipped))


def _parse(kernel: Kernel, text: str) -> grid.Expression:
    try:
        return grid.parse(text)
    except grid.GridError as error:
        raise _mismatch(kernel, f"grid expression: {error}") from error


def _groups(kernel: Kernel, expressions: list[grid.Expression], case: Case) -> tuple[int, int, int]:
    try:
        return grid.fold([expression.evaluate(case.params) for expression in expressions])
    except grid.GridError as error:
        raise _mismatch(kernel, f"case {case.name}: grid: {error}") from error


def _mismatch(kernel: Kernel, message: str) -> ShaderpackError:
    fix = "correct the bindings, push_constants or grid of the kernel in the manifest"
    return ShaderpackError(Diagnostic("SP5006", f"{kernel.name}: {message}", fix=fix, subject=kernel.name))


def _run_case(backend: Backend, kernel: Kernel, case: Case, groups: tuple[int, int, int], repeats: int) -> CaseResult:
    buffers = _buffers(kernel, case)
    dispatch = Dispatch(
        binary=kernel.binary,
        entry=kernel.entry,
        buffers=tuple(buffer.binding() for buffer in buffers.values()),
        constants=_constants(kernel, case),
        groups=groups,
        repeats=repeats,
        threadgroup=kernel.threadgroup,
    )
    return _judge(case, buffers, backend.run(dispatch))


def _buffers(kernel: Kernel, case: Case) -> dict[str, Guarded]:
    roles = set(kernel.bindings.values())
    wanted = case.buffers.keys() | case.expected.keys()
    if roles != wanted:
        extra, absent = sorted(roles - wanted), sorted(wanted - roles)
        raise _mismatch(kernel, f"bindings: the reference lacks {extra or 'nothing'}, the kernel {absent or 'nothing'}")
    return {role: Guarded(index, _contents(case, role)) for index, role in kernel.bindings.items()}


def _contents(case: Case, role: str) -> bytes:
    if role in case.expected:
        return output_bytes(case.expected[role], case.initial.get(role))
    return input_bytes(case.buffers[role])


def _constants(kernel: Kernel, case: Case) -> bytes:
    absent = [name for name in kernel.constants if name not in case.params]
    if absent:
        raise _mismatch(kernel, f"push constants: the reference has no {', '.join(absent)}")
    return struct.pack(f"<{len(kernel.constants)}I", *(case.params[name] for name in kernel.constants))


def _judge(case: Case, buffers: Mapping[str, Guarded], result: Result) -> CaseResult:
    failures: list[Failure] = []
    max_abs = max_rel = 0.0
    for role, buffer in buffers.items():
        after = result.buffers[buffer.index]
        damage = buffer.first_damage(after)
        if damage is not None:
            failures.append(Failure("SP5002", f"{role}: byte {damage} past its end was written", role, damage))
        if role not in case.expected:
            if after[: buffer.size] != buffer.contents:
                failures.append(Failure("SP5002", f"{role}: an input was written", role))
            continue
        got = _values(after[: buffer.size], case.expected[role])
        failure = _compare(case, role, got)
        if failure is not None:
            failures.append(failure)
        absolute, relative = _errors(got, case.expected[role])
        max_abs, max_rel = max(max_abs, absolute), max(max_rel, relative)
    return CaseResult(case.name, max_abs, max_rel, result.milliseconds, tuple(failures))


def _values(raw: bytes, expected: NDArray[Any]) -> NDArray[Any]:
    kind = np.uint8 if expected.dtype == np.uint8 else np.float32
    return np.frombuffer(raw, kind)


def _compare(case: Case, role: str, got: NDArray[Any]) -> Failure | None:
    expected = case.expected[role]
    if expected.dtype == np.uint8:
        wrong = np.flatnonzero(got != expected)
        if not len(wrong):
            return None
        i = int(wrong[0])
        message = f"{role}: byte {i} is {got[i]}, expected {expected[i]} ({len(wrong)} of {len(got)} differ)"
        return Failure("SP5001", message, role, i)
    unwritten = np.flatnonzero(got.view(np.uint32) == POISON_WORD)
    if len(unwritten):
        i = int(unwritten[0])
        message = f"{role}: element {i} was not written ({len(unwritten)} of {len(got)})"
        return Failure("SP5003", message, role, i)
    with np.errstate(invalid="ignore"):  # NaN and infinity compare as wrong
        right = np.abs(got.astype(np.float64) - expected) <= case.atol + case.rtol * np.abs(expected)
    wrong = np.flatnonzero(~right)
    if not len(wrong):
        return None
    i = int(wrong[0])
    message = (
        f"{role}: element {i} is {got[i]:.9g}, expected {expected[i]:.9g} ± "
        f"{case.atol + case.rtol * abs(expected[i]):.2g} ({len(wrong)} of {len(got)} differ)"
    )
    return Failure("SP5001", message, role, i)


def _errors(got: NDArray[Any], expected: NDArray[Any]) -> tuple[float, float]:
    """Largest absolute error, and the same relative to the largest expected magnitude. Infinite for NaN."""
    with np.errstate(invalid="ignore"):
        difference = np.abs(got.astype(np.float64) - expected)
    worst = float(np.where(np.isnan(difference), np.inf, difference).max(initial=0.0))
    scale = float(np.abs(expected.astype(np.float64)).max(initial=0.0))
    return worst, worst / scale if scale else worst
