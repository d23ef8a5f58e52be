"""Inputs of the verification cases: keys, queries and blocks, deterministic by seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from shaderc_tool.verify.references import common
from shaderc_tool.verify.references.common import F32, F64, HEAD_DIM, U8, Ints

MARGIN: Final = 1e-5
"""Smallest distance of an encoder's input to another encoding; float32 arithmetic in any order errs by less."""

UNIQUE_ROWS: Final = 4099
"""Cases with more rows repeat this many."""

LARGE: Final = 70_000
"""More rows than the 65535 workgroups that every Vulkan device grants in one grid dimension."""

SUBNORMAL_FP16: Final = (0x0000, 0x0001, 0x0002, 0x0155, 0x0200, 0x03FF, 0x0400, 0x0401)
"""Zero, subnormal numbers and the two smallest normal numbers of binary16."""

SMALL_BF16: Final = (0x0000, 0x2D80, 0x2DFF, 0x2E01, 0x2EAA, 0x2F00, 0x2F7F, 0x2F80)
"""Zero and small bfloat16 numbers of like magnitude."""


def normal_rows(seed: int, *shape: int) -> F32:
    """N(0, 1) values."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def unambiguous_rows(seed: int, n: int, margin: Callable[[F32], F64]) -> F32:
    """[n, 128] normal rows whose encoding float32 rounding cannot change."""
    rows = normal_rows(seed, n + n // 4 + 16, HEAD_DIM)
    kept = rows[margin(rows) >= MARGIN]
    if len(kept) < n:
        raise ValueError(f"only {len(kept)} of {len(rows)} rows are unambiguous, {n} wanted")
    return kept[:n]


def special_rows(seed: int, margin: Callable[[F32], F64]) -> F32:
    """[14, 128]: zero, all elements equal, one element only, and norms from below binary16's range to its upper part.

    The equal rows use values with few mantissa bits, so that their transforms are exact and ties are true ties.
    """
    plain = unambiguous_rows(seed, 1, margin)
    fixed = np.zeros((4, HEAD_DIM), dtype=np.float32)
    fixed[1], fixed[2], fixed[3, 17] = 1.0, -2.5, -2.5
    scales = np.array([1e-8, 1e-7, 1e-6, 3e-5, 300.0], dtype=np.float32)
    scaled = [_scaled_row(seed + i, scale, margin) for i, scale in enumerate(scales, start=1)]
    alternating = _scaled_row(seed + 9, np.float32(1), margin, zeros=slice(1, None, 2))
    lone_block = _scaled_row(seed + 10, np.float32(1), margin, zeros=slice(32, None))
    tail_block = _scaled_row(seed + 11, np.float32(1), margin, zeros=slice(None, 96))
    return np.concatenate((plain, fixed, *scaled, alternating, lone_block, tail_block, -plain))


def _scaled_row(seed: int, scale: np.float32, margin: Callable[[F32], F64], zeros: slice = slice(0, 0)) -> F32:
    rows = normal_rows(seed, 32, HEAD_DIM) * scale
    rows[:, zeros] = 0
    return rows[margin(rows) >= MARGIN][:1]


def fp16_blocks(seed: int, n: int, block_bytes: int, norms: tuple[int, ...] | None = None) -> U8:
    """[n, block_bytes] blocks of random codes; bytes 0..1 are a binary16 norm, random or cycling through `norms`."""
    rng = np.random.default_rng(seed)
    blocks = rng.integers(0, 256, (n, block_bytes), dtype=np.uint8)
    blocks[:, :2] = common.fp16_bytes(rng.uniform(0.5, 2.0, n)) if norms is None else _cycle(norms, n)
    return blocks


def bf16_blocks(seed: int, n: int, block_bytes: int, norms: tuple[int, ...] | None = None) -> U8:
    """The same with a bfloat16 norm in the last two bytes."""
    rng = np.random.default_rng(seed)
    blocks = rng.integers(0, 256, (n, block_bytes), dtype=np.uint8)
    random = common.bf16_bytes(rng.uniform(0.5, 2.0, n).astype(np.float32))
    blocks[:, -2:] = random if norms is None else _cycle(norms, n)
    return blocks


def _cycle(bits: tuple[int, ...], n: int) -> U8:
    return np.resize(np.array(bits, dtype="<u2"), n)[:, None].view(np.uint8)


def repeat_index(n: int) -> Ints:
    """Row numbers of n rows that repeat the first `UNIQUE_ROWS`."""
    return np.arange(n) % UNIQUE_ROWS
