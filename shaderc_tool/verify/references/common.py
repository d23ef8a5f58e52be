"""Mathematics shared by the formats: Walsh-Hadamard transforms, sign vectors, binary16 and bfloat16."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

F32: TypeAlias = NDArray[np.float32]
F64: TypeAlias = NDArray[np.float64]
U8: TypeAlias = NDArray[np.uint8]
U16: TypeAlias = NDArray[np.uint16]
Ints: TypeAlias = NDArray[np.int64]

FloatT = TypeVar("FloatT", np.float32, np.float64)

HEAD_DIM = 128
"""Elements of one key or query row; the only size that these formats and kernels know."""


def hadamard(x: NDArray[FloatT]) -> NDArray[FloatT]:
    """Unnormalised Walsh-Hadamard transform of the last axis, Sylvester order, in the precision of `x`.

    The length must be a power of two. Stages run with strides 1, 2, 4, ...: pairs (j, j + h) become (a + b, a - b).
    """
    n = x.shape[-1]
    if n & (n - 1) or n == 0:
        raise ValueError(f"length {n} is not a power of two")
    y = x
    h = 1
    while h < n:
        pairs = y.reshape(*x.shape[:-1], n // (2 * h), 2, h)
        a, b = pairs[..., 0, :], pairs[..., 1, :]
        y = np.stack((a + b, a - b), axis=-2).reshape(x.shape)
        h *= 2
    return y


def sign_vector(text: str) -> F64:
    """Signs written as '+' and '-' (blanks ignored), as ±1."""
    return np.array([1.0 if c == "+" else -1.0 for c in text if c in "+-"])


def fp16_bytes(x: NDArray[Any]) -> U8:
    """Round to nearest even binary16; [...] → [..., 2] little-endian bytes."""
    return np.ascontiguousarray(x.astype("<f2"))[..., None].view(np.uint8)


def fp16_value(raw: U8) -> F64:
    """[..., 2] little-endian bytes → [...], subnormal numbers included."""
    return np.ascontiguousarray(raw).view("<f2")[..., 0].astype(np.float64)


def bf16_bytes(x: F32) -> U8:
    """Round to nearest even bfloat16; [...] → [..., 2] little-endian bytes. NaN is outside the domain."""
    bits = np.ascontiguousarray(x, dtype=np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return rounded.astype("<u2")[..., None].view(np.uint8)


def bf16_value(raw: U8) -> F64:
    """[..., 2] little-endian bytes → [...]."""
    bits = np.ascontiguousarray(raw).view("<u2")[..., 0].astype(np.uint32) << 16
    return bits.view(np.float32).astype(np.float64)


def nearest_code(x: NDArray[FloatT], midpoints: NDArray[FloatT]) -> Ints:
    """Index of the nearest of the ascending centroids that `midpoints` separates; a tie goes to the lower index."""
    return np.searchsorted(midpoints, x, side="left").astype(np.int64)


def boundary_distance(x: F64, boundaries: F64) -> F64:
    """Distance of each x to the nearest decision boundary.

    An x of exactly 0 counts as safe (infinite distance): such a zero comes from exact cancellation, which every
    precision and every summation order reproduces.
    """
    distance: F64 = np.abs(x[..., None] - boundaries).min(axis=-1)
    return np.where(x == 0, np.inf, distance)


def rounding_distance(value: F64, mantissa_bits: int, min_exponent: int) -> F64:
    """Relative distance of each value ≥ 0 to the nearest point where rounding to a binary format changes its result.

    `mantissa_bits` counts the stored bits, `min_exponent` is the exponent of the smallest normal number: (10, -14) for
    binary16, (7, -126) for bfloat16. Exact zero is safe (infinite distance).
    """
    positive = np.where(value > 0, value, 1.0)
    exponent = np.maximum(np.floor(np.log2(positive)), min_exponent)
    ulp = np.exp2(exponent - mantissa_bits)
    distance = np.abs(np.mod(positive / ulp, 1.0) - 0.5) * ulp
    # Below a power of two the numbers lie twice as dense.
    to_lower_binade = positive - np.exp2(exponent) + ulp / 4
    distance = np.where(exponent > min_exponent, np.minimum(distance, to_lower_binade), distance)
    return np.where(value > 0, distance / positive, np.inf)


def row_norms(rows: F64) -> F64:
    """Euclidean norm of each row; [..., n] → [...]."""
    norms: F64 = np.sqrt((rows * rows).sum(axis=-1))
    return norms
