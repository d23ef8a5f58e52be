"""Kernel names of source text, and which language version compiles them."""

from __future__ import annotations

import pytest

from shaderc_tool.audit.source_kernels import compiled_names, source_kernels, source_macros
from tests.audit.support import SOURCE


def names(text: str) -> list[str]:
    return [kernel.name for kernel in source_kernels(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kernel void a(device float *x) {}", ["a"]),
        ("[[kernel]] void a(device float *x) {}", ["a"]),
        ('[[host_name("b")]] kernel void a(device float *x) {}', ["b"]),
        ('template<> [[host_name("b")]] kernel void a<int>(device int *x) {}', ["b"]),
        ('template [[host_name("b" "_c")]] kernel void a<int>(device int *);', ["b_c"]),
        ("kernel void a(device float *x);", []),
        ("template <typename T> kernel void a(device T *x) {}", []),
        ("/* kernel void a() {} */ // kernel void b() {}\n", []),
        ('constant char text[] = "kernel void a() {}";', []),
        ("void helper() { int kernel = 1; }", []),
        ("namespace n { kernel void a(device float *x) {} }", ["a"]),
        ("vertex float4 v() { return 0; } fragment float4 f() { return 0; }", ["v", "f"]),
    ],
)
def test_names(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_language_versions_and_macros() -> None:
    kernels, macros = source_kernels(SOURCE), source_macros(SOURCE)
    undecided = {"kernel_copy_f32", "kernel_tensor"}
    assert compiled_names(kernels, "metal2.4", macros) == undecided
    assert compiled_names(kernels, "metal3.1", macros) == undecided | {"kernel_bf16"}
    tensor = kernels[-1]
    assert (tensor.at(310, {}), tensor.at(310, {"HAS_TENSOR": ""})) == (None, True)
    assert [kernel.line for kernel in kernels] == [4, 6, 9]


@pytest.mark.parametrize(
    ("condition", "at_240", "at_310"),
    [
        ("#if __METAL_VERSION__ >= 310", False, True),
        ("#if (__METAL_VERSION__ < 310)", True, False),
        ("#if defined(__METAL_VERSION__) && __METAL_VERSION__ >= 300", False, True),
        ("#if 0", False, False),
        ("#ifdef ON", True, True),
        ("#ifndef ON", False, False),
        ("#if ON", True, True),
        ("#if UNKNOWN > 3", None, None),
    ],
)
def test_conditions(condition: str, at_240: bool | None, at_310: bool | None) -> None:
    text = f"#define ON 1\n{condition}\nkernel void a(device float *x) {{}}\n#endif\n"
    (kernel,) = source_kernels(text)
    macros = source_macros(text)
    assert (kernel.at(240, macros), kernel.at(310, macros)) == (at_240, at_310)
