"""Kernels of llama.cpp as of 2024, from gpt4all. Dispatch sizes are those of its host code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.verify.ggml_blocks import BLOCKS
from tests.verify.metal_case import Array, MetalCase, Prepared, normal, rng


def _elementwise(name: str, reference: Callable[[Array], Array]) -> MetalCase:
    def prepare() -> Prepared:
        x = normal(name, 4096)
        y = np.zeros_like(x)
        return Prepared([x, y], [(y, reference(x.astype(np.float64)))], (256,), threads=(4096,))

    return MetalCase("gpt4all", name, prepare, 1e-6)


def _gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * x * (1 + 0.044715 * x * x))))


def _scale() -> Prepared:
    x = normal("scale", 1000)
    y = np.zeros_like(x)
    return Prepared([x, y, np.float32(1.7)], [(y, x * np.float64(np.float32(1.7)))], (100,), threads=(1000,))


def _norm(name: str, rows: int = 8, n: int = 1024) -> Callable[[], Prepared]:
    def prepare() -> Prepared:
        x = normal(name, rows, n) + np.float32(0.5)
        y = np.zeros_like(x)
        wide = x.astype(np.float64)
        if name == "kernel_norm":
            wide = wide - wide.mean(1, keepdims=True)
        expected = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5)
        buffers = [x, y, np.int64(n), np.uint64(4 * n), np.float32(1e-5)]
        return Prepared(buffers, [(y, expected)], (256,), grid=(rows,), threadgroup_memory={0: 4 * 256})

    return prepare


def _ggml_soft_max() -> Prepared:
    rows, n = 12, 333
    x, mask = normal("soft_max", rows, n), normal("mask", rows, n)
    y = np.zeros_like(x)
    logits = x.astype(np.float64) * np.float32(0.3) + mask
    weights = np.exp(logits - logits.max(1, keepdims=True))
    buffers = [
        x,
        mask,
        y,
        np.int64(n),
        np.int64(rows),
        np.int64(1),
        np.float32(0.3),
        *[np.float32(0)] * 3,
        np.uint32(1),
    ]
    return Prepared(
        buffers,
        [(y, weights / weights.sum(1, keepdims=True))],
        (128,),
        grid=(rows,),
        threadgroup_memory={0: 128},
    )


# kind → threadgroup size, rows per threadgroup
_MUL_MV = {
    "q4_0": ((8, 8), 8),
    "q4_1": ((8, 8), 8),
    "q5_0": ((8, 8), 8),
    "q5_1": ((8, 8), 8),
    "q8_0": ((8, 8), 8),
    "q4_K": ((4, 8), 4),
    "q6_K": ((2, 32), 2),
}


def _sizes(kind_bytes: int, m: int, k: int, n: int) -> list[Any]:
    """ne00 … r3 of a product of an (m, k) matrix, `kind_bytes` a row, with n vectors."""
    row = 4 * k
    return [
        *map(np.int64, (k, m, 1)),
        *map(np.uint64, (0, kind_bytes, kind_bytes * m)),
        *map(np.int64, (k, n, 1)),
        *map(np.uint64, (4, row, row * n)),
        *map(np.int64, (m, n)),
        np.uint32(1),
        np.uint32(1),
    ]


def _mul_mv(kind: str) -> MetalCase:
    def prepare() -> Prepared:
        m, k, n = 24, 512, 3  # these kernels read whole groups of rows, past the end of a matrix with others
        packed, values = BLOCKS[kind](rng(kind), m, k)
        x = normal(f"x{kind}", n, k)
        y = np.zeros((n, m), np.float32)
        threadgroup, rows = _MUL_MV[kind]
        grid = (-(-m // rows), n, 1)
        expected = x.astype(np.float64) @ values.T
        return Prepared([packed, x, y, *_sizes(packed.shape[1], m, k, n)], [(y, expected)], threadgroup, grid=grid)

    return MetalCase("gpt4all", f"kernel_mul_mv_{kind}_f32", prepare, 2e-6)


def _mul_mv_half() -> Prepared:
    m, k, n = 22, 384, 5
    a, x = normal("half", m, k).astype(np.float16), normal("halfx", n, k)
    y = np.zeros((n, m), np.float32)
    sizes = _sizes(2 * k, m, k, n)
    sizes[3] = np.uint64(2)
    expected = x.astype(np.float64) @ a.astype(np.float64).T
    return Prepared([a, x, y, *sizes], [(y, expected)], (32,), grid=(m, -(-n // 4), 1))


def _mul_mm(kind: str) -> MetalCase:
    def prepare() -> Prepared:
        m, k, n = 70, 256, 40
        packed, values = BLOCKS[kind](rng(f"mm{kind}"), m, k)
        x = normal(f"mmx{kind}", n, k)
        y = np.zeros((n, m), np.float32)
        buffers = [
            packed, x, y, np.int64(k), np.int64(1), np.uint64(packed.shape[1]), np.uint64(packed.nbytes), np.int64(1),
            np.uint64(4), np.uint64(4 * k), np.uint64(4 * k * n), np.int64(m), np.int64(n), np.uint32(1), np.uint32(1),
        ]  # fmt: skip
        expected = x.astype(np.float64) @ values.T
        return Prepared(
            buffers,
            [(y, expected)],
            (128,),
            grid=(-(-n // 32), -(-m // 64), 1),
            threadgroup_memory={0: 8192},
        )

    # The kernel rounds both factors to half before it multiplies.
    return MetalCase("gpt4all", f"kernel_mul_mm_{kind}_f32", prepare, 2e-3)


def _get_rows(kind: str) -> MetalCase:
    def prepare() -> Prepared:
        m, k = 9, 256
        packed, values = BLOCKS[kind](rng(f"rows{kind}"), m, k)
        rows = np.array([3, 0, 8, 3], np.int32)
        y = np.zeros((4, k), np.float32)
        buffers = [
            packed, rows, y, np.int64(k), np.uint64(packed.shape[1]), np.uint64(packed.nbytes), np.int64(4),
            np.uint64(4), np.uint64(16), np.uint64(4 * k), np.uint64(4 * k * 4),
        ]  # fmt: skip
        return Prepared(buffers, [(y, values[rows])], (32,), grid=(4, 1, 1))

    return MetalCase("gpt4all", f"kernel_get_rows_{kind}", prepare, 1e-6)


def _rope() -> Prepared:
    """Pairs (2i, 2i + 1) turn by position · base^(-2i / n); layout (tokens, heads, n)."""
    tokens, heads, n, base = 5, 3, 64, 10000.0
    x = normal("rope", tokens, heads, n)
    positions = np.array([0, 1, 7, 30, 100], np.int32)
    y = np.zeros_like(x)
    angle = positions[:, None] * base ** (-np.arange(0, n, 2) / n)
    cosine, sine = np.cos(angle)[:, None], np.sin(angle)[:, None]
    even, odd = x[..., ::2].astype(np.float64), x[..., 1::2].astype(np.float64)
    expected = np.stack([even * cosine - odd * sine, even * sine + odd * cosine], -1).reshape(x.shape)
    shape = [*map(np.int64, (n, heads, tokens, 1)), *map(np.uint64, (4, 4 * n, 4 * n * heads, x.nbytes))]
    floats = [np.float32(value) for value in (base, 1, 0, 1, 32, 1)]
    # No frequency factors: the kernel compares the pointers of buffers 2 and 0.
    buffers = [x, positions, x, y, *shape, *shape, np.int32(0), np.int32(n), np.int32(4096), *floats]
    return Prepared(buffers, [(y, expected)], (32, 1, 1), grid=(heads, tokens, 1))


def _group_norm() -> Prepared:
    groups, n = 4, 256
    x = normal("group", groups, n) + np.float32(0.5)
    y = np.zeros_like(x)
    wide = x.astype(np.float64) - x.astype(np.float64).mean(1, keepdims=True)
    expected = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5)
    sizes = [*map(np.int64, (16, 16, groups)), *map(np.uint64, (4, 64, 1024))]
    buffers = [x, y, *sizes, np.int32(groups), np.float32(1e-5)]
    # One simdgroup: with more, the first one clears the shared sums while others may still read them.
    return Prepared(buffers, [(y, expected)], (32,), grid=(groups,), threadgroup_memory={0: 128})


def _argsort() -> Prepared:
    rows, n, padded = 3, 100, 128
    x = normal("argsort", rows, n)
    order = np.zeros((rows, n), np.int32)
    expected = np.argsort(x, axis=1).astype(np.float64)
    buffers = [x, order, np.int64(n), np.int64(padded)]
    return Prepared(buffers, [(order, expected)], (padded,), grid=(1, rows, 1), threadgroup_memory={0: 4 * padded})


GPT4ALL = [
    _elementwise("kernel_relu", lambda x: np.maximum(x, 0)),
    _elementwise("kernel_sigmoid", lambda x: np.asarray(1 / (1 + np.exp(-x)))),
    _elementwise("kernel_tanh", np.tanh),
    _elementwise("kernel_gelu", _gelu),
    _elementwise("kernel_silu", lambda x: np.asarray(x / (1 + np.exp(-x)))),
    _elementwise("kernel_sqr", np.square),
    MetalCase("gpt4all", "kernel_scale", _scale, 1e-6),
    MetalCase("gpt4all", "kernel_norm", _norm("kernel_norm"), 2e-6),
    MetalCase("gpt4all", "kernel_rms_norm", _norm("kernel_rms_norm"), 2e-6),
    MetalCase("gpt4all", "kernel_group_norm", _group_norm, 2e-6),
    MetalCase("gpt4all", "kernel_rope_norm_f32", _rope, 2e-5),
    MetalCase("gpt4all", "kernel_soft_max_f32", _ggml_soft_max, 1e-6),
    *map(_mul_mv, _MUL_MV),
    MetalCase("gpt4all", "kernel_mul_mv_f16_f32", _mul_mv_half, 2e-6),
    *map(_mul_mm, ("q4_0", "q8_0", "q6_K")),
    *map(_get_rows, ("q4_0", "q5_1", "q4_K")),
    MetalCase("gpt4all", "kernel_argsort_f32_i32_asc", _argsort, 0.0),
]


def _flash_attention() -> Prepared:
    heads, rows, columns, d = 2, 8, 64, 64
    q = normal("flashq", heads, rows, d)
    k, v = (normal(f"flash{name}", heads, columns, d).astype(np.float16) for name in "kv")
    mask = normal("flashmask", 32, columns).astype(np.float16)
    out = np.zeros((rows, heads, d), np.float32)
    logits = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) * 0.125 + mask[:rows].astype(np.float64)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    expected = (weights / weights.sum(-1, keepdims=True) @ v.astype(np.float64)).transpose(1, 0, 2)
    longs, ulongs = [np.int64(n) for n in (rows, heads, 1)], [4 * d, 4 * d * rows, 4 * d * rows * heads]
    kv = [2 * d, 2 * d * columns, 2 * d * columns * heads]
    buffers = [
        q, k, v, mask, out, *longs, *map(np.uint64, ulongs), *map(np.int64, (columns, heads, 1)),
        *map(np.uint64, kv), *map(np.uint64, kv), np.uint64(2 * columns), np.int64(heads), np.int64(rows),
        np.float32(0.125), np.float32(0), np.float32(0), np.float32(0), np.uint32(1),
    ]  # fmt: skip
    return Prepared(buffers, [(out, expected)], (32, 4, 1), grid=(1, heads, 1), threadgroup_memory={0: 16384})


# Queries and weights are rounded to half before each product.
GPT4ALL.append(MetalCase("gpt4all", "kernel_flash_attn_ext_f16_h64", _flash_attention, 2e-3))
