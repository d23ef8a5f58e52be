"""What the standard library of the portable compiler computes, on the CPU, against NumPy and Python."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shaderc_tool.verify import air_cpu
from tests.msl.compiling import clean, compile_body

N = 64
Floats = NDArray[np.float32]


@cache
def _bitcode(body: str) -> bytes:
    bitcode = clean(compile_body(body)).bitcode
    assert bitcode is not None
    return bitcode


def _map(expression: str, *inputs: NDArray[Any], result: str = "float", dtype: Any = np.float32) -> NDArray[Any]:
    """`expression` of a, b, c for each element of the inputs."""
    kinds = {"float32": "float", "uint32": "uint", "int32": "int", "float16": "half", "uint64": "ulong"}
    names = "abc"[: len(inputs)]
    parameters = ", ".join(
        f"device const {kinds[str(x.dtype)]} *{n}_ [[buffer({i + 1})]]"
        for i, (n, x) in enumerate(zip(names, inputs, strict=True))
    )
    loads = " ".join(f"const {kinds[str(x.dtype)]} {n} = {n}_[i];" for n, x in zip(names, inputs, strict=True))
    body = (
        f"kernel void f(device {result} *y [[buffer(0)]], {parameters}, uint i [[thread_position_in_grid]]) "
        f"{{ {loads} y[i] = {expression}; }}"
    )
    out = np.zeros(len(inputs[0]), dtype)
    air_cpu.run(_bitcode(body), "f", buffers=[out, *inputs], threads=(len(out),), threadgroup=(32,))
    return out


def _floats(seed: int = 1) -> Floats:
    return np.random.default_rng(seed).uniform(-3, 3, N).astype(np.float32)


def _integers(seed: int = 1) -> NDArray[np.uint32]:
    return np.random.default_rng(seed).integers(0, 2**32, N).astype(np.uint32)


FLOAT_CASES: dict[str, Any] = {
    "sign(a)": lambda a, b: np.sign(a),
    "mix(a, b, 0.25f)": lambda a, b: a + (b - a) * 0.25,
    "step(a, b)": lambda a, b: (b >= a) * 1.0,
    "smoothstep(-1.0f, 2.0f, a)": lambda a, b: (lambda t: t * t * (3 - 2 * t))(np.clip((a + 1) / 3, 0, 1)),
    "copysign(a, b)": np.copysign,
    "fdim(a, b)": lambda a, b: np.maximum(a - b, 0),
    "median3(a, b, 0.5f)": lambda a, b: np.median([a, b, np.full_like(a, 0.5)], axis=0),
    "max3(a, b, 0.5f) - min3(a, b, 0.5f)": lambda a, b: np.ptp([a, b, np.full_like(a, 0.5)], axis=0),
    "degrees(a) + radians(b)": lambda a, b: np.degrees(a) + np.radians(b),
    "sinpi(a)": lambda a, b: np.sin(np.pi * a),
    "length(float3(a, b, 1))": lambda a, b: np.sqrt(a * a + b * b + 1),
    "dot(normalize(float3(a, b, 1)), float3(1, 2, 3))": lambda a, b: (a + 2 * b + 3) / np.sqrt(a * a + b * b + 1),
    "dot(cross(float3(a, b, 1), float3(1, 2, 3)), float3(1, 1, 1))": lambda a, b: (
        (3 * b - 2) + (1 - 3 * a) + (2 * a - b)
    ),
    "distance(float2(a, b), float2(b, a))": lambda a, b: np.sqrt(2) * np.abs(a - b),
    "reflect(float2(a, b), float2(0, 1)).y": lambda a, b: -b,
    "fract(a)": lambda a, b: a - np.floor(a),
    "float4(a, b, a, b).zyxw.y": lambda a, b: b,
    "(half)a * 2.0h": lambda a, b: a.astype(np.float16) * 2.0,
    "float(int(a * 10)) + float(uchar(7.9f))": lambda a, b: np.trunc((a * 10).astype(np.float32)) + 7,
    "float4(int4(float4(a) * 4.0f)).z": lambda a, b: np.trunc(a * 4),
    "fma(a, b, 1.0f)": lambda a, b: a * b + 1,
    "a > b ? a : b": np.maximum,
    "select(float2(a, b), float2(b, a), float2(a, b) > 0.0f).x": lambda a, b: np.where(a > 0, b, a),
    "any(float2(a, b) > 2.0f) ? 1.0f : 0.0f": lambda a, b: ((a > 2) | (b > 2)) * 1.0,
    "all(float2(a, b) > 0.0f) ? 1.0f : 0.0f": lambda a, b: ((a > 0) & (b > 0)) * 1.0,
    "all(bool2(a > 0, b > 0) || bool2(true, false)) ? 1.0f : 0.0f": lambda a, b: (b > 0) * 1.0,
    "float(bfloat(a))": lambda a, b: _bfloat(a),
    "float(bfloat(a) * bfloat(b))": lambda a, b: _bfloat(_bfloat(a) * _bfloat(b)),
    "float(bfloat(a) + 1)": lambda a, b: _bfloat(_bfloat(a) + 1),
    "bfloat(a) * b": lambda a, b: _bfloat(a) * b,
    "float4(bfloat4(float4(a, b, a, b)) * bfloat(2.0f)).y": lambda a, b: 2 * _bfloat(b),
    "float(bfloat2(float2(a, b)).y)": lambda a, b: _bfloat(b),
    "as_type<uint>(ushort2(as_type<ushort>(bfloat(a)), 0)) > 0 ? 1.0f : 0.0f": lambda a, b: a * 0 + 1,
    "(float3x3(float3(a, 0, 0), float3(0, b, 0), float3(1, 2, 3)) * float3(1, 1, 2)).y": lambda a, b: b + 4,
    "(float3(1, 1, 2) * float3x3(float3(a, 0, 0), float3(0, b, 0), float3(1, 2, 3))).z": lambda a, b: a * 0 + 9,
    "determinant(float3x3(float3(a, 1, 0), float3(2, b, 1), float3(0, 1, 3)))": lambda a, b: a * (3 * b - 1) - 6,
    "determinant(float4x4(a) * 2.0f)": lambda a, b: 16.0 * a**4,
    "transpose(float2x3(float3(a, b, 1), float3(2, 3, 4)))[1].x": lambda a, b: b,
    "float4x4(half4x4(float4x4(0.5f)))[2][2] + a": lambda a, b: a + 0.5,
    "float2x2(a, 1, 2, b)[1].x": lambda a, b: a * 0 + 2,
    "numeric_limits<float>::max() > a ? M_PI_F : 0.0f": lambda a, b: a * 0 + np.pi,
}


def _bfloat(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round float32 values to nearest, ties to even, in Python integers."""
    out = np.empty_like(x)
    for i, value in enumerate(x.astype(np.float32).view(np.uint32).tolist()):
        low = value & 0xFFFF
        kept = value >> 16
        if low > 0x8000 or (low == 0x8000 and kept & 1):
            kept += 1
        out[i] = np.array([kept << 16], np.uint32).view(np.float32)[0]
    return out


@pytest.mark.parametrize("expression", FLOAT_CASES)
def test_float_expression(expression: str) -> None:
    a, b = _floats(1), _floats(2)
    got = _map(expression, a, b)
    expected = FLOAT_CASES[expression](a.astype(np.float64), b.astype(np.float64))
    np.testing.assert_allclose(got, expected, rtol=3e-5, atol=3e-6)


def _rotate(x: int, n: int) -> int:
    return (x << n | x >> (32 - n)) & 0xFFFFFFFF if n else x


UINT_CASES: dict[str, Any] = {
    "popcount(a)": lambda a, b: a.bit_count() if hasattr(a, "bit_count") else bin(a).count("1"),
    "clz(a)": lambda a, b: 32 - a.bit_length(),
    "ctz(a | 256u)": lambda a, b: ((a | 256) & -(a | 256)).bit_length() - 1,
    "reverse_bits(a)": lambda a, b: int(f"{a:032b}"[::-1], 2),
    "rotate(a, b & 31u)": lambda a, b: _rotate(a, b & 31),
    "extract_bits(a, 5, 9)": lambda a, b: a >> 5 & 511,
    "uint(extract_bits(int(a), 5, 9))": lambda a, b: ((a >> 5 & 511) - (512 if a >> 13 & 1 else 0)) & 0xFFFFFFFF,
    "insert_bits(a, b, 8, 4)": lambda a, b: (a & ~0xF00 | (b & 15) << 8) & 0xFFFFFFFF,
    "mulhi(a, b)": lambda a, b: a * b >> 32,
    "hadd(a, b)": lambda a, b: a + b >> 1,
    "rhadd(a, b)": lambda a, b: a + b + 1 >> 1,
    "absdiff(a, b)": lambda a, b: abs(a - b),
    "addsat(a, b)": lambda a, b: min(a + b, 2**32 - 1),
    "subsat(a, b)": lambda a, b: max(a - b, 0),
    "max(a, b) - min(a, b)": lambda a, b: abs(a - b),
    "clamp(a, 5u, 1000000000u)": lambda a, b: min(max(a, 5), 10**9),
    "uint(uchar4(a)[2]) + uint(ushort(b))": lambda a, b: (a & 255) + (b & 65535),
    "as_type<uint>(as_type<uchar4>(a).wzyx)": lambda a, b: int.from_bytes(a.to_bytes(4, "little"), "big"),
    "as_type<uint>(as_type<float>(a & 0x3fffffffu))": lambda a, b: a & 0x3FFFFFFF,
    "uint(as_type<half>(ushort(0x3c00)) == 1.0h)": lambda a, b: 1,
    "(a << 7) | (a >> 25)": lambda a, b: _rotate(a, 7),
    "uint((ulong(a) << 32 | b) >> (b & 31u))": lambda a, b: (a << 32 | b) >> (b & 31) & 0xFFFFFFFF,
    "(a << (b & 31u)) | (a >> ((32u - (b & 31u)) & 31u))": lambda a, b: _rotate(a, b & 31),
    "(a >> 3) ^ (b << 2)": lambda a, b: (a >> 3) ^ (b << 2 & 0xFFFFFFFF),
}


@pytest.mark.parametrize("expression", UINT_CASES)
def test_integer_expression(expression: str) -> None:
    a, b = _integers(3), _integers(4)
    got = _map(expression, a, b, result="uint", dtype=np.uint32)
    expected = [UINT_CASES[expression](x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert got.tolist() == expected


SPECIAL = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-40, 3.4e38, 1e-38, 5e-45, 0.75], np.float32)


@pytest.mark.parametrize(
    ("expression", "reference"),
    [
        ("isnan(a)", math.isnan),
        ("isinf(a)", math.isinf),
        ("isfinite(a)", math.isfinite),
        ("isnormal(a)", lambda x: math.isfinite(x) and abs(x) >= 1.17549435e-38),
        ("signbit(a)", lambda x: math.copysign(1, x) < 0),
    ],
)
def test_classification_holds_under_fast_math_too(expression: str, reference: Any) -> None:
    body = (
        "kernel void f(device uint *y [[buffer(0)]], device const float *x [[buffer(1)]], "
        f"uint i [[thread_position_in_grid]]) {{ float a = x[i]; y[i] = {expression}; }}"
    )
    for mode in ("safe", "fast"):
        bitcode = clean(compile_body(body, math=mode)).bitcode
        assert bitcode is not None
        out = np.zeros(len(SPECIAL), np.uint32)
        air_cpu.run(bitcode, "f", buffers=[out, SPECIAL], threads=(len(SPECIAL),), threadgroup=(12,))
        assert out.tolist() == [int(reference(x)) for x in SPECIAL.tolist()], mode


def test_frexp_and_modf_give_two_results() -> None:
    finite = SPECIAL[np.isfinite(SPECIAL)]
    body = (
        "kernel void f(device float *y [[buffer(0)]], device const float *x [[buffer(1)]], "
        "uint i [[thread_position_in_grid]]) { int e; float w; y[4 * i] = frexp(x[i], e); y[4 * i + 1] = e; "
        "y[4 * i + 2] = modf(x[i], w); y[4 * i + 3] = w; }"
    )
    out = np.zeros(4 * len(finite), np.float32)
    air_cpu.run(_bitcode(body), "f", buffers=[out, finite], threads=(len(finite),), threadgroup=(16,))
    for row, value in zip(out.reshape(-1, 4).tolist(), finite.tolist(), strict=True):
        fraction, whole = math.modf(value)
        assert tuple(row[:2]) == math.frexp(value)
        assert (row[2], row[3]) == (fraction, whole)


def test_packed_vectors_have_no_padding() -> None:
    body = (
        "struct P { packed_float3 p; half h; packed_uchar3 c; };"
        "kernel void f(device P *x [[buffer(0)]], device float *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {"
        "  packed_float3 q = x[i].p; q += float3(1, 2, 3); x[i].p = q * 2.0f; y[i] = float(sizeof(P)) + x[i].p.z; }"
    )
    points = np.zeros(4, np.dtype([("p", np.float32, 3), ("h", np.float16), ("c", np.uint8, 3), ("pad", np.uint8, 3)]))
    points["p"] = np.arange(12).reshape(4, 3)
    before = points["p"].copy()
    sizes = np.zeros(4, np.float32)
    air_cpu.run(_bitcode(body), "f", buffers=[points, sizes], threads=(4,), threadgroup=(4,))
    expected = (before + np.array([1, 2, 3], np.float32)) * 2
    np.testing.assert_array_equal(points["p"], expected)
    np.testing.assert_array_equal(sizes, 20 + expected[:, 2])


def test_dot_product_end_to_end() -> None:
    body = (
        "kernel void dot_product(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],"
        " device float *out [[buffer(2)]], constant uint &n [[buffer(3)]], uint i [[thread_position_in_grid]],"
        " uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]],"
        " uint g [[threadgroup_position_in_grid]]) {"
        "  threadgroup float partial[32];"
        "  float sum = simd_sum(i < n ? a[i] * b[i] : 0.0f);"
        "  if (lane == 0) partial[group] = sum;"
        "  threadgroup_barrier(mem_flags::mem_threadgroup);"
        "  if (group == 0) {"
        "    sum = simd_sum(lane < 8 ? partial[lane] : 0.0f);"
        "    if (lane == 0) out[g] = sum;"
        "  }"
        "}"
    )
    a, b = (np.random.default_rng(i).standard_normal(1000).astype(np.float32) for i in (5, 6))
    out = np.zeros(4, np.float32)
    air_cpu.run(_bitcode(body), "dot_product", buffers=[a, b, out, np.uint32(1000)], grid=(4,), threadgroup=(256,))
    assert abs(float(out.sum()) - float(np.dot(a.astype(np.float64), b))) < 1e-4


def test_simdgroup_matrices_multiply() -> None:
    body = (
        "#include <metal_simdgroup_matrix>\n"
        "kernel void f(device const half *a [[buffer(0)]], device const half *b [[buffer(1)]],"
        " device float *c [[buffer(2)]]) {"
        "  simdgroup_half8x8 ma, mb; simdgroup_float8x8 mc = make_filled_simdgroup_matrix<float, 8>(1.0f);"
        "  simdgroup_load(ma, a, 8); simdgroup_load(mb, b, 8, ulong2(0), true);"
        "  simdgroup_multiply_accumulate(mc, ma, mb, mc); simdgroup_store(mc, c, 8); }"
    )
    a, b = (np.random.default_rng(i).integers(-4, 4, (8, 8)).astype(np.float16) for i in (7, 8))
    c = np.zeros((8, 8), np.float32)
    air_cpu.run(_bitcode(body), "f", buffers=[a, b, c], grid=(1,), threadgroup=(32,))
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T + 1)


def test_function_constants_specialise() -> None:
    body = (
        "constant bool doubled [[function_constant(0)]]; constant int offset [[function_constant(7)]];"
        "kernel void f(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {"
        "  x[i] = (doubled ? 2 : 1) * int(i) + offset; }"
    )
    for doubled, offset in ((True, 5), (False, -3)):
        x = np.zeros(8, np.int32)
        air_cpu.run(_bitcode(body), "f", buffers=[x], threads=(8,), threadgroup=(8,), constants={0: doubled, 7: offset})
        assert x.tolist() == [(2 if doubled else 1) * i + offset for i in range(8)]


def test_atomics_count_every_thread() -> None:
    body = (
        "kernel void f(device atomic_uint *n [[buffer(0)]], device atomic_int *low [[buffer(1)]],"
        " device atomic_float *sum [[buffer(2)]], uint i [[thread_position_in_grid]]) {"
        "  atomic_fetch_add_explicit(n, 2u, memory_order_relaxed);"
        "  atomic_fetch_min_explicit(low, -int(i), memory_order_relaxed);"
        "  atomic_fetch_add_explicit(sum, 0.5f, memory_order_relaxed);"
        "  uint expected = atomic_load_explicit(n + 1, memory_order_relaxed);"
        "  while (!atomic_compare_exchange_weak_explicit(n + 1, &expected, expected + 3, memory_order_relaxed,"
        "                                                memory_order_relaxed)) {} }"
    )
    n, low, total = np.zeros(2, np.uint32), np.zeros(1, np.int32), np.zeros(1, np.float32)
    air_cpu.run(_bitcode(body), "f", buffers=[n, low, total], threads=(100,), threadgroup=(50,))
    assert (n.tolist(), low.tolist(), total.tolist()) == ([200, 300], [-99], [50.0])
