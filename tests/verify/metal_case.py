"""A kernel that Apple's compiler built, with inputs and a NumPy reference in float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tests.verify.air_call import from_bfloat, to_bfloat

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
        return f"{self.package}-{self.kernel}{f'-{self.variant}' if self.variant else ''}".replace(" ", "")


def relative_error(got: Array, expected: Array) -> tuple[float, float]:
    """(largest absolute error, the same relative to the largest expected magnitude); infinite for NaN."""
    if got.dtype == np.uint16:
        got = from_bfloat(got)
    difference = np.abs(got.astype(np.float64) - expected)
    worst = float(np.where(np.isfinite(difference), difference, np.inf).max())
    return worst, worst / max(float(np.abs(expected).max()), 1e-30)


def rng(seed: str) -> np.random.Generator:
    return np.random.default_rng(list(seed.encode()))


def normal(seed: str, *shape: int) -> NDArray[np.float32]:
    return rng(seed).standard_normal(shape).astype(np.float32)


def attention(q: Array, k: Array, v: Array, scale: float, *, causal: bool = False) -> NDArray[np.float64]:
    """softmax(scale q·k) v in float64; shapes (heads, tokens, dimension)."""
    wide_q, wide_k, wide_v = (x.astype(np.float64) for x in (q, k, v))
    logits = wide_q @ wide_k.transpose(0, 2, 1) * scale
    if causal:
        rows, columns = logits.shape[1:]
        seen = np.arange(columns)[None, :] <= np.arange(rows)[:, None] + columns - rows
        logits = np.where(seen, logits, -np.inf)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return np.asarray(weights / weights.sum(-1, keepdims=True) @ wide_v)


def typed(kind: str, x: NDArray[np.float32]) -> tuple[Array, NDArray[np.float64]]:
    """An array of a floating-point kind and its exact values."""
    if kind == "bfloat16":
        short = to_bfloat(x)
        return short, from_bfloat(short).astype(np.float64)
    typed = x.astype(kind)
    return typed, typed.astype(np.float64)


KINDS = {"float32": 2e-6, "float16": 2e-3, "bfloat16": 1.6e-2}
