"""Kernels that Apple's compiler built, found in wheels, with inputs and NumPy references in float64.

Dispatch sizes and block formats are those of each project's host code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tests.verify.air_call import from_bfloat, to_bfloat
from tests.verify.ggml_blocks import BLOCKS

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class Prepared:
    """One dispatch. `outputs` pairs the array that the kernel writes with what it should hold."""

    buffers: list[Any] | dict[int, Any]
    outputs: list[tuple[Array, Array]]
    threadgroup: tuple[int, ...]
    grid: tuple[int, ...] | None = None
    threads: tuple[int, ...] | None = None
    threadgroup_memory: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class MetalCase:
    """A kernel in a package. `tolerance` bounds the error relative to the largest expected magnitude."""

    package: str
    kernel: str
    prepare: Callable[[], Prepared]
    tolerance: float
    constants: Mapping[int, Any] = field(default_factory=dict)
    variant: str = ""

    def __str__(self) -> str:
        return f"{self.package}-{self.kernel}{f'-{self.variant}' if self.variant else ''}"


def relative_error(got: Array, expected: Array) -> tuple[float, float]:
    """(largest absolute error, the same relative to the largest expected magnitude); infinite for NaN."""
    if got.dtype == np.uint16:
        got = from_bfloat(got)
    difference = np.abs(got.astype(np.float64) - expected)
    worst = float(np.where(np.isfinite(difference), difference, np.inf).max())
    return worst, worst / max(float(np.abs(expected).max()), 1e-30)


def _rng(seed: str) -> np.random.Generator:
    return np.random.default_rng(list(seed.encode()))


def _normal(seed: str, *shape: int) -> NDArray[np.float32]:
    return _rng(seed).standard_normal(shape).astype(np.float32)


# --- gpt4all: llama.cpp of 2024


def _elementwise(name: str, reference: Callable[[Array], Array]) -> MetalCase:
    def prepare() -> Prepared:
        x = _normal(name, 4096)
        y = np.zeros_like(x)
        return Prepared([x, y], [(y, reference(x.astype(np.float64)))], (256,), threads=(4096,))

    return MetalCase("gpt4all", name, prepare, 1e-6)


def _gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * x * (1 + 0.044715 * x * x))))


def _scale() -> Prepared:
    x = _normal("scale", 1000)
    y = np.zeros_like(x)
    return Prepared([x, y, np.float32(1.7)], [(y, x * np.float64(np.float32(1.7)))], (100,), threads=(1000,))


def _norm(name: str, rows: int = 8, n: int = 1024) -> Callable[[], Prepared]:
    def prepare() -> Prepared:
        x = _normal(name, rows, n) + np.float32(0.5)
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
    x, mask = _normal("soft_max", rows, n), _normal("mask", rows, n)
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
        packed, values = BLOCKS[kind](_rng(kind), m, k)
        x = _normal(f"x{kind}", n, k)
        y = np.zeros((n, m), np.float32)
        threadgroup, rows = _MUL_MV[kind]
        grid = (-(-m // rows), n, 1)
        expected = x.astype(np.float64) @ values.T
        return Prepared([packed, x, y, *_sizes(packed.shape[1], m, k, n)], [(y, expected)], threadgroup, grid=grid)

    return MetalCase("gpt4all", f"kernel_mul_mv_{kind}_f32", prepare, 2e-6)


def _mul_mv_half() -> Prepared:
    m, k, n = 22, 384, 5
    a, x = _normal("half", m, k).astype(np.float16), _normal("halfx", n, k)
    y = np.zeros((n, m), np.float32)
    sizes = _sizes(2 * k, m, k, n)
    sizes[3] = np.uint64(2)
    expected = x.astype(np.float64) @ a.astype(np.float64).T
    return Prepared([a, x, y, *sizes], [(y, expected)], (32,), grid=(m, -(-n // 4), 1))


def _mul_mm(kind: str) -> MetalCase:
    def prepare() -> Prepared:
        m, k, n = 70, 256, 40
        packed, values = BLOCKS[kind](_rng(f"mm{kind}"), m, k)
        x = _normal(f"mmx{kind}", n, k)
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
        packed, values = BLOCKS[kind](_rng(f"rows{kind}"), m, k)
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
    x = _normal("rope", tokens, heads, n)
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
    x = _normal("group", groups, n) + np.float32(0.5)
    y = np.zeros_like(x)
    wide = x.astype(np.float64) - x.astype(np.float64).mean(1, keepdims=True)
    expected = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5)
    sizes = [*map(np.int64, (16, 16, groups)), *map(np.uint64, (4, 64, 1024))]
    buffers = [x, y, *sizes, np.int32(groups), np.float32(1e-5)]
    # One simdgroup: with more, the first one clears the shared sums while others may still read them.
    return Prepared(buffers, [(y, expected)], (32,), grid=(groups,), threadgroup_memory={0: 128})


def _argsort() -> Prepared:
    rows, n, padded = 3, 100, 128
    x = _normal("argsort", rows, n)
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


# --- msplat: Gaussian splatting


def _integers(seed: str, n: int, high: int = 10) -> NDArray[np.int32]:
    return _rng(seed).integers(0, high, n).astype(np.int32)


def _prefix_sum() -> Prepared:
    x = _integers("prefix", 5000)
    y = np.zeros_like(x)
    return Prepared([np.uint32(len(x)), x, y], [(y, np.cumsum(x))], (1024,), grid=(1,))


def _block_reduce() -> Prepared:
    x = _integers("reduce", 5000)
    y = np.zeros(5, np.int32)
    expected = np.pad(x, (0, 120)).reshape(5, 1024).sum(1)
    return Prepared([np.uint32(len(x)), x, y], [(y, expected)], (1024,), grid=(5,))


def _block_scan() -> Prepared:
    x = _integers("scan", 5000)
    y = np.zeros_like(x)
    totals = np.pad(x, (0, 120)).reshape(5, 1024).sum(1).astype(np.int32)
    return Prepared([np.uint32(len(x)), x, y, totals], [(y, np.cumsum(x))], (1024,), grid=(5,))


def _adam() -> Prepared:
    n = 3000
    p, g, m = (_normal(f"adam{i}", n) for i in range(3))
    v = np.abs(_normal("adam3", n))
    step, b1, b2, correction, eps = (np.float32(value) for value in (1e-2, 0.9, 0.999, 0.7, 1e-8))
    wide_g = g.astype(np.float64)
    m1 = m * np.float64(b1) + (1 - np.float64(b1)) * wide_g
    v1 = v * np.float64(b2) + (1 - np.float64(b2)) * wide_g**2
    p1 = p - np.float64(step) * m1 / (np.sqrt(v1) / np.float64(correction) + np.float64(eps))
    outputs = [(p, p1), (m, m1), (v, v1)]
    return Prepared([p, g, m, v, step, b1, b2, correction, eps, np.uint32(n)], outputs, (256,), threads=(n,))


def _compact() -> Prepared:
    n, stride = 500, 3
    x, keep = _normal("compact", n, stride), _integers("keep", n, 2)
    kept = x[keep == 1].astype(np.float64)
    y = np.zeros((len(kept), stride), np.float32)
    prefix = np.cumsum(keep).astype(np.int32)
    return Prepared([x, y, prefix, keep, np.uint32(n), np.uint32(stride)], [(y, kept)], (128,), threads=(n * stride,))


def _max_count() -> Prepared:
    start = _integers("bins", 700, 1000)
    bins = np.stack([start, start + _integers("length", 700, 90)], 1)
    most = np.zeros(1, np.uint32)
    return Prepared(
        [np.uint32(700), bins, most], [(most, np.array([(bins[:, 1] - bins[:, 0]).max()]))], (64,), threads=(700,)
    )


def _histogram() -> Prepared:
    keys = _rng("keys").integers(0, 2**40, 1000)
    counts = np.zeros((4, 256), np.uint32)
    digits = np.pad(keys >> 8 & 255, (0, 24), constant_values=-1).reshape(4, 256)
    expected = np.stack([np.bincount(row[row >= 0], minlength=256) for row in digits])
    buffers = [np.uint32(5000), keys, counts, np.uint32(8), np.array([1000], np.int32), np.uint32(1)]
    return Prepared(buffers, [(counts, expected)], (256,), grid=(4,))


def _grad_stats() -> Prepared:
    n = 600
    radii = _integers("radii", n, 12) - 3
    grad = _normal("grad", n, 2)
    seen, norm, size = (np.abs(_normal(f"stats{i}", n)) for i in range(3))
    scale = np.float32(1 / 640)
    hit = radii > 0
    length = np.sqrt((grad.astype(np.float64) ** 2).sum(1))
    outputs = [
        (seen, seen + hit.astype(np.float64)),
        (norm, norm + np.where(hit, length, 0.0)),
        (size, np.where(hit, np.maximum(size, radii * np.float64(scale)), size)),
    ]
    return Prepared([np.int32(n), radii, grad, seen, norm, size, scale], outputs, (64,), threads=(n,))


MSPLAT = [
    MetalCase("msplat", "prefix_sum_kernel", _prefix_sum, 0.0),
    MetalCase("msplat", "block_reduce_kernel", _block_reduce, 0.0),
    MetalCase("msplat", "block_scan_propagate_kernel", _block_scan, 0.0),
    MetalCase("msplat", "fused_adam_kernel", _adam, 1e-6),
    MetalCase("msplat", "compact_scatter_kernel", _compact, 0.0),
    MetalCase("msplat", "reduce_max_tile_count_kernel", _max_count, 0.0),
    MetalCase("msplat", "radix_sort_histogram_kernel", _histogram, 0.0),
    MetalCase("msplat", "accumulate_grad_stats_kernel", _grad_stats, 1e-6),
]


# --- MLX


def _as(kind: str, x: NDArray[np.float32]) -> tuple[Array, NDArray[np.float64]]:
    """An array of a floating-point kind and its exact values."""
    if kind == "bfloat16":
        short = to_bfloat(x)
        return short, from_bfloat(short).astype(np.float64)
    typed = x.astype(kind)
    return typed, typed.astype(np.float64)


_KINDS = {"float32": 2e-6, "float16": 2e-3, "bfloat16": 1.6e-2}


def _softmax(package: str, name: str, kind: str, threads: int, memory: Mapping[int, int]) -> MetalCase:
    def prepare() -> Prepared:
        rows, n = 6, 1000
        x, wide = _as(kind, _normal(name, rows, n))
        y = np.zeros_like(x)
        weights = np.exp(wide - wide.max(1, keepdims=True))
        expected = weights / weights.sum(1, keepdims=True)
        return Prepared([x, y, np.int32(n)], [(y, expected)], (threads,), grid=(rows,), threadgroup_memory=memory)

    return MetalCase(package, name, prepare, _KINDS[kind])


def _unary(name: str, reference: Callable[[Array], Array]) -> MetalCase:
    def prepare() -> Prepared:
        x = _normal(name, 2000)
        y = np.zeros_like(x)
        return Prepared([x, y], [(y, reference(x.astype(np.float64)))], (256,), threads=(2000,))

    return MetalCase("mlx", name, prepare, 1e-6)


def _row_reduce() -> Prepared:
    x = _normal("rows", 5, 1000)
    y = np.zeros(5, np.float32)
    return Prepared([x, y, np.uint64(1000)], [(y, x.astype(np.float64).sum(1))], (256,), grid=(5,))


def _scan() -> Prepared:
    x = _normal("mlxscan", 4, 1000)
    y = np.zeros_like(x)
    return Prepared([x, y, np.uint64(1000)], [(y, np.cumsum(x.astype(np.float64), 1))], (256,), grid=(4,))


def _gemm() -> Prepared:
    m, n, k = 64, 96, 32
    a, b = _normal("a", m, k), _normal("b", n, k)
    c = np.zeros((m, n), np.float32)
    buffers = [a, b, c, *map(np.int32, (m, n, k, 0, 0, 0))]
    expected = a.astype(np.float64) @ b.T.astype(np.float64)
    return Prepared(buffers, [(c, expected)], (32, 2, 2), grid=(n // 32, m // 32, 1))


def _argsort_block() -> Prepared:
    x = _normal("mlxsort", 3, 700)
    y = np.zeros((3, 700), np.uint32)
    buffers = [x, y, np.int32(700), np.int32(1), np.int32(700)]
    return Prepared(buffers, [(y, np.argsort(x, axis=1).astype(np.float64))], (128,), grid=(1, 3, 1))


def _gemv() -> Prepared:
    m, n = 50, 300
    a, x = _normal("gemva", m, n), _normal("gemvx", n)
    y = np.zeros(m, np.float32)
    buffers = [a, x, y, np.int32(n), np.int32(m), np.int32(0), np.int32(0)]
    return Prepared(buffers, [(y, a.astype(np.float64) @ x.astype(np.float64))], (32, 4, 1), grid=(-(-m // 16), 1, 1))


def _argmax() -> Prepared:
    x = _normal("argmax", 7, 300)
    best = np.zeros(7, np.uint32)
    buffers = [
        x, best, np.array([7], np.int32), np.array([300], np.uint64), np.array([1], np.uint64), np.uint64(1),
        np.uint64(1), np.uint64(300),
    ]  # fmt: skip
    return Prepared(buffers, [(best, x.argmax(1))], (96,), grid=(7,), threadgroup_memory={0: 256})


def _all_reduce() -> Prepared:
    x = _normal("all", 9000)
    total = np.zeros(1, np.float32)
    return Prepared([x, total, np.uint64(9000)], [(total, x.astype(np.float64).sum())], (256,), threads=(2304,))


def _scatter() -> Prepared:
    """out[rows[i]] += updates[i] through an argument buffer; some rows more than once."""
    rows = np.array([3, 0, 9, 3, 3, 7], np.int32)
    updates, out = _normal("scatter", 6, 1, 4), _normal("scattered", 10, 4)
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
    *(_softmax("mlx", f"softmax_{kind}", kind, 256, _LOCALS) for kind in _KINDS),
    *(_softmax("mlx", f"softmax_looped_{kind}", kind, 1024, _LOCALS) for kind in _KINDS),
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


def _mlx_norm(name: str, kind: str, threads: int) -> MetalCase:
    layer = name.startswith("layer")

    def prepare() -> Prepared:
        rows, n = 5, 1024
        x, wide = _as(kind, _normal(name, rows, n) + np.float32(0.25))
        w, wide_w = _as(kind, _normal(f"{name}w", n))
        b, wide_b = _as(kind, _normal(f"{name}b", n))
        y = np.zeros_like(x)
        if layer:
            wide = wide - wide.mean(1, keepdims=True)
        expected = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5) * wide_w + wide_b * layer
        tail = [np.float32(1e-5), np.uint32(n), np.uint32(1)]
        buffers = [x, w, b, y, *tail, np.uint32(1)] if layer else [x, w, y, *tail]
        return Prepared(buffers, [(y, expected)], (threads,), grid=(rows,))

    return MetalCase("mlx-metal", name, prepare, _KINDS[kind])


def _logsumexp() -> Prepared:
    x = _normal("logsumexp", 6, 1000)
    y = np.zeros(6, np.float32)
    expected = np.log(np.exp(x.astype(np.float64)).sum(1))
    return Prepared([x, y, np.int32(1000)], [(y, expected)], (256,), grid=(6,))


MLX_METAL = [
    *(_mlx_norm(f"rms{kind}", kind, 256) for kind in _KINDS),
    *(_mlx_norm(f"rms_looped{kind}", kind, 64) for kind in _KINDS),
    _mlx_norm("layer_normfloat32", "float32", 128),
    *(_softmax("mlx-metal", f"block_softmax_{kind}", kind, 256, {}) for kind in _KINDS),
    MetalCase("mlx-metal", "block_logsumexp_float32", _logsumexp, 1e-6),
]


def _attention(q: Array, k: Array, v: Array, scale: float, *, causal: bool = False) -> NDArray[np.float64]:
    """softmax(scale q·k) v in float64; shapes (heads, tokens, dimension)."""
    wide_q, wide_k, wide_v = (x.astype(np.float64) for x in (q, k, v))
    logits = wide_q @ wide_k.transpose(0, 2, 1) * scale
    if causal:
        rows, columns = logits.shape[1:]
        seen = np.arange(columns)[None, :] <= np.arange(rows)[:, None] + columns - rows
        logits = np.where(seen, logits, -np.inf)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return np.asarray(weights / weights.sum(-1, keepdims=True) @ wide_v)


def _steel_attention(*, causal: bool) -> MetalCase:
    heads, rows, columns, d, bq, bk = 2, 40, 56, 128, 32, 16

    def prepare() -> Prepared:
        q = _normal("steelq", heads, rows, d)
        k, v = (_normal(f"steel{name}", heads, columns, d) for name in "kv")
        out = np.zeros_like(q)
        scale = np.float32(d**-0.5)
        params = np.array([1, heads, d, rows, columns, 1], np.int32).tobytes() + scale.tobytes()
        tiles = (-(-rows // bq), -(-columns // bk), rows // bq, columns // bk, rows % bq, columns % bk, columns - rows)
        params += np.array(tiles, np.int32).tobytes()
        for length in (rows, columns, columns, rows):
            params += np.array([heads * length * d, length * d, d], np.int64).tobytes()
        expected = _attention(q, k, v, float(scale), causal=causal)
        return Prepared([q, k, v, out, params], [(out, expected)], (32, 4, 1), grid=(tiles[0], heads, 1))

    constants = {200: False, 201: False, 300: False, 301: causal, 302: False, 303: False}
    name = "steel_attention_float32_bq32_bk16_bd128_bv128_wm4_wn1_maskfloat32"
    return MetalCase("mlx-metal", name, prepare, 3e-6, constants, "causal" if causal else "")


def _sdpa_vector() -> Prepared:
    heads, columns, d = 3, 100, 64
    q = _normal("sdpaq", heads, 1, d)
    k, v = (_normal(f"sdpa{name}", heads, columns, d) for name in "kv")
    out = np.zeros_like(q)
    strides = [np.uint64(columns * d), np.uint64(d)]
    buffers = [q, k, v, out, np.int32(1), np.int32(columns), *strides, *strides, np.float32(0.125)]
    return Prepared(buffers, [(out, _attention(q, k, v, 0.125))], (1024,), grid=(heads, 1, 1))


_NO_MASK = {20: False, 21: False, 22: False, 23: False, 24: False, 25: False}
MLX_METAL += [
    _steel_attention(causal=False),
    _steel_attention(causal=True),
    MetalCase("mlx-metal", "sdpa_vector_float_64_64", _sdpa_vector, 3e-6, _NO_MASK),
]


def _flash_attention() -> Prepared:
    heads, rows, columns, d = 2, 8, 64, 64
    q = _normal("flashq", heads, rows, d)
    k, v = (_normal(f"flash{name}", heads, columns, d).astype(np.float16) for name in "kv")
    mask = _normal("flashmask", 32, columns).astype(np.float16)
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

CASES = [*GPT4ALL, *MSPLAT, *MLX, *MLX_METAL]
