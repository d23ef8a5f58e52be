"""Random blocks of ggml's quantized formats and their exact values.

Each function gives the packed rows, uint8 of shape (rows, bytes), and the values, float64 of shape (rows, columns).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Packed: TypeAlias = tuple[NDArray[np.uint8], NDArray[np.float64]]


def _bytes(rng: np.random.Generator, *shape: int) -> NDArray[np.uint8]:
    return rng.integers(0, 256, shape, np.uint8)


def _halves(rng: np.random.Generator, *shape: int) -> NDArray[np.float16]:
    return rng.uniform(0.01, 0.1, (*shape, 1)).astype(np.float16)


def _pack(*parts: NDArray[np.float16] | NDArray[np.uint8]) -> NDArray[np.uint8]:
    rows = parts[0].shape[0]
    return np.ascontiguousarray(np.concatenate([part.view(np.uint8) for part in parts], -1).reshape(rows, -1))


def _simple(bits: int, *, offset: bool) -> Callable[[np.random.Generator, int, int], Packed]:
    """q4_0, q4_1, q5_0, q5_1: 32 codes; the low nibbles are the first 16, the fifth bits lie in a word of their own."""

    def make(rng: np.random.Generator, rows: int, columns: int) -> Packed:
        blocks = columns // 32
        d, m = _halves(rng, rows, blocks), _halves(rng, rows, blocks)
        low = _bytes(rng, rows, blocks, 16)
        codes = np.concatenate([low & 15, low >> 4], -1).astype(np.int64)
        high = _bytes(rng, rows, blocks, 4)
        if bits == 5:
            codes |= np.unpackbits(high, axis=-1, bitorder="little").astype(np.int64) << 4
        scale, least = d.astype(np.float64), m.astype(np.float64)
        values = codes * scale + least if offset else (codes - (1 << (bits - 1))) * scale
        parts = [d, m] if offset else [d]
        return _pack(*parts, *([high] if bits == 5 else []), low), values.reshape(rows, columns)

    return make


def _q8_0(rng: np.random.Generator, rows: int, columns: int) -> Packed:
    d, codes = _halves(rng, rows, columns // 32), _bytes(rng, rows, columns // 32, 32)
    values = codes.view(np.int8).astype(np.float64) * d.astype(np.float64)
    return _pack(d, codes), values.reshape(rows, columns)


def _q4_k(rng: np.random.Generator, rows: int, columns: int) -> Packed:
    """256 codes in 8 groups; 6-bit scales and minima in 12 bytes, the last four groups' high bits elsewhere."""
    blocks = columns // 256
    d, least = _halves(rng, rows, blocks), _halves(rng, rows, blocks)
    s, q = _bytes(rng, rows, blocks, 12), _bytes(rng, rows, blocks, 128)
    first, second, third = s[..., :4], s[..., 4:8], s[..., 8:]
    scale = np.concatenate([first & 63, (third & 15) | (first >> 6) << 4], -1).astype(np.float64)
    minimum = np.concatenate([second & 63, (third >> 4) | (second >> 6) << 4], -1).astype(np.float64)
    pairs = q.reshape(rows, blocks, 4, 32)
    codes = np.stack([pairs & 15, pairs >> 4], 3).reshape(rows, blocks, 8, 32)
    values = (d * scale)[..., None] * codes - (least * minimum)[..., None]
    return _pack(d, least, s, q), values.reshape(rows, columns)


def _q6_k(rng: np.random.Generator, rows: int, columns: int) -> Packed:
    """256 codes in two halves of four runs of 32; a signed scale for every 16."""
    blocks = columns // 256
    low, high = _bytes(rng, rows, blocks, 128), _bytes(rng, rows, blocks, 64)
    scales, d = _bytes(rng, rows, blocks, 16), _halves(rng, rows, blocks)
    l2, h2 = low.reshape(rows, blocks, 2, 2, 32), high.reshape(rows, blocks, 2, 32)
    runs = [
        (l2[..., half, :] >> shift & 15) | (h2 >> 2 * run & 3) << 4
        for run, (half, shift) in enumerate([(0, 0), (1, 0), (0, 4), (1, 4)])
    ]
    codes = np.stack(runs, 3).astype(np.int64).reshape(rows, blocks, 16, 16) - 32
    factor = d.astype(np.float64) * scales.view(np.int8)
    values = factor[..., None] * codes
    return _pack(low, high, scales, d), values.reshape(rows, columns)


BLOCKS: dict[str, Callable[[np.random.Generator, int, int], Packed]] = {
    "q4_0": _simple(4, offset=False),
    "q4_1": _simple(4, offset=True),
    "q5_0": _simple(5, offset=False),
    "q5_1": _simple(5, offset=True),
    "q8_0": _q8_0,
    "q4_K": _q4_k,
    "q6_K": _q6_k,
}
