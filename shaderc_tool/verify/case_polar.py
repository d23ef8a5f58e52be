"""Cases of the Q4_POLAR kernels that read blocks: mul_mv with a plain or a transformed query, and get_rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from shaderc_tool.verify import case_data as data
from shaderc_tool.verify.case import UNTOUCHED, Case, dot_tolerance
from shaderc_tool.verify.references import polar
from shaderc_tool.verify.references.common import HEAD_DIM, U8, hadamard


@dataclass(frozen=True)
class Shape:
    """Rows of one product, where they start, and whether the residual takes part. Offsets of q and y count floats."""

    name: str
    n_rows: int
    residual: bool = False
    k_offset_bytes: int = 0
    q_offset: int = 0
    y_offset: int = 0
    norms: tuple[int, ...] | None = None


_SHAPES: Final = (
    Shape("n1", 1),
    Shape("n7-residual", 7, residual=True),
    Shape("n33", 33),
    Shape("n33-residual", 33, residual=True),
    Shape("n4099", 4099),
    Shape("n4099-residual", 4099, residual=True),
    Shape("subnormal-norms-n33-residual", 33, residual=True, norms=data.SUBNORMAL_FP16),
    Shape("offsets-n7", 7, k_offset_bytes=3 * polar.BLOCK_BYTES, q_offset=HEAD_DIM, y_offset=5),
    Shape("offset-in-y-only-n7-residual", 7, residual=True, y_offset=3),
    Shape("n70000", data.LARGE),
)


def mul_mv_cases(*, transformed: bool) -> Iterator[Case]:
    """One row per workgroup; `transformed` passes hadamard(q) instead of q."""
    for seed, shape in enumerate(_SHAPES, start=300):
        yield _mul_mv_case(shape, seed, transformed)


def _mul_mv_case(shape: Shape, seed: int, transformed: bool) -> Case:
    before = shape.k_offset_bytes // polar.BLOCK_BYTES
    blocks = _blocks(seed, before + min(shape.n_rows, data.UNIQUE_ROWS), shape.norms)
    stored = data.normal_rows(seed + 1000, shape.q_offset + HEAD_DIM)
    q = stored[shape.q_offset :].astype(np.float64)
    spectrum = q if transformed else hadamard(q)
    terms = polar.mul_mv_terms(blocks[before:], spectrum, residual=shape.residual)
    index = data.repeat_index(shape.n_rows)
    initial = np.full(shape.y_offset + shape.n_rows, UNTOUCHED, dtype=np.float32)
    expected = initial.astype(np.float64)
    expected[shape.y_offset :] = terms.sum(axis=-1)[index]
    return Case(
        name=shape.name,
        buffers={"k": np.concatenate((blocks[:before], blocks[before:][index])).reshape(-1), "q": stored},
        params={
            "n_rows": shape.n_rows,
            "head_dim": HEAD_DIM,
            "use_qjl": int(shape.residual),
            "k_offset_bytes": shape.k_offset_bytes,
            "q_offset": shape.q_offset,
            "y_offset": shape.y_offset,
        },
        expected={"y": expected},
        atol=dot_tolerance(terms),
        initial={"y": initial} if shape.y_offset else {},
        large=shape.n_rows > 65535,
    )


def _blocks(seed: int, n: int, norms: tuple[int, ...] | None) -> U8:
    blocks = data.fp16_blocks(seed, n, polar.BLOCK_BYTES, norms)
    blocks[:, 66] &= 1
    blocks[:, 67:] = 0  # reserved
    return blocks


def get_rows_cases() -> Iterator[Case]:
    """Workgroup i decodes block i into row i: one block as the first project dispatched it, then many."""
    shapes = (("one-block", 1, None), ("33-blocks", 33, None), ("subnormal-norms", 8, data.SUBNORMAL_FP16))
    for seed, (name, n, norms) in enumerate(shapes, start=340):
        blocks = _blocks(seed, n, norms)
        for residual in (False, True):
            # Every output is a sum of all 128 coordinates: the product with a query of ones bounds its terms.
            terms = polar.mul_mv_terms(blocks, np.ones(HEAD_DIM), residual=residual)
            yield Case(
                name=f"{name}-residual" if residual else name,
                buffers={"block": blocks.reshape(-1)},
                params={"head_dim": HEAD_DIM, "use_qjl": int(residual), "n_rows": n},
                expected={"out": polar.decode(blocks, residual=residual).reshape(-1)},
                atol=dot_tolerance(terms),
            )
