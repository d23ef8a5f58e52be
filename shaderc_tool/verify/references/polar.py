"""Q4_POLAR: a 128-element row as its norm and 4-bit codes of its direction after a Hadamard transform; 82 bytes.

Block: binary16 norm; 64 bytes of codes, element 2i in the low nibble of byte i; 16 bytes of which only bit 0 of the
first is used, the sign of the residual along a fixed sign vector. A decoder may ignore it (`residual=False`).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from shaderc_tool.verify.references import common
from shaderc_tool.verify.references.common import F32, F64, HEAD_DIM, U8, hadamard, nearest_code

BLOCK_BYTES: Final = 82
_HALF: Final = np.array(
    (0.131757782, 0.397897103, 0.672392117, 0.962640978, 1.279739752, 1.643041510, 2.093562707, 2.754354807)
)
_HALF_BOUNDS: Final = np.array(
    (0.264827443, 0.535144610, 0.817516548, 1.121190365, 1.461390631, 1.868302108, 2.423958757)
)
CENTROIDS: Final = np.concatenate((-_HALF[::-1], _HALF))
BOUNDARIES: Final = np.concatenate((-_HALF_BOUNDS[::-1], (0.0,), _HALF_BOUNDS))
RESIDUAL: Final = 0.5 / math.sqrt(HEAD_DIM)


def _residual_signs() -> F64:
    """The 128 signs of a xorshift32 stream (13, 17, 5) with seed 42: positive when the state is odd."""
    state = 42
    signs = []
    for _ in range(HEAD_DIM):
        state ^= (state << 13) & 0xFFFFFFFF
        state ^= state >> 17
        state ^= (state << 5) & 0xFFFFFFFF
        signs.append(1.0 if state & 1 else -1.0)
    return np.array(signs)


SIGNS: Final = _residual_signs()


def encode(rows: F32) -> U8:
    """[n, 128] float32 → [n, 82]; a value on a code boundary takes the lower code, a residual of zero gives bit 1."""
    norms = common.row_norms(rows.astype(np.float64)).astype(np.float32)
    inverse = np.float32(1) / np.where(norms == 0, np.float32(1), norms)
    y = hadamard(rows * inverse[:, None])
    codes = nearest_code(y, BOUNDARIES.astype(np.float32))
    along = ((y - CENTROIDS[codes]) * SIGNS).sum(axis=-1)
    blocks = np.zeros((len(rows), BLOCK_BYTES), dtype=np.uint8)
    blocks[:, :2] = common.fp16_bytes(norms)
    blocks[:, 2:66] = codes[:, ::2] | codes[:, 1::2] << 4
    blocks[:, 66] = along >= 0
    return blocks


def _transformed(blocks: U8, residual: bool) -> F64:
    """The row before the inverse transform: z · d / 128, [n, 128]."""
    codes = np.stack((blocks[:, 2:66] & 15, blocks[:, 2:66] >> 4), axis=-1).reshape(-1, HEAD_DIM)
    z = CENTROIDS[codes]
    if residual:
        z += np.where(blocks[:, 66:67] & 1, RESIDUAL, -RESIDUAL) * SIGNS
    return z * (common.fp16_value(blocks[:, :2]) / HEAD_DIM)[:, None]


def decode(blocks: U8, *, residual: bool) -> F64:
    """get_rows: [n, 82] → [n, 128]."""
    return hadamard(_transformed(blocks, residual))


def mul_mv_terms(blocks: U8, q_transformed: F64, *, residual: bool) -> F64:
    """The 128 products whose sum is ⟨decode(row), q⟩, for `q_transformed` = hadamard(q): [n, 128]."""
    return _transformed(blocks, residual) * q_transformed


def margin(rows: F32) -> F64:
    """How far each row is from another encoding: [n].

    Distance of the transformed direction (unit variance) to a code boundary, of the residual to zero, and of the norm
    to a binary16 rounding point.
    """
    exact = rows.astype(np.float64)
    norms = common.row_norms(exact)
    # Scaled after the transform, so that exact cancellation stays an exact zero.
    y = hadamard(exact) / np.where(norms == 0, 1, norms)[:, None]
    codes = nearest_code(y, BOUNDARIES)
    residual: F64 = np.abs(((y - CENTROIDS[codes]) * SIGNS).sum(axis=-1))
    distance = common.boundary_distance(y, BOUNDARIES).min(axis=-1)
    margins: F64 = np.minimum(np.minimum(distance, residual), common.rounding_distance(norms, 10, -14))
    return margins
