"""TBQ3_TCQ: trellis-coded quantization of a 128-element row, 3 bits a step, 512 states, 52 bytes a block.

Block: binary16 corrected norm; a little-endian bit stream of 390 bits in 49 bytes (6 bits of the initial state, then
128 symbols of 3 bits); one zero byte. The state at step t is the 9-bit window at stream bit 3t and selects a codebook
value. Decoded values stay in the rotated basis of `rotate`, and so must the query of a score.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shaderc_tool.verify.references import common
from shaderc_tool.verify.references.common import F32, F64, HEAD_DIM, U8, FloatT, Ints, hadamard

BLOCK_BYTES: Final = 52
STATES: Final = 512
SIGNS1: Final = common.sign_vector(
    "-++--+-+--+++++++-+-+--+++-++----++-++-+-++--+-++++-----+-++++-+"
    "--+---+---+---+++--+++--++-++-+--++-+-+-++++-+-++-++-----++-++-+"
)
SIGNS2: Final = common.sign_vector(
    "++++-++-+---+---++--+-+-+--+-+++++---+------+++-+-+++--+------++"
    "+-+----+-+-+--++-+-++-+----+--+-+-+++--+-+-++--+-+-++-+-+-----+-"
)
_SCALE: Final = 0.08838834764831845  # 1/sqrt(128)
_SMALLEST_NORM: Final = 1e-10  # rows below are encoded as zero


@cache
def codebook() -> F32:
    """The 512 codebook values, index = state. Credit: spiritbuun (see NOTICE)."""
    text = resources.files("shaderc_tool.verify.references").joinpath("tcq_codebook.txt").read_text("ascii")
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return np.array([float(v) for line in lines for v in line.split()], dtype=np.float32)


def rotate(x: NDArray[FloatT]) -> NDArray[FloatT]:
    """Orthogonal rotation S2 · H / sqrt(128) · S1 of the last axis, in the precision of `x`."""
    kind = x.dtype.type
    y: NDArray[FloatT] = hadamard(x * SIGNS1.astype(kind)) * SIGNS2.astype(kind) * kind(_SCALE)
    return y


def encode(rows: F32) -> U8:
    """[n, 128] float32 (not rotated) → [n, 52], by the Viterbi algorithm over all 512 start states.

    Costs are float32 like the production quantizer's: a row of zeros is a tie of many paths that only the rounding
    of the running cost decides.
    """
    norms = common.row_norms(rows.astype(np.float64))
    unit = rows.astype(np.float64) / np.maximum(norms, _SMALLEST_NORM)[:, None]
    unit[norms <= _SMALLEST_NORM] = 0
    states = _best_path(rotate(unit.astype(np.float32)))
    length = common.row_norms(codebook()[states].astype(np.float64))
    norm = np.where(length <= _SMALLEST_NORM, norms, norms / length)
    return np.concatenate((common.fp16_bytes(norm), _pack(states)), axis=-1)


def _best_path(y: F32) -> Ints:
    """States [n, 128] of the cheapest path; ties keep the smallest predecessor and the smallest final state."""
    book = codebook()
    state = np.arange(STATES)
    predecessors = ((state & 63) << 3)[:, None] | np.arange(8)
    cost = np.zeros((len(y), STATES), dtype=np.float32)
    choice = np.empty((HEAD_DIM, len(y), STATES), dtype=np.uint8)
    for t in range(HEAD_DIM):
        incoming = cost[:, predecessors]
        choice[t] = incoming.argmin(axis=-1)
        cost = incoming.min(axis=-1) + np.square(y[:, t, None] - book)
    states = np.empty((len(y), HEAD_DIM), dtype=np.int64)
    current = cost.argmin(axis=-1)
    row = np.arange(len(y))
    for t in reversed(range(HEAD_DIM)):
        states[:, t] = current
        current = ((current & 63) << 3) | choice[t, row, current]
    return states


def _pack(states: Ints) -> U8:
    """[n, 128] states → [n, 50]: the bit stream of 49 bytes and the zero byte."""
    first = (states[:, :1] >> np.arange(6)) & 1  # the six older bits of the first 9-bit window
    symbols = (states[..., None] >> np.arange(6, 9)) & 1
    bits = np.concatenate((first, symbols.reshape(len(states), -1)), axis=-1)
    return np.pad(np.packbits(bits, axis=-1, bitorder="little"), ((0, 0), (0, 1)))


def _states(blocks: U8) -> Ints:
    bits = np.unpackbits(blocks[:, 2:51], axis=-1, bitorder="little").astype(np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(bits, 9, axis=-1)[:, : 3 * HEAD_DIM : 3]
    states: Ints = (windows << np.arange(9)).sum(axis=-1)
    return states


def decode(blocks: U8) -> F64:
    """[n, 52] → [n, 128] float64, in the rotated basis."""
    return codebook().astype(np.float64)[_states(blocks)] * common.fp16_value(blocks[:, :2])[:, None]


def score_terms(q_rotated: F64, blocks: U8) -> F64:
    """The 128 products whose sum is the score of each row; q already rotated. [128], [n, 52] → [n, 128]."""
    return decode(blocks) * q_rotated
