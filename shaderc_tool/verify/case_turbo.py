"""Cases of the score kernels for TBQ3_0, TBQ4_0 and TBQ3_TCQ, single-row and multi-row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shaderc_tool.verify import case_data as data
from shaderc_tool.verify.case import UNTOUCHED, Case, dot_tolerance
from shaderc_tool.verify.references import tcq
from shaderc_tool.verify.references.common import F32, F64, HEAD_DIM, U8
from shaderc_tool.verify.references.tbq import TBQ3, TBQ4


@dataclass(frozen=True)
class DotFormat:
    """What the score cases need to know of a format."""

    block_bytes: int
    blocks_per_row: int
    encode: Callable[[F32], U8]
    terms: Callable[[F64, U8], F64]
    codebook: bool = False


FORMATS: Final = {
    "turbo3": DotFormat(TBQ3.block_bytes, TBQ3.blocks_per_row, TBQ3.encode, TBQ3.score_terms),
    "turbo4": DotFormat(TBQ4.block_bytes, TBQ4.blocks_per_row, TBQ4.encode, TBQ4.score_terms),
    "turbo3_tcq": DotFormat(tcq.BLOCK_BYTES, 1, tcq.encode, tcq.score_terms, codebook=True),
}


@dataclass(frozen=True)
class Cache:
    """Shape of a key cache and the head that one dispatch scores.

    `gap_blocks` are unused blocks after the heads of each row: they make the row stride odd.
    """

    name: str
    n_kv: int
    q_heads: int = 1
    kv_heads: int = 1
    q_head: int = 0
    gap_blocks: int = 0
    norms: tuple[int, ...] | None = None

    @property
    def kv_head(self) -> int:
        return self.q_head // (self.q_heads // self.kv_heads)


_SINGLE: Final = (
    Cache("n1", 1),
    Cache("n7", 7),
    Cache("n33", 33),
    Cache("n4099", 4099),
    Cache("q-head-3-of-4-n7", 7, q_heads=4, q_head=3),
    Cache("gqa-8q-2kv-head-5-n33", 33, q_heads=8, kv_heads=2, q_head=5),
    Cache("gqa-32q-8kv-head-31-n7", 7, q_heads=32, kv_heads=8, q_head=31),
    Cache("odd-stride-offset-n33", 33, q_heads=3, kv_heads=3, q_head=1, gap_blocks=1),
    Cache("subnormal-norms-n33", 33, norms=data.SUBNORMAL_FP16),
    Cache("n70000", data.LARGE),
)

_MULTI: Final = (
    (Cache("n1", 1), 4),
    (Cache("n7", 7), 1),
    (Cache("n33", 33), 8),
    (Cache("n4099", 4099), 16),
    (Cache("n7", 7), 32),
    (Cache("gqa-8q-2kv-head-5-n33", 33, q_heads=8, kv_heads=2, q_head=5), 3),
    (Cache("odd-stride-offset-n33", 33, q_heads=3, kv_heads=3, q_head=1, gap_blocks=1), 5),
    (Cache("subnormal-norms-n33", 33, norms=data.SUBNORMAL_FP16), 32),
    (Cache("n70000", data.LARGE), 1),
)


def single(name: str) -> Iterator[Case]:
    """Cases of the kernel that scores one row per workgroup."""
    for seed, cache in enumerate(_SINGLE):
        yield _random_case(FORMATS[name], cache, seed)
    yield _encoded_case(FORMATS[name])


def multi(name: str) -> Iterator[Case]:
    """Cases of the kernel that scores `blocks_per_threadgroup` rows per workgroup."""
    for seed, (cache, rows) in enumerate(_MULTI, start=100):
        yield _random_case(FORMATS[name], cache, seed, rows)


def _random_case(fmt: DotFormat, cache: Cache, seed: int, per_group: int | None = None) -> Case:
    stride = cache.kv_heads * fmt.blocks_per_row + cache.gap_blocks
    unique = min(cache.n_kv, data.UNIQUE_ROWS)
    blocks = data.fp16_blocks(seed, unique * stride, fmt.block_bytes, cache.norms).reshape(unique, stride, -1)
    q = data.normal_rows(seed + 1000, cache.q_heads, HEAD_DIM)
    first = cache.kv_head * fmt.blocks_per_row
    rows = blocks[:, first : first + fmt.blocks_per_row].reshape(unique, -1)
    terms = fmt.terms(q[cache.q_head].astype(np.float64), rows)
    index = data.repeat_index(cache.n_kv)
    return _case(fmt, cache, q, blocks[index], terms.sum(axis=-1)[index], dot_tolerance(terms), per_group)


def _encoded_case(fmt: DotFormat) -> Case:
    """Rows through the encoder: zeros, equal elements, small norms."""
    special = data.special_rows(7, _every_row)
    special = special[np.abs(special).max(axis=-1) < 100]  # a large row would loosen the tolerance of all
    keys = np.concatenate((special, data.normal_rows(8, 20, HEAD_DIM)))
    q = data.normal_rows(9, 1, HEAD_DIM)
    blocks = fmt.encode(keys)
    terms = fmt.terms(q[0].astype(np.float64), blocks)
    cache = Cache("encoded-rows", len(keys))
    return _case(fmt, cache, q, blocks, terms.sum(axis=-1), dot_tolerance(terms), None)


def _every_row(rows: F32) -> F64:
    return np.ones(len(rows))


def _case(fmt: DotFormat, cache: Cache, q: F32, blocks: U8, scores: F64, atol: float, per_group: int | None) -> Case:
    params = {
        "head_dim": HEAD_DIM,
        "n_kv": cache.n_kv,
        "kv_stride_blocks": cache.kv_heads * fmt.blocks_per_row + cache.gap_blocks,
        "q_head": cache.q_head,
        "head_offset_bytes": cache.kv_head * fmt.blocks_per_row * fmt.block_bytes,
    }
    name = cache.name
    if per_group is not None:
        params["blocks_per_threadgroup"] = per_group
        name = f"{name}-by-{per_group}"
    buffers: dict[str, NDArray[Any]] = {"q": q.reshape(-1), "k": blocks.reshape(-1)}
    if fmt.codebook:
        buffers["codebook"] = tcq.codebook()
    initial = np.full((cache.q_heads, cache.n_kv), UNTOUCHED, dtype=np.float32)
    expected = initial.astype(np.float64)
    expected[cache.q_head] = scores
    return Case(
        name=name,
        buffers=buffers,
        params=params,
        expected={"scores": expected.reshape(-1)},
        atol=atol,
        initial={"scores": initial.reshape(-1)} if cache.q_heads > 1 else {},
        large=cache.n_kv > 65535,
    )
