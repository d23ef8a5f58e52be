"""QJL1_256: the signs of 256 random projections of a 128-element key, and its norm as bfloat16; 34 bytes a block.

Sign j is bit j & 7 of byte j >> 3, 1 for a positive projection; bytes 32..33 hold the norm. A query takes part as its
sketch, q @ projection. The projection matrix [128, 256] belongs to the model and is an input everywhere.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from shaderc_tool.verify.references import common
from shaderc_tool.verify.references.common import F32, F64, U8

PROJ_DIM: Final = 256
BLOCK_BYTES: Final = 34
SCALE: Final = math.sqrt(math.pi / 2) / PROJ_DIM


def encode(rows: F32, projection: F32) -> U8:
    """[n, 128], [128, 256] → [n, 34]. A projection of exactly zero gives bit 0."""
    bits = rows.astype(np.float64) @ projection.astype(np.float64) > 0
    norms = common.row_norms(rows.astype(np.float64)).astype(np.float32)
    return np.concatenate((np.packbits(bits, axis=-1, bitorder="little"), common.bf16_bytes(norms)), axis=-1)


def _signs(blocks: U8) -> F64:
    return np.unpackbits(blocks[..., :32], axis=-1, bitorder="little").astype(np.float64) * 2 - 1


def _scaled_signs(blocks: U8) -> F64:
    return _signs(blocks) * (SCALE * common.bf16_value(blocks[..., 32:]))[..., None]


def decode(blocks: U8, projection: F32) -> F64:
    """get_rows: [n, 34], [128, 256] → [n, 128]."""
    rows: F64 = _scaled_signs(blocks) @ projection.astype(np.float64).T
    return rows


def mul_mv(blocks: U8, sketch: F64) -> F64:
    """[n, 34], [256] → [n]: estimates of ⟨key, query⟩."""
    estimates: F64 = _scaled_signs(blocks) @ sketch
    return estimates


def scores(sketches: F64, blocks: U8) -> F64:
    """Attention scores with grouped queries: [heads, 256], [kv_heads, tokens, 34] → [heads, tokens].

    Query head h reads key head h // (heads / kv_heads).
    """
    group = len(sketches) // len(blocks)
    return np.stack([mul_mv(blocks[h // group], sketch) for h, sketch in enumerate(sketches)])


def margin(rows: F32, projection: F32) -> F64:
    """How far each row is from another encoding: [n].

    Smallest projection over the row's norm, and the relative distance of the norm to a bfloat16 rounding point.
    """
    exact = rows.astype(np.float64)
    norms = common.row_norms(exact)
    projected = np.abs(exact @ projection.astype(np.float64)).min(axis=-1)
    relative = np.where(norms == 0, np.inf, projected / np.where(norms == 0, 1, norms))
    return np.minimum(relative, common.rounding_distance(norms, 7, -126))
