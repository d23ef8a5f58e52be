"""Kernels of MLX 0.0.5. Dispatch sizes are those of its host code."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tests.verify.metal_case import KINDS, Array, MetalCase, Prepared, normal, typed


def softmax(package: str, name: str, kind: str, threads: int, memory: Mapping[int, int]) -> MetalCase:
    def prepare() -> Prepared:
        rows, n = 6, 1000
        x, wide = typed(kind, normal(name, rows, n))
        y = np.zeros_like(x)
        weights = np.exp(wide - wide.max(1, keepdims=True))
        expected = weights / weights.sum(1, keepdims=True)
        return Prepared([x, y, np.int32(n)], [(y, expected)], (threads,), grid=(rows,), threadgroup_memory=memory)

    return MetalCase(package, name, prepare, KINDS[kind])


def _unary(name: str, reference: Callable[[Array], Array]) -> MetalCase:
    def prepare() -> Prepared:
        x = normal(name, 2000)
        y = np.zeros_like(x)
        return Prepared([x, y], [(y, reference(x.astype(np.float64)))], (256,), threads=(2000,))

    return MetalCase("mlx", name, prepare, 1e-6)


def _row_reduce() -> Prepared:
    x = normal("rows", 5, 1000)
    y = np.zeros(5, np.float32)
    return Prepared([x, y, np.uint64(1000)], [(y, x.astype(np.float64).sum(1))], (256,), grid=(5,))


def _scan() -> Prepared:
    x = normal("mlxscan", 4, 1000)
    y = np.zeros_like(x)
    return Prepared([x, y, np.uint64(1000)], [(y, np.cumsum(x.astype(np.float64), 1))], (256,), grid=(4,))


def _gemm() -> Prepared:
    m, n, k = 64, 96, 32
    a, b = normal("a", m, k), normal("b", n, k)
    c = np.zeros((m, n), np.float32)
    buffers = [a, b, c, *map(np.int32, (m, n, k, 0, 0, 0))]
    expected = a.astype(np.float64) @ b.T.astype(np.float64)
    return Prepared(buffers, [(c, expected)], (32, 2, 2), grid=(n // 32, m // 32, 1))


def _argsort_block() -> Prepared:
    x = normal("mlxsort", 3, 700)
    y = np.zeros((3, 700), np.uint32)
    buffers = [x, y, np.int32(700), np.int32(1), np.int32(700)]
    return Prepared(buffers, [(y, np.argsort(x, axis=1).astype(np.float64))], (128,), grid=(1, 3, 1))


def _gemv() -> Prepared:
    m, n = 50, 300
    a, x = normal("gemva", m, n), normal("gemvx", n)
    y = np.zeros(m, np.float32)
    buffers = [a, x, y, np.int32(n), np.int32(m), np.int32(0), np.int32(0)]
    return Prepared(buffers, [(y, a.astype(np.float64) @ x.astype(np.float64))], (32, 4, 1), grid=(-(-m // 16), 1, 1))


def _argmax() -> Prepared:
    x = normal("argmax", 7, 300)
    best = np.zeros(7, np.uint32)
    buffers = [
        x, best, np.array([7], np.int32), np.array([300], np.uint64), np.array([1], np.uint64), np.uint64(1),
        np.uint64(1), np.uint64(300),
    ]  # fmt: skip
    return Prepared(buffers, [(best, x.argmax(1))], (96,), grid=(7,), threadgroup_memory={0: 256})


def _all_reduce() -> Prepared:
    x = normal("all", 9000)
    total = np.zeros(1, np.float32)
    return Prepared([x, total, np.uint64(9000)], [(total, x.astype(np.float64).sum())], (256,), threads=(2304,))


def _scatter() -> Prepared:
    """out[rows[i]] += updates[i] through an argument buffer; some rows more than once."""
    rows = np.array([3, 0, 9, 3, 3, 7], np.int32)
    updates, out = normal("scatter", 6, 1, 4), normal("scattered", 10, 4)
    expected = out.astype(np.float64)
    np.add.at(expected, rows, updates[:, 0].astype(np.float64))
    indices = {0: rows, 2: np.array([6], np.int32), 3: np.array([1], np.uint64), 4: np.int32(1)}
    buffers = [
        indices, updates, out, np.array([6, 1, 4], np.int32), np.array([4, 4, 1], np.uint64), np.uint64(3),
        np.uint64(4), np.array([10, 4], np.int32), np.array([4, 1], np.uint64), np.uint64(2), np.array([0], np.int32),
    ]  # fmt: skip
    return Prepared(buffers, [(out, expected)], (24,), threads=(24,))


_LOCALS = {0: 128, 1: 128}
MLX = [
    *(softmax("mlx", f"softmax_{kind}", kind, 256, _LOCALS) for kind in KINDS),
    *(softmax("mlx", f"softmax_looped_{kind}", kind, 1024, _LOCALS) for kind in KINDS),
    _unary("vexpfloat32", np.exp),
    _unary("vtanhfloat32", np.tanh),
    _unary("vsinfloat32", np.sin),
    MetalCase("mlx", "row_reduce_sumfloat32", _row_reduce, 2e-6),
    MetalCase("mlx", "all_reduce_sumfloat32", _all_reduce, 2e-6),
    MetalCase("mlx", "argmax_float32", _argmax, 0.0),
    MetalCase("mlx", "gemv_float32_bm4_bn32_tm4_tn4", _gemv, 1e-6),
    MetalCase("mlx", "scatterfloat32int32_sum_1", _scatter, 1e-6),
    MetalCase("mlx", "contiguous_scan_inclusive_sum_float32_float32", _scan, 2e-6),
    MetalCase("mlx", "gemm_nt_float32_float32_bm32_bn32_bk16_wm2_wn2_MN_taligned_K_taligned", _gemm, 1e-6),
    MetalCase("mlx", "arg_block_merge_sort_float32_uint32_bn128_tn8", _argsort_block, 0.0),
]
