"""Cases of the kernels that write: set_rows of four formats, and the rotation of TBQ3_TCQ queries.

Encoders must give the reference's bytes exactly. Their inputs stay clear of decision boundaries (`case_data.MARGIN`),
so that no order of float32 operations may choose another code; ties occur only where the arithmetic is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from shaderc_tool.verify import case_data as data
from shaderc_tool.verify.case import Case, dot_tolerance
from shaderc_tool.verify.references import polar, qjl, tcq
from shaderc_tool.verify.references.common import F32, F64, HEAD_DIM, U8
from shaderc_tool.verify.references.tbq import TBQ3, TBQ4

UNTOUCHED_BYTE: Final = 0xA5
_PROJECTION: Final = data.normal_rows(400, HEAD_DIM, qjl.PROJ_DIM)


@dataclass(frozen=True)
class Encoder:
    """What the set_rows cases need to know of a format."""

    row_bytes: int
    encode: Callable[[F32], U8]
    margin: Callable[[F32], F64]
    projection: bool = False


ENCODERS: Final = {
    "turbo3_set_rows": Encoder(TBQ3.row_bytes, TBQ3.encode, TBQ3.margin),
    "turbo4_set_rows": Encoder(TBQ4.row_bytes, TBQ4.encode, TBQ4.margin),
    "qjl_set_rows": Encoder(
        qjl.BLOCK_BYTES,
        partial(qjl.encode, projection=_PROJECTION),
        partial(qjl.margin, projection=_PROJECTION),
        projection=True,
    ),
    "polar_set_rows": Encoder(polar.BLOCK_BYTES, polar.encode, polar.margin),
}


def set_rows_cases(name: str) -> Iterator[Case]:
    """Source row i goes to destination row rows[i]; rows that nobody names stay as they are."""
    encoder = ENCODERS[name]
    for n in (1, 7, 33, 1025):
        yield _set_rows_case(encoder, f"n{n}", data.unambiguous_rows(410 + n, n, encoder.margin))
    yield _set_rows_case(encoder, "special-rows", data.special_rows(430, encoder.margin))
    yield _set_rows_case(encoder, "n70000", data.unambiguous_rows(440, 257, encoder.margin), repeat=data.LARGE)


def _set_rows_case(encoder: Encoder, name: str, unique: F32, repeat: int | None = None) -> Case:
    n = repeat or len(unique)
    index = np.arange(n) % len(unique)
    rows = np.random.default_rng(450 + n).permutation(n + 5)[:n].astype(np.uint32)
    initial = np.full((n + 5, encoder.row_bytes), UNTOUCHED_BYTE, dtype=np.uint8)
    expected = initial.copy()
    expected[rows] = encoder.encode(unique)[index]
    buffers = {"src": unique[index].reshape(-1), "rows": rows}
    params = {"n_rows": n, "head_dim": HEAD_DIM}
    if encoder.projection:
        buffers["projection"] = _PROJECTION.reshape(-1)
        params["proj_dim"] = qjl.PROJ_DIM
    return Case(
        name=name,
        buffers=buffers,
        params=params,
        expected={"dst": expected.reshape(-1)},
        initial={"dst": initial.reshape(-1)},
        large=n > 65535,
    )


def rotate_cases() -> Iterator[Case]:
    """R(q) for each row of 128; the case with a single one in each row gives the columns of the rotation."""
    inputs = [(f"n{n}", data.normal_rows(460 + n, n, HEAD_DIM), n) for n in (1, 7, 33)]
    inputs.append(("unit-vectors", np.eye(HEAD_DIM, dtype=np.float32), HEAD_DIM))
    inputs.append(("n70000", data.normal_rows(470, 257, HEAD_DIM), data.LARGE))
    for name, unique, n in inputs:
        yield Case(
            name=name,
            buffers={"q": np.resize(unique, (n, HEAD_DIM)).reshape(-1)},
            params={"n_rows": n, "head_dim": HEAD_DIM},
            expected={"out": np.resize(tcq.rotate(unique.astype(np.float64)), (n, HEAD_DIM)).reshape(-1)},
            atol=dot_tolerance(unique.astype(np.float64)) / np.sqrt(HEAD_DIM),
            large=n > 65535,
        )
