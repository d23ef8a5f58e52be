"""Kernels of MLX 0.32. Dispatch sizes are those of its host code."""

from __future__ import annotations

import numpy as np

from tests.verify.metal_case import KINDS, MetalCase, Prepared, attention, normal, rng, typed
from tests.verify.metal_cases_mlx import softmax


def _mlx_norm(name: str, kind: str, threads: int) -> MetalCase:
    layer = name.startswith("layer")

    def prepare() -> Prepared:
        rows, n = 5, 1024
        x, wide = typed(kind, normal(name, rows, n) + np.float32(0.25))
        w, wide_w = typed(kind, normal(f"{name}w", n))
        b, wide_b = typed(kind, normal(f"{name}b", n))
        y = np.zeros_like(x)
        if layer:
            wide = wide - wide.mean(1, keepdims=True)
        expected = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5) * wide_w + wide_b * layer
        tail = [np.float32(1e-5), np.uint32(n), np.uint32(1)]
        buffers = [x, w, b, y, *tail, np.uint32(1)] if layer else [x, w, y, *tail]
        return Prepared(buffers, [(y, expected)], (threads,), grid=(rows,))

    return MetalCase("mlx-metal", name, prepare, KINDS[kind])


def _logsumexp() -> Prepared:
    x = normal("logsumexp", 6, 1000)
    y = np.zeros(6, np.float32)
    expected = np.log(np.exp(x.astype(np.float64)).sum(1))
    return Prepared([x, y, np.int32(1000)], [(y, expected)], (256,), grid=(6,))


MLX_METAL = [
    *(_mlx_norm(f"rms{kind}", kind, 256) for kind in KINDS),
    *(_mlx_norm(f"rms_looped{kind}", kind, 64) for kind in KINDS),
    _mlx_norm("layer_normfloat32", "float32", 128),
    *(softmax("mlx-metal", f"block_softmax_{kind}", kind, 256, {}) for kind in KINDS),
    MetalCase("mlx-metal", "block_logsumexp_float32", _logsumexp, 1e-6),
]


def _steel_attention(*, causal: bool) -> MetalCase:
    heads, rows, columns, d, bq, bk = 2, 40, 56, 128, 32, 16

    def prepare() -> Prepared:
        q = normal("steelq", heads, rows, d)
        k, v = (normal(f"steel{name}", heads, columns, d) for name in "kv")
        out = np.zeros_like(q)
        scale = np.float32(d**-0.5)
        params = np.array([1, heads, d, rows, columns, 1], np.int32).tobytes() + scale.tobytes()
        tiles = (-(-rows // bq), -(-columns // bk), rows // bq, columns // bk, rows % bq, columns % bk, columns - rows)
        params += np.array(tiles, np.int32).tobytes()
        for length in (rows, columns, columns, rows):
            params += np.array([heads * length * d, length * d, d], np.int64).tobytes()
        expected = attention(q, k, v, float(scale), causal=causal)
        return Prepared([q, k, v, out, params], [(out, expected)], (32, 4, 1), grid=(tiles[0], heads, 1))

    constants = {200: False, 201: False, 300: False, 301: causal, 302: False, 303: False}
    name = "steel_attention_float32_bq32_bk16_bd128_bv128_wm4_wn1_maskfloat32"
    return MetalCase("mlx-metal", name, prepare, 3e-6, constants, "causal" if causal else "")


def _sdpa_vector() -> Prepared:
    heads, columns, d = 3, 100, 64
    q = normal("sdpaq", heads, 1, d)
    k, v = (normal(f"sdpa{name}", heads, columns, d) for name in "kv")
    out = np.zeros_like(q)
    strides = [np.uint64(columns * d), np.uint64(d)]
    buffers = [q, k, v, out, np.int32(1), np.int32(columns), *strides, *strides, np.float32(0.125)]
    return Prepared(buffers, [(out, attention(q, k, v, 0.125))], (1024,), grid=(heads, 1, 1))


def _affine_qmv() -> Prepared:
    """4-bit codes, eight to a word; a scale and a bias for every 64."""
    n, k, group = 16, 512, 64
    codes = rng("qmv").integers(0, 16, (n, k)).astype(np.uint32)
    words = sum(codes[:, i::8] << np.uint32(4 * i) for i in range(8))
    scales, biases = rng("qmvs").uniform(0.01, 0.1, (n, k // group)).astype(np.float32), normal("qmvb", n, k // group)
    x, y = normal("qmvx", k), np.zeros(n, np.float32)
    weights = codes * np.repeat(scales.astype(np.float64), group, 1) + np.repeat(biases.astype(np.float64), group, 1)
    buffers = [words, scales, biases, x, y, np.int32(k), np.int32(n)]
    return Prepared(buffers, [(y, weights @ x.astype(np.float64))], (32, 2, 1), grid=(1, n // 8, 1))


def _steel_gemm(m: int, n: int, k: int) -> MetalCase:
    """D = A Bᵀ; function constants say which sizes are whole tiles of 64 x 64 x 16."""

    def prepare() -> Prepared:
        a, b = normal("gemma", m, k), normal("gemmb", n, k)
        d = np.zeros((m, n), np.float32)
        tiles = (-(-n // 64), -(-m // 64))
        params = np.array([m, n, k, k, k, n, *tiles], np.int32).tobytes()
        params += np.array([0, 0, m * n], np.int64).tobytes() + np.array([0, k // 16, 1, 0], np.int32).tobytes()
        buffers = {0: a, 1: b, 3: d, 4: params, 6: np.array([1], np.int32), 7: np.zeros(2, np.int64)}
        expected = a.astype(np.float64) @ b.T.astype(np.float64)
        return Prepared(buffers, [(d, expected)], (32, 2, 2), grid=(*tiles, 1))

    constants = {10: False, 100: False, 110: False, 200: m % 64 == 0, 201: n % 64 == 0, 202: k % 16 == 0}
    name = "steel_gemm_fused_nt_float32_float32_bm64_bn64_bk16_wm2_wn2"
    return MetalCase("mlx-metal", name, prepare, 1e-6, constants, f"{m} x {n} x {k}")


_NO_MASK = {20: False, 21: False, 22: False, 23: False, 24: False, 25: False}
MLX_METAL += [
    _steel_attention(causal=False),
    _steel_attention(causal=True),
    MetalCase("mlx-metal", "sdpa_vector_float_64_64", _sdpa_vector, 3e-6, _NO_MASK),
    MetalCase("mlx-metal", "affine_qmv_float_gs_64_b_4_batch_0_pr_0_hgs_0_r_4", _affine_qmv, 1e-6),
    _steel_gemm(128, 64, 32),
    _steel_gemm(70, 50, 40),
]
