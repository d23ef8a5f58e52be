"""AIR on the CPU behind the verification runner."""

from __future__ import annotations

import numpy as np
import pytest

from shaderc_tool.verify.air_cpu import DispatchError, OutOfBoundsError
from shaderc_tool.verify.air_cpu.backend import AirCpu, open_cpu
from shaderc_tool.verify.backend import Backend, Binding, Dispatch
from shaderc_tool.verify.case import Case
from shaderc_tool.verify.runner import Kernel, verify_kernel
from tests.verify.air_text import Buffer, Builtin, kernel

# out[i] = 2 in[i] for i < n; the bug that a test plants is in {bug}
BODY = """
  %n = load i32, i32 addrspace(2)* %2
  %in = icmp ult i32 %3, %n
  br i1 %in, label %go, label %end
go:
  %p = getelementptr float, float addrspace(1)* %0, i32 %3
  %x = load float, float addrspace(1)* %p
  %y = fmul float %x, {factor}
  %at = add i32 %3, {shift}
  %q = getelementptr float, float addrspace(1)* %1, i32 %at
  store float %y, float addrspace(1)* %q
  br label %end
end:
  ret void
"""
PARAMS = (
    Buffer(0, "float"),
    Buffer(1, "float"),
    Buffer(2, "i32", 2, reference=4),
    Builtin("thread_position_in_grid"),
)


def _kernel(factor: str = "2.0", shift: int = 0) -> Kernel:
    binary = kernel(PARAMS, BODY.format(factor=factor, shift=shift))
    return Kernel("twice", binary, "k", {0: "x", 1: "y"}, ("n",), ("ceil_div(n, 64)",), threadgroup=(64, 1, 1))


def _case(n: int = 100) -> Case:
    x = np.random.default_rng(1).standard_normal(n)
    x = x.astype(np.float32).astype(np.float64)
    return Case("plain", {"x": x}, {"n": n}, {"y": 2 * x})


def test_right_kernel_passes() -> None:
    with open_cpu() as backend:
        result = verify_kernel(backend, _kernel(), [_case(), _case(1)], repeats=3)
    assert result.passed
    assert result.max_abs == 0
    assert result.milliseconds > 0


@pytest.mark.parametrize(("factor", "shift", "code"), [("2.5", 0, "SP5001"), ("2.0", 1, "SP5002")])
def test_planted_faults_fail(factor: str, shift: int, code: str) -> None:
    result = verify_kernel(AirCpu(), _kernel(factor, shift), [_case()])
    assert not result.passed
    assert code in {failure.code for failure in result.cases[0].failures}


def test_write_beyond_the_visible_guard_is_an_error() -> None:
    with pytest.raises(OutOfBoundsError, match="buffer 1"):
        verify_kernel(AirCpu(), _kernel(shift=100), [_case()])


def test_device_info() -> None:
    backend: Backend = AirCpu()
    assert backend.info.software
    assert backend.info.driver.startswith("LLVM 15.")


def test_threadgroup_size_of_the_declaration_counts() -> None:
    """With 64 threads for each of the groups that ceil_div(n, 64) gives, all elements are reached; with 32, half."""
    code = kernel(PARAMS, BODY.format(factor="2.0", shift=0))
    x, y = np.ones(128, np.float32).tobytes(), np.zeros(128, np.float32).tobytes()
    bindings = (Binding(0, x), Binding(1, y, read_back=True))
    for size, reached in ((64, 128), (32, 64)):
        dispatch = Dispatch(code, "k", bindings, np.uint32(128).tobytes(), (2, 1, 1), threadgroup=(size, 1, 1))
        out = AirCpu().run(dispatch).buffers
        assert set(out) == {1}
        assert np.count_nonzero(np.frombuffer(out[1], np.float32)) == reached


def test_argument_struct_without_a_place() -> None:
    code = kernel(PARAMS, BODY.format(factor="2.0", shift=0))
    with pytest.raises(DispatchError, match="no place of its own"):
        AirCpu().run(Dispatch(code, "k", (Binding(0, bytes(4)),), bytes(4), (1, 1, 1)))
