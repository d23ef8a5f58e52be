"""Kernels of msplat, Gaussian splatting."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.verify.metal_case import MetalCase, Prepared, normal, rng


def integers(seed: str, n: int, high: int = 10) -> NDArray[np.int32]:
    return rng(seed).integers(0, high, n).astype(np.int32)


def _prefix_sum() -> Prepared:
    x = integers("prefix", 5000)
    y = np.zeros_like(x)
    return Prepared([np.uint32(len(x)), x, y], [(y, np.cumsum(x))], (1024,), grid=(1,))


def _block_reduce() -> Prepared:
    x = integers("reduce", 5000)
    y = np.zeros(5, np.int32)
    expected = np.pad(x, (0, 120)).reshape(5, 1024).sum(1)
    return Prepared([np.uint32(len(x)), x, y], [(y, expected)], (1024,), grid=(5,))


def _block_scan() -> Prepared:
    x = integers("scan", 5000)
    y = np.zeros_like(x)
    totals = np.pad(x, (0, 120)).reshape(5, 1024).sum(1).astype(np.int32)
    return Prepared([np.uint32(len(x)), x, y, totals], [(y, np.cumsum(x))], (1024,), grid=(5,))


def _adam() -> Prepared:
    n = 3000
    p, g, m = (normal(f"adam{i}", n) for i in range(3))
    v = np.abs(normal("adam3", n))
    step, b1, b2, correction, eps = (np.float32(value) for value in (1e-2, 0.9, 0.999, 0.7, 1e-8))
    wide_g = g.astype(np.float64)
    m1 = m * np.float64(b1) + (1 - np.float64(b1)) * wide_g
    v1 = v * np.float64(b2) + (1 - np.float64(b2)) * wide_g**2
    p1 = p - np.float64(step) * m1 / (np.sqrt(v1) / np.float64(correction) + np.float64(eps))
    outputs = [(p, p1), (m, m1), (v, v1)]
    return Prepared([p, g, m, v, step, b1, b2, correction, eps, np.uint32(n)], outputs, (256,), threads=(n,))


def _compact() -> Prepared:
    n, stride = 500, 3
    x, keep = normal("compact", n, stride), integers("keep", n, 2)
    kept = x[keep == 1].astype(np.float64)
    y = np.zeros((len(kept), stride), np.float32)
    prefix = np.cumsum(keep).astype(np.int32)
    return Prepared([x, y, prefix, keep, np.uint32(n), np.uint32(stride)], [(y, kept)], (128,), threads=(n * stride,))


def _max_count() -> Prepared:
    start = integers("bins", 700, 1000)
    bins = np.stack([start, start + integers("length", 700, 90)], 1)
    most = np.zeros(1, np.uint32)
    return Prepared(
        [np.uint32(700), bins, most], [(most, np.array([(bins[:, 1] - bins[:, 0]).max()]))], (64,), threads=(700,)
    )


def _histogram() -> Prepared:
    keys = rng("keys").integers(0, 2**40, 1000)
    counts = np.zeros((4, 256), np.uint32)
    digits = np.pad(keys >> 8 & 255, (0, 24), constant_values=-1).reshape(4, 256)
    expected = np.stack([np.bincount(row[row >= 0], minlength=256) for row in digits])
    buffers = [np.uint32(5000), keys, counts, np.uint32(8), np.array([1000], np.int32), np.uint32(1)]
    return Prepared(buffers, [(counts, expected)], (256,), grid=(4,))


def _grad_stats() -> Prepared:
    n = 600
    radii = integers("radii", n, 12) - 3
    grad = normal("grad", n, 2)
    seen, norm, size = (np.abs(normal(f"stats{i}", n)) for i in range(3))
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
