"""Simdgroup, quadgroup, atomic and matrix functions of the CPU engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shaderc_tool.verify import air_cpu
from tests.verify.air_call import call, from_bfloat, to_bfloat
from tests.verify.air_text import Buffer, Builtin, kernel

RNG = np.random.default_rng(11)
REDUCE: dict[str, np.ufunc] = {
    "sum": np.add,
    "product": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _groups(values: NDArray[Any], width: int) -> NDArray[Any]:
    return values.reshape(-1, width, *values.shape[1:])


@pytest.mark.parametrize(("group", "width"), [("simd", 32), ("quad", 4)])
@pytest.mark.parametrize("name", sorted(REDUCE))
def test_integer_reduction(group: str, width: int, name: str) -> None:
    values = RNG.integers(-100, 100, 64).astype(np.int32)
    out = call(f"air.{group}_{name}.s.i32", "i32", ["i32"], [values], np.zeros(64, np.int32), 64)
    expected = REDUCE[name].reduce(_groups(values, width), axis=1, dtype=np.int32)
    np.testing.assert_array_equal(_groups(out, width), np.repeat(expected[:, None], width, 1))


@pytest.mark.parametrize("how", ["inclusive", "exclusive"])
@pytest.mark.parametrize("name", ["sum", "product"])
def test_scan(how: str, name: str) -> None:
    values = RNG.integers(1, 4, 32).astype(np.uint32)
    out = call(f"air.simd_prefix_{how}_{name}.u.i32", "i32", ["i32"], [values], np.zeros(32, np.uint32))
    full = REDUCE[name].accumulate(values, dtype=np.uint32)
    start = np.uint32(name == "product")
    np.testing.assert_array_equal(out, full if how == "inclusive" else np.append(start, full[:-1]))


def test_float_reductions_of_every_width() -> None:
    x = RNG.standard_normal(32).astype(np.float32)
    total = x.astype(np.float64).sum()
    out = call("air.simd_sum.f32", "float", ["float"], [x], np.zeros(32, np.float32))
    np.testing.assert_allclose(out, total, rtol=1e-5)
    half = x.astype(np.float16)
    out = call("air.simd_max.f16", "half", ["half"], [half], np.zeros(32, np.float16))
    assert set(out.tolist()) == {float(half.max())}
    short = to_bfloat(x)
    got = call("air.simd_min.bf16", "bfloat", ["bfloat"], [short], np.zeros(32, np.uint16))
    assert set(from_bfloat(got).tolist()) == {float(from_bfloat(short).min())}
    vectors = RNG.standard_normal((32, 4)).astype(np.float32)
    got4 = call("air.simd_sum.v4f32", "<4 x float>", ["<4 x float>"], [vectors], np.zeros((32, 4), np.float32))
    np.testing.assert_allclose(got4, np.tile(vectors.astype(np.float64).sum(0), (32, 1)), rtol=1e-4, atol=1e-5)


def _moved(source: Callable[[int], int]) -> Callable[[list[int]], list[int]]:
    return lambda values: [values[source(lane)] for lane in range(len(values))]


SHUFFLES: dict[str, tuple[int, Callable[[list[int]], list[int]]]] = {
    "simd_shuffle": (5, _moved(lambda lane: 5)),
    "simd_broadcast": (31, _moved(lambda lane: 31)),
    "simd_shuffle_xor": (9, _moved(lambda lane: lane ^ 9)),
    "simd_shuffle_up": (3, _moved(lambda lane: lane - 3 if lane >= 3 else lane)),
    "simd_shuffle_down": (3, _moved(lambda lane: lane + 3 if lane + 3 < 32 else lane)),
    "simd_shuffle_rotate_up": (3, _moved(lambda lane: (lane - 3) % 32)),
    "simd_shuffle_rotate_down": (3, _moved(lambda lane: (lane + 3) % 32)),
    "quad_shuffle": (2, _moved(lambda lane: lane // 4 * 4 + 2)),
    "quad_broadcast": (1, _moved(lambda lane: lane // 4 * 4 + 1)),
    "quad_shuffle_xor": (3, _moved(lambda lane: lane ^ 3)),
    "quad_shuffle_up": (1, _moved(lambda lane: lane - 1 if lane % 4 else lane)),
    "quad_shuffle_down": (1, _moved(lambda lane: lane + 1 if lane % 4 < 3 else lane)),
    "quad_shuffle_rotate_up": (1, _moved(lambda lane: lane // 4 * 4 + (lane - 1) % 4)),
    "quad_shuffle_rotate_down": (1, _moved(lambda lane: lane // 4 * 4 + (lane + 1) % 4)),
}


@pytest.mark.parametrize("name", sorted(SHUFFLES))
def test_shuffle(name: str) -> None:
    by, reference = SHUFFLES[name]
    values = RNG.integers(0, 1000, 32).astype(np.int32)
    step = np.full(32, by, np.int16)
    out = call(f"air.{name}.s.i32", "i32", ["i32", "i16"], [values, step], np.zeros(32, np.int32))
    assert out.tolist() == reference(values.tolist())


def test_shuffle_with_a_selector_per_lane() -> None:
    values = RNG.standard_normal((32, 2)).astype(np.float32)
    lanes = RNG.permutation(32).astype(np.int16)
    kind = "<2 x float>"
    out = call("air.simd_shuffle.v2f32", kind, [kind, "i16"], [values, lanes], np.zeros((32, 2), np.float32))
    np.testing.assert_array_equal(out, values[lanes])


@pytest.mark.parametrize("direction", ["up", "down"])
def test_shuffle_and_fill(direction: str) -> None:
    """Segments of 8 lanes; what falls out at one end comes in from the filling data's other end."""
    data, fill = np.arange(32, dtype=np.int32), np.arange(100, 132, dtype=np.int32)
    by, modulo = np.full(32, 3, np.int16), np.full(32, 8, np.int16)
    out = call(
        f"air.simd_shuffle_and_fill_{direction}.s.i32",
        "i32",
        ["i32", "i32", "i16", "i16"],
        [data, fill, by, modulo],
        np.zeros(32, np.int32),
    )
    expected = []
    for base in range(0, 32, 8):
        old, new = list(range(base, base + 8)), list(range(100 + base, 108 + base))
        expected += new[5:] + old[:5] if direction == "up" else old[3:] + new[:3]
    assert out.tolist() == expected


def test_a_lane_that_takes_no_part_reads_as_all_ones() -> None:
    values, lane = np.zeros(20, np.int32), np.full(20, 25, np.int16)
    out = call("air.simd_shuffle.s.i32", "i32", ["i32", "i16"], [values, lane], np.zeros(20, np.int32))
    assert set(out.tolist()) == {-1}


def test_votes_of_a_partial_simdgroup() -> None:
    flags = np.array([lane % 3 == 0 for lane in range(20)], np.int8)
    mask = sum(1 << lane for lane in range(20) if lane % 3 == 0)
    ballot = call("air.simd_ballot.i64", "i64", ["i1"], [flags], np.zeros(20, np.int64))
    assert set(ballot.tolist()) == {mask}
    assert set(call("air.simd_any", "i1", ["i1"], [flags], np.zeros(20, np.int8)).tolist()) == {1}
    assert set(call("air.simd_all", "i1", ["i1"], [flags], np.zeros(20, np.int8)).tolist()) == {0}
    ones = np.ones(20, np.int8)
    assert set(call("air.simd_all", "i1", ["i1"], [ones], np.zeros(20, np.int8)).tolist()) == {1}
    active = call("air.simd_active_threads_mask.i64", "i64", [], [], np.zeros(20, np.int64))
    assert set(active.tolist()) == {(1 << 20) - 1}
    first = call("air.simd_is_first", "i1", [], [], np.zeros(20, np.int8))
    assert first.tolist() == [1] + [0] * 19
    quads = call("air.quad_any", "i1", ["i1"], [flags], np.zeros(20, np.int8))
    assert quads.tolist() == [int(flags[lane // 4 * 4 : lane // 4 * 4 + 4].any()) for lane in range(20)]


def test_broadcast_first() -> None:
    values = RNG.integers(0, 1000, 64).astype(np.int32)
    out = call("air.simd_broadcast_first.s.i32", "i32", ["i32"], [values], np.zeros(64, np.int32), 64)
    assert out.tolist() == [values[0]] * 32 + [values[32]] * 32


# --- atomics: every thread applies the operation to one cell

ATOMICS: dict[str, Callable[[list[int]], int]] = {
    "add.s": sum,
    "sub.s": lambda values: -sum(values),
    "and.s": lambda values: 0,
    "or.s": lambda values: int(np.bitwise_or.reduce(values)),
    "xor.s": lambda values: int(np.bitwise_xor.reduce(values)),
    "max.s": max,
    "min.s": lambda values: min(0, *values),
}


@pytest.mark.parametrize("name", sorted(ATOMICS))
def test_atomic_update(name: str) -> None:
    body = f"""
  %p = getelementptr i32, i32 addrspace(1)* %1, i32 %2
  %v = load i32, i32 addrspace(1)* %p
  %old = call i32 @air.atomic.global.{name}.i32(i32 addrspace(1)* %0, i32 %v, i32 0, i32 2, i1 true)
  store i32 %old, i32 addrspace(1)* %p
  ret void
"""
    before = f"declare i32 @air.atomic.global.{name}.i32(i32 addrspace(1)*, i32, i32, i32, i1)\n"
    values = RNG.integers(-50, 50, 100).astype(np.int32)
    given = values.tolist()
    cell = np.zeros(1, np.int32)
    params = (Buffer(0, "i32"), Buffer(1, "i32"), Builtin("thread_position_in_grid"))
    air_cpu.run(kernel(params, body, before=before), "k", buffers=[cell, values], threads=(100,), threadgroup=(32,))
    assert cell[0] == ATOMICS[name](given)
    assert values[0] == 0, "the old value is returned"


def test_compare_exchange_loop_and_float_add() -> None:
    body = """
  %place = alloca i32, align 4
  %sum = call float @air.atomic.global.add.f32(float addrspace(1)* %1, float 5.0e-01, i32 0, i32 2, i1 true)
  %first = call i32 @air.atomic.global.load.i32(i32 addrspace(1)* %0, i32 0, i32 2, i1 true)
  br label %loop
loop:
  %expected = phi i32 [ %first, %entry ], [ %seen, %loop ]
  store i32 %expected, i32* %place
  %next = add i32 %expected, 3
  %old = call i32 @air.atomic.global.cmpxchg.weak.i32(i32 addrspace(1)* %0, i32* %place, i32 %next, i32 0, i32 0, i32 2, i1 true)
  %seen = load i32, i32* %place
  %won = icmp eq i32 %old, %expected
  br i1 %won, label %done, label %loop
done:
  ret void
"""
    before = """
declare i32 @air.atomic.global.cmpxchg.weak.i32(i32 addrspace(1)*, i32*, i32, i32, i32, i32, i1)
declare i32 @air.atomic.global.load.i32(i32 addrspace(1)*, i32, i32, i1)
declare float @air.atomic.global.add.f32(float addrspace(1)*, float, i32, i32, i1)
"""
    cell, total = np.zeros(1, np.int32), np.zeros(1, np.float32)
    air_cpu.run(
        kernel((Buffer(0, "i32"), Buffer(1, "float")), body, before=before),
        "k",
        buffers=[cell, total],
        threads=(200,),
        threadgroup=(64,),
    )
    assert (cell[0], total[0]) == (600, 100.0)


# --- matrices

# ruff: noqa: E501 - textual IR is not wrapped
MATRIX = """
declare <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(float addrspace(1)*, i64, <2 x i64>, i1)
declare <64 x half> @air.simdgroup_matrix_8x8_load.v64f16.p1f16(half addrspace(1)*, i64, <2 x i64>, i1)
declare void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float>, float addrspace(1)*, i64, <2 x i64>, i1)
declare <64 x float> @air.simdgroup_matrix_8x8_init_diag.v64f32.f32(float)
declare <64 x float> @air.simdgroup_matrix_8x8_init_filled.v64f32.f32(float)
declare <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f16.v64f32.v64f32(<64 x half>, <64 x float>, <64 x float>)
"""
PRODUCT = """
  %a = call <64 x half> @air.simdgroup_matrix_8x8_load.v64f16.p1f16(half addrspace(1)* %0, i64 8, <2 x i64> zeroinitializer, i1 {ta})
  %b = call <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(float addrspace(1)* %1, i64 16, <2 x i64> <i64 8, i64 1>, i1 false)
  %c = call <64 x float> @air.simdgroup_matrix_8x8_init_{fill}(float 2.0)
  %d = call <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f16.v64f32.v64f32(<64 x half> %a, <64 x float> %b, <64 x float> %c)
  call void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float> %d, float addrspace(1)* %2, i64 8, <2 x i64> zeroinitializer, i1 false)
  ret void
"""
MATRIX_PARAMS = (Buffer(0, "half"), Buffer(1, "float"), Buffer(2, "float"))


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("fill", ["diag.v64f32.f32", "filled.v64f32.f32"])
def test_matrix_product(transpose: bool, fill: str) -> None:
    a = RNG.standard_normal((8, 8)).astype(np.float16)
    b = RNG.standard_normal((9, 16)).astype(np.float32)
    out = np.zeros((8, 8), np.float32)
    code = kernel(MATRIX_PARAMS, PRODUCT.format(ta=str(transpose).lower(), fill=fill), before=MATRIX)
    air_cpu.run(code, "k", buffers=[a, b, out], grid=(1,), threadgroup=(32,))
    left = (a.T if transpose else a).astype(np.float64)
    start = 2 * np.eye(8) if "diag" in fill else np.full((8, 8), 2.0)
    np.testing.assert_allclose(out, left @ b[1:, 8:].astype(np.float64) + start, rtol=1e-5, atol=1e-5)


def test_matrix_product_needs_a_whole_simdgroup() -> None:
    code = kernel(MATRIX_PARAMS, PRODUCT.format(ta="false", fill="diag.v64f32.f32"), before=MATRIX)
    buffers: list[air_cpu.Buffer] = [
        np.zeros((8, 8), np.float16),
        np.zeros((9, 16), np.float32),
        np.zeros((8, 8), np.float32),
    ]
    with pytest.raises(air_cpu.IncompleteSimdgroupError, match="24 of 32 lanes"):
        air_cpu.run(code, "k", buffers=buffers, grid=(1,), threadgroup=(24,))


def test_matrix_load_is_bounds_checked() -> None:
    code = kernel(MATRIX_PARAMS, PRODUCT.format(ta="false", fill="diag.v64f32.f32"), before=MATRIX)
    buffers: list[air_cpu.Buffer] = [
        np.zeros((8, 8), np.float16),
        np.zeros((9, 16), np.float32),
        np.zeros(63, np.float32),
    ]
    with pytest.raises(air_cpu.OutOfBoundsError, match="byte 252 of buffer 2"):
        air_cpu.run(code, "k", buffers=buffers, grid=(1,), threadgroup=(32,))


def test_a_matrix_store_is_complete_before_any_lane_goes_on() -> None:
    """llama.cpp's flash attention reads other lanes' elements right after the store, without a barrier."""
    before = """
@shared = internal unnamed_addr addrspace(3) global [64 x float] undef, align 16
declare <64 x float> @air.simdgroup_matrix_8x8_init_diag.v64f32.f32(float)
declare <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p3f32(float addrspace(3)*, i64, <2 x i64>, i1)
declare void @air.simdgroup_matrix_8x8_store.v64f32.p3f32(<64 x float>, float addrspace(3)*, i64, <2 x i64>, i1)
"""
    body = """
  %m = call <64 x float> @air.simdgroup_matrix_8x8_init_diag.v64f32.f32(float 3.0)
  %t = getelementptr [64 x float], [64 x float] addrspace(3)* @shared, i32 0, i32 0
  call void @air.simdgroup_matrix_8x8_store.v64f32.p3f32(<64 x float> %m, float addrspace(3)* %t, i64 8, <2 x i64> zeroinitializer, i1 false)
  %at = sub i32 63, %1
  %s = getelementptr [64 x float], [64 x float] addrspace(3)* @shared, i32 0, i32 %at
  %v = load float, float addrspace(3)* %s
  %twice = fmul float %v, 2.0
  store float %twice, float addrspace(3)* %s
  %again = call <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p3f32(float addrspace(3)* %t, i64 8, <2 x i64> zeroinitializer, i1 false)
  %x = extractelement <64 x float> %again, i32 0
  %y = extractelement <64 x float> %again, i32 1
  %sum = fadd float %x, %y
  %p = getelementptr float, float addrspace(1)* %0, i32 %1
  store float %sum, float addrspace(1)* %p
  ret void
"""
    out = np.zeros(32, np.float32)
    params = (Buffer(0, "float"), Builtin("thread_index_in_simdgroup"))
    air_cpu.run(kernel(params, body, before=before), "k", buffers=[out], grid=(1,), threadgroup=(32,))
    matrix = 3 * np.eye(8, dtype=np.float32)
    matrix[4:] *= 2
    for lane in range(32):
        row, column = (lane // 4 & 4) + lane // 2 % 4, (lane // 4 & 2) * 2 + lane % 2 * 2
        assert out[lane] == matrix[row, column : column + 2].sum()
