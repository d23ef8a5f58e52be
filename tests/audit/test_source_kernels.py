"""Kernel names of source text, and which language version compiles them."""

from __future__ import annotations

import subprocess
import time

import pytest

from shaderc_tool.audit.source_kernels import compiled_names, source_kernels, source_macros
from tests.audit.support import SOURCE
from tests.tools import require_tool


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


MACROS = """\
#define instantiate_kernel(name, func, ...) \\
  template [[host_name(name)]] [[kernel]] decltype(func<__VA_ARGS__>) func<__VA_ARGS__>;
#define instantiate_binary(op, type) instantiate_kernel("binary_" #op "_" #type, binary, type, op)
#define instantiate_types(op) instantiate_binary(op, float) instantiate_binary(op, half)
#define PLAIN(n) kernel void kernel_##n##_copy(device float *x [[buffer(0)]]) { x[0] = n; }
#define unused(n) template [[host_name("unused_" #n)]] kernel void f<n>(device float *);
#define sum(a, b) ((a) + (b))
template <typename T, typename U> [[kernel]] void binary(device T *x [[buffer(0)]]) { x[0] = sum(1, 2); }
instantiate_types(Add)
#if __METAL_VERSION__ >= 310
instantiate_binary(Mul,
                   bfloat)
#endif
PLAIN(4)
kernel void last(device float *x) {}
"""


def test_kernels_that_macros_declare() -> None:
    """The names are those that a real preprocessor gives."""
    kernels = source_kernels(MACROS)
    assert [kernel.name for kernel in kernels] == [
        "binary_Add_float", "binary_Add_half", "binary_Mul_bfloat", "kernel_4_copy", "last",
    ]  # fmt: skip
    assert kernels[-1].line == 15
    assert "binary_Mul_bfloat" not in compiled_names(kernels, "metal2.4", {})
    argv = [require_tool("gcc"), "-E", "-P", "-x", "c++", "-D__METAL_VERSION__=310", "-"]
    text = subprocess.run(argv, input=MACROS, capture_output=True, text=True, check=True, timeout=60).stdout
    assert [kernel.name for kernel in source_kernels(text)] == [kernel.name for kernel in kernels]


def test_macros_that_grow_without_end_are_left_alone() -> None:
    lines = ["#define m0(x) kernel void a##x(device float *p) {}"]
    lines += [f"#define m{i}(x) m{i - 1}(x##0) m{i - 1}(x##1) m{i - 1}(x##2) m{i - 1}(x##3)" for i in range(1, 13)]
    begun = time.process_time()
    source_kernels("\n".join([*lines, "m12(k)", "#define r(x) kernel r(r(x))", "r(r(1))", ""]))
    assert time.process_time() - begun < 2


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
