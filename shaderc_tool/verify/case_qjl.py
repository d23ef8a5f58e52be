"""Cases of the QJL1_256 kernels that read blocks: score, multi-row score, get_rows and mul_mv."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from shaderc_tool.verify import case_data as data
from shaderc_tool.verify.case import Case, dot_tolerance
from shaderc_tool.verify.references import common, qjl
from shaderc_tool.verify.references.common import F64, HEAD_DIM, U8


@dataclass(frozen=True)
class Shape:
    """Heads and tokens of one score dispatch."""

    name: str
    tokens: int
    heads: int = 1
    kv_heads: int = 1
    norms: tuple[int, ...] | None = None


_SINGLE: Final = (
    Shape("n1", 1),
    Shape("n7-3-heads", 7, heads=3),
    Shape("n33", 33),
    Shape("n4099", 4099),
    Shape("gqa-8q-2kv-n33", 33, heads=8, kv_heads=2),
    Shape("gqa-32q-8kv-n7", 7, heads=32, kv_heads=8),
    Shape("small-norms-n33", 33, norms=data.SMALL_BF16),
    Shape("n70000", data.LARGE),
)

_MULTI: Final = (
    (Shape("n1", 1), 4),
    (Shape("n7-3-heads", 7, heads=3), 1),
    (Shape("n33", 33), 64),
    (Shape("n4099", 4099), 64),
    (Shape("gqa-8q-2kv-n33", 33, heads=8, kv_heads=2), 5),
    (Shape("small-norms-n33", 33, norms=data.SMALL_BF16), 8),
    (Shape("n70000", data.LARGE), 1),
)


def score_cases() -> Iterator[Case]:
    """One token and head per workgroup."""
    for seed, shape in enumerate(_SINGLE, start=200):
        yield _score_case(shape, seed)


def multi_cases() -> Iterator[Case]:
    """`tokens_per_threadgroup` tokens of one head per workgroup."""
    for seed, (shape, tokens) in enumerate(_MULTI, start=220):
        yield _score_case(shape, seed, tokens)


def _score_case(shape: Shape, seed: int, per_group: int | None = None) -> Case:
    unique = min(shape.tokens, data.UNIQUE_ROWS)
    blocks = data.bf16_blocks(seed, shape.kv_heads * unique, qjl.BLOCK_BYTES, shape.norms)
    by_head = blocks.reshape(shape.kv_heads, unique, qjl.BLOCK_BYTES)
    sketches = data.normal_rows(seed + 1000, shape.heads, qjl.PROJ_DIM)
    index = data.repeat_index(shape.tokens)
    scores = qjl.scores(sketches.astype(np.float64), by_head)[:, index]
    params = {
        "n_heads": shape.heads,
        "n_kv_heads": shape.kv_heads,
        "n_tokens": shape.tokens,
        "proj_dim": qjl.PROJ_DIM,
    }
    name = shape.name
    if per_group is not None:
        params["tokens_per_threadgroup"] = per_group
        name = f"{name}-by-{per_group}"
    return Case(
        name=name,
        buffers={"q_sketch": sketches.reshape(-1), "packed_k": by_head[:, index].reshape(-1)},
        params=params,
        expected={"scores": scores.reshape(-1)},
        atol=_tolerance(blocks, sketches.astype(np.float64)),
        large=shape.tokens > 65535,
    )


def _tolerance(blocks: U8, vectors: F64) -> float:
    """Bound for sums of ± `vectors` scaled by the blocks' norms."""
    return dot_tolerance(vectors) * qjl.SCALE * float(common.bf16_value(blocks[:, 32:]).max())


def get_rows_cases() -> Iterator[Case]:
    """Workgroup i decodes block i into row i: one block as the first project dispatched it, then many."""
    projection = data.normal_rows(240, HEAD_DIM, qjl.PROJ_DIM)
    for seed, (name, n, norms) in enumerate(
        (("one-block", 1, None), ("33-blocks", 33, None), ("small-norms", 8, data.SMALL_BF16)), start=241
    ):
        blocks = data.bf16_blocks(seed, n, qjl.BLOCK_BYTES, norms)
        yield Case(
            name=name,
            buffers={"block": blocks.reshape(-1), "projection": projection.reshape(-1)},
            params={"head_dim": HEAD_DIM, "proj_dim": qjl.PROJ_DIM, "n_rows": n},
            expected={"out": qjl.decode(blocks, projection).reshape(-1)},
            atol=_tolerance(blocks, projection.astype(np.float64)),
        )


def mul_mv_cases() -> Iterator[Case]:
    """One row per workgroup."""
    for seed, (n, norms) in enumerate(
        ((1, None), (7, None), (33, data.SMALL_BF16), (4099, None), (data.LARGE, None)), start=250
    ):
        blocks = data.bf16_blocks(seed, min(n, data.UNIQUE_ROWS), qjl.BLOCK_BYTES, norms)
        sketch = data.normal_rows(seed + 1000, qjl.PROJ_DIM)
        index = data.repeat_index(n)
        yield Case(
            name=f"n{n}" if norms is None else f"small-norms-n{n}",
            buffers={"k": blocks[index].reshape(-1), "q_sketch": sketch},
            params={"n_rows": n, "proj_dim": qjl.PROJ_DIM},
            expected={"y": qjl.mul_mv(blocks, sketch.astype(np.float64))[index]},
            atol=_tolerance(blocks, sketch.astype(np.float64)),
            large=n > 65535,
        )
