"""The runner catches what a wrong kernel does: planted shaders that overwrite, skip, corrupt or read too far."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shaderc_tool.diagnostics import ShaderpackError
from shaderc_tool.verify.backend import DeviceInfo, Dispatch, Result
from shaderc_tool.verify.case import Case
from shaderc_tool.verify.guarded import Guarded
from shaderc_tool.verify.runner import CaseResult, Kernel, verify_kernel
from shaderc_tool.verify.vulkan_device import VulkanDevice
from tests.verify.vulkan_kernels import compile_shaders

TEMPLATE = """#version 450
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer A { float a[]; };
layout(std430, binding = 1) buffer B { float b[]; };
layout(push_constant) uniform Args { uint n; } args;
void main() {
    uint i = gl_GlobalInvocationID.x;
    BODY
}
"""
BODIES = {
    "right": "if (i < args.n) b[i] = 2.0 * a[i];",
    "past_the_end": "if (i <= args.n) b[i] = 2.0 * a[i];",
    "far_past_the_end": "if (i < args.n) { b[i] = 2.0 * a[i]; b[args.n + 60] = 1.0; }",
    "unwritten": "if (i + 1 < args.n) b[i] = 2.0 * a[i];",
    "wrong_value": "if (i < args.n) b[i] = (i == 5 ? 3.0 : 2.0) * a[i];",
    "not_a_number": "if (i < args.n) b[i] = (i == 5 ? sqrt(-1.0 - a[0] * a[0]) : 2.0) * a[i];",
    "reads_too_far": "if (i < args.n) b[i] = 2.0 * a[i] + 1e-30 * a[i + 1];",
    "writes_input": "if (i < args.n) { b[i] = 2.0 * a[i]; a[i] = 0.0; }",
}
N = 33


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("planted")
    for name, body in BODIES.items():
        text = TEMPLATE.replace("BODY", body)
        (folder / f"{name}.comp").write_text(text, "utf-8")
    return compile_shaders(sorted(folder.glob("*.comp")), folder, include=folder)


def _kernel(binary: bytes) -> Kernel:
    return Kernel("twice", binary, "main", {0: "a", 1: "b"}, ("n",), ("ceil_div(n, 32)",))


def _case() -> Case:
    a = np.arange(1, N + 1, dtype=np.float32)
    return Case("n33", {"a": a}, {"n": N}, {"b": 2.0 * a.astype(np.float64)}, atol=1e-6)


def _run(device: VulkanDevice, binary: bytes, case: Case | None = None) -> CaseResult:
    return verify_kernel(device, _kernel(binary), [case or _case()]).cases[0]


def test_right_kernel_passes(device: VulkanDevice, planted: dict[str, bytes]) -> None:
    result = _run(device, planted["right"])
    assert not result.failures
    assert (result.max_abs, result.max_rel) == (0, 0)


@pytest.mark.parametrize(
    ("name", "codes", "text"),
    [
        ("past_the_end", ["SP5002"], "b: byte 0 past its end"),
        ("far_past_the_end", ["SP5002"], "b: byte 240 past its end"),
        ("unwritten", ["SP5003"], "element 32 was not written (1 of 33)"),
        ("wrong_value", ["SP5001"], "element 5 is 18, expected 12 ± 1e-06 (1 of 33 differ)"),
        ("not_a_number", ["SP5001"], "element 5 is"),
        ("reads_too_far", ["SP5001"], "element 32 is"),
        ("writes_input", ["SP5002"], "a: an input was written"),
    ],
)
def test_planted_fault(name: str, codes: list[str], text: str, device: VulkanDevice, planted: dict[str, bytes]) -> None:
    failures = _run(device, planted[name]).failures
    assert [failure.code for failure in failures] == codes
    assert text in failures[0].message


def test_elements_to_leave_alone(device: VulkanDevice, planted: dict[str, bytes]) -> None:
    """An output with initial contents: the kernel of 32 elements leaves the 33rd, the kernel of 33 must not."""
    initial = np.full(N, -7.0, dtype=np.float32)
    case = _case()
    expected = case.expected["b"].copy()
    expected[-1] = -7.0
    case = replace(case, expected={"b": expected}, initial={"b": initial})
    assert not _run(device, planted["unwritten"], case).failures
    assert _run(device, planted["right"], case).failures[0].index == N - 1


def test_result_names_kernel_and_case(device: VulkanDevice, planted: dict[str, bytes]) -> None:
    result = verify_kernel(device, _kernel(planted["wrong_value"]), [_case()])
    assert not result.passed
    assert result.max_abs == 6
    (diagnostic,) = result.diagnostics()
    assert diagnostic.code == "SP5001"
    assert diagnostic.message.startswith("twice: case n33: b: element 5")


def test_fail_fast_stops(device: VulkanDevice, planted: dict[str, bytes]) -> None:
    wrong = _kernel(planted["wrong_value"])
    assert len(verify_kernel(device, wrong, [_case(), _case()], fail_fast=True).cases) == 1
    assert len(verify_kernel(device, wrong, [_case(), _case()]).cases) == 2


def test_no_case_is_no_pass(device: VulkanDevice, planted: dict[str, bytes]) -> None:
    assert not verify_kernel(device, _kernel(planted["right"]), []).passed


class Recorder:
    """A backend that hands every buffer back as it came."""

    def __init__(self) -> None:
        self.dispatches: list[Dispatch] = []

    info = DeviceInfo(0, "recorder", "cpu", "none", "0")

    def run(self, dispatch: Dispatch) -> Result:
        self.dispatches.append(dispatch)
        return Result({b.index: b.contents for b in dispatch.buffers}, 1.0, device_time=False)


def test_dispatch_of_a_case() -> None:
    backend = Recorder()
    kernel = replace(_kernel(b"spirv"), constants=("n", "m"), grid=("n", "m + 1"))
    case = replace(_case(), params={"n": 70_000, "m": 0})
    result = verify_kernel(backend, replace(kernel, grid=("n",)), [case], repeats=3)
    (dispatch,) = backend.dispatches
    assert dispatch.groups == (35_000, 2, 1)
    assert dispatch.constants == bytes.fromhex("7011010000000000")
    assert dispatch.repeats == 3
    assert [f.code for f in result.cases[0].failures] == ["SP5003"]


def test_bytes_start_wrong() -> None:
    """A byte output without initial contents holds the complement, so that no unwritten byte can be right."""
    case = Case("bytes", {"a": np.zeros(1, np.uint32)}, {"n": 1}, {"b": np.arange(5, dtype=np.uint8)})
    result = verify_kernel(Recorder(), _kernel(b""), [case])
    assert "(5 of 5 differ)" in result.cases[0].failures[0].message


def test_cases_beyond_the_interface_are_skipped_by_name() -> None:
    plain = _case()
    offset = replace(plain, name="offset", params={"n": N, "y_offset": 3})
    unused = replace(plain, name="unused", params={"n": N, "y_offset": 0})
    result = verify_kernel(Recorder(), _kernel(b""), [plain, offset, unused])
    assert result.skipped == ("offset",)
    assert [case.name for case in result.cases] == ["n33", "unused"]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"bindings": {0: "a", 1: "out"}}, r"the reference lacks \['out'\], the kernel \['b'\]"),
        ({"constants": ("n", "stride")}, "the reference has no stride"),
        ({"grid": ("ceil_div(n)",)}, "ceil_div takes 2 arguments"),
        ({"grid": ("rows",)}, "'rows' needs rows"),
    ],
)
def test_declaration_that_does_not_fit(change: dict[str, object], text: str) -> None:
    kernel = replace(_kernel(b""), **change)  # type: ignore[arg-type]
    with pytest.raises(ShaderpackError, match=text) as caught:
        verify_kernel(Recorder(), kernel, [_case()])
    assert caught.value.diagnostics[0].code == "SP5006"


@pytest.mark.parametrize("size", range(0, 9))
def test_guard_follows_any_size(size: int) -> None:
    """The guard starts right after the last byte, and every byte of it counts."""
    buffer = Guarded(0, b"x" * size)
    whole = buffer.binding()
    assert len(whole.contents) % 4 == 0
    assert whole.visible % 4 == 0
    assert buffer.first_damage(whole.contents) is None
    for offset in (0, 1, 255, len(whole.contents) - size - 1):
        after = bytearray(whole.contents)
        after[size + offset] ^= 1
        assert buffer.first_damage(bytes(after)) == offset


def test_planted_shaders_differ_from_the_right_one(planted: dict[str, bytes], tmp_path: Path) -> None:
    assert len(set(planted.values())) == len(BODIES)
