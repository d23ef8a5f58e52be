"""TBQ3_0 and TBQ4_0: 32-element blocks, a Hadamard rotation per block, Lloyd-Max codes of 3 or 4 bits.

A row of 128 elements is four blocks. Each block holds the binary16 root mean square `d` of the rotated elements,
then the codes: TBQ3_0 as one little-endian stream of 3-bit codes, TBQ4_0 as nibbles, elements 0..15 low and 16..31
high.

The codes divide by the root mean square *before* it is rounded to binary16; only then do the bytes equal the production
quantizer's where d is a subnormal binary16.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from shaderc_tool.verify.references import common
from shaderc_tool.verify.references.common import F32, F64, HEAD_DIM, U8, FloatT, Ints, hadamard, nearest_code

BLOCK: Final = 32
SIGNS: Final = common.sign_vector("+-++-+--++-+--+--++-+--++-+--+-+")
_SCALE: Final = 0.1767766952966369  # 1/sqrt(32)

_HALF3: Final = (0.2450942, 0.7560053, 1.3439093, 2.1519457)
_HALF4: Final = (0.1283243, 0.3878412, 0.6564307, 0.9419147, 1.2557391, 1.6175243, 2.0685055, 2.7321365)


@dataclass(frozen=True)
class TbqFormat:
    """One member of the family; `bits` per code decides codebook and packing."""

    bits: int

    @property
    def block_bytes(self) -> int:
        return 2 + BLOCK * self.bits // 8

    @property
    def blocks_per_row(self) -> int:
        return HEAD_DIM // BLOCK

    @property
    def row_bytes(self) -> int:
        return self.block_bytes * self.blocks_per_row

    @property
    def centroids(self) -> F64:
        half = np.array(_HALF3 if self.bits == 3 else _HALF4)
        return np.concatenate((-half[::-1], half))

    @property
    def midpoints(self) -> F64:
        c = self.centroids
        return (c[1:] + c[:-1]) / 2

    def encode(self, rows: F32) -> U8:
        """[n, 128] float32 → [n, row_bytes]; a block of zeros has d = 0 and all codes 0."""
        y = hadamard(_blocks(rows) * SIGNS.astype(np.float32)) * np.float32(_SCALE)
        rms = np.sqrt(np.square(y).mean(axis=-1, dtype=np.float64)).astype(np.float32)
        inverse = np.float32(1) / np.where(rms == 0, np.float32(1), rms)
        codes = nearest_code(y * inverse[..., None], self.midpoints.astype(np.float32))
        codes = np.where(rms[..., None] == 0, 0, codes)
        packed = np.concatenate((common.fp16_bytes(rms), self.pack(codes)), axis=-1)
        return packed.reshape(len(rows), self.row_bytes)

    def rotated(self, blocks: U8) -> F64:
        """[n, row_bytes] → [n, 128] decoded values in the rotated basis: d times the centroid."""
        b = blocks.reshape(-1, self.blocks_per_row, self.block_bytes)
        d = common.fp16_value(b[..., :2])
        return (d[..., None] * self.centroids[self.unpack(b[..., 2:])]).reshape(-1, HEAD_DIM)

    def decode(self, blocks: U8) -> F64:
        """[n, row_bytes] → [n, 128] float64."""
        y = hadamard(_blocks(self.rotated(blocks))) * _SCALE * SIGNS
        return y.reshape(-1, HEAD_DIM)

    def rotate_query(self, q: F64) -> F64:
        """The rotation that a kernel applies to q: ⟨q, decode(k)⟩ = ⟨rotate_query(q), rotated(k)⟩. [..., 128]."""
        y = hadamard(_blocks(q) * SIGNS) * _SCALE
        return y.reshape(q.shape)

    def score_terms(self, q: F64, blocks: U8) -> F64:
        """The 128 products whose sum is the score of each row; q as the caller passes it. [128], [n, row_bytes]."""
        return self.rotated(blocks) * self.rotate_query(q)

    def margin(self, rows: F32) -> F64:
        """How far each row is from another encoding, in units of d: [n].

        Distance of the scaled elements to the nearest code boundary, and of d to the nearest binary16 rounding point.
        """
        y = hadamard(_blocks(rows.astype(np.float64)) * SIGNS) * _SCALE
        rms = np.sqrt(np.square(y).mean(axis=-1))
        scaled = y / np.where(rms == 0, 1, rms)[..., None]
        codes = common.boundary_distance(scaled, self.midpoints).min(axis=-1)
        margins: F64 = np.minimum(codes, common.rounding_distance(rms, 10, -14)).min(axis=-1)
        return margins

    def pack(self, codes: Ints) -> U8:
        if self.bits == 4:
            return (codes[..., :16] | codes[..., 16:] << 4).astype(np.uint8)
        bits = (codes[..., None] >> np.arange(3)) & 1
        return np.packbits(bits.reshape(*codes.shape[:-1], 3 * BLOCK), axis=-1, bitorder="little")

    def unpack(self, qs: U8) -> Ints:
        if self.bits == 4:
            return np.concatenate((qs & 15, qs >> 4), axis=-1).astype(np.int64)
        bits = np.unpackbits(qs, axis=-1, bitorder="little").reshape(*qs.shape[:-1], BLOCK, 3)
        codes: Ints = (bits.astype(np.int64) << np.arange(3)).sum(axis=-1)
        return codes


TBQ3: Final = TbqFormat(bits=3)
TBQ4: Final = TbqFormat(bits=4)


def _blocks(rows: NDArray[FloatT]) -> NDArray[FloatT]:
    return rows.reshape(-1, HEAD_DIM // BLOCK, BLOCK)
