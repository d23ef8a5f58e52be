"""The references against vectors made by the production C quantizer (tests/golden/README.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from shaderc_tool.verify.references import common, polar, qjl, tcq
from shaderc_tool.verify.references.common import F32, F64, U8
from shaderc_tool.verify.references.tbq import TBQ3, TBQ4

GOLDEN = Path(__file__).parents[1] / "golden" / "llama_fork_vectors.npz"


@pytest.fixture(scope="module")
def golden() -> dict[str, NDArray[np.float32]]:
    with np.load(GOLDEN) as data:
        return dict(data)


ENCODERS: dict[str, Callable[[F32, F32], U8]] = {
    "tbq3_0": lambda keys, _: TBQ3.encode(keys),
    "tbq4_0": lambda keys, _: TBQ4.encode(keys),
    "tbq3_tcq": lambda keys, _: tcq.encode(keys),
    "qjl1_256": qjl.encode,
    "q4_polar": lambda keys, _: polar.encode(keys),
}

DECODERS: dict[str, tuple[str, Callable[[U8, F32], F64]]] = {
    "tbq3_0_dequant": ("tbq3_0", lambda b, _: TBQ3.decode(b)),
    "tbq4_0_dequant": ("tbq4_0", lambda b, _: TBQ4.decode(b)),
    "tbq3_tcq_dequant": ("tbq3_tcq", lambda b, _: tcq.decode(b)),
    "qjl1_256_dequant": ("qjl1_256", qjl.decode),
    "q4_polar_dequant": ("q4_polar", lambda b, _: polar.decode(b, residual=False)),
    "q4_polar_dequant_residual": ("q4_polar", lambda b, _: polar.decode(b, residual=True)),
}


@pytest.mark.parametrize("name", ENCODERS)
def test_encoder_gives_the_production_bytes(golden: dict[str, NDArray[np.float32]], name: str) -> None:
    encoded = ENCODERS[name](golden["keys"], golden["qjl_projection"])
    np.testing.assert_array_equal(encoded, golden[f"{name}_blocks"])


@pytest.mark.parametrize("name", DECODERS)
def test_decoder_within_1e_5_of_the_row_norm(golden: dict[str, NDArray[np.float32]], name: str) -> None:
    blocks, decode = DECODERS[name]
    expected = golden[name].astype(np.float64)
    error = np.abs(decode(golden[f"{blocks}_blocks"].view(np.uint8), golden["qjl_projection"]) - expected).max(axis=-1)
    assert (error <= 1e-5 * common.row_norms(expected)).all()


def test_qjl_scores(golden: dict[str, NDArray[np.float32]]) -> None:
    blocks = golden["qjl1_256_blocks"].view(np.uint8)
    scores = qjl.scores(golden["qjl_query_sketch"].astype(float), np.stack((blocks, blocks[::-1])))
    scale = common.bf16_value(blocks[:, 32:])
    bound = 1e-5 * np.stack((scale, scale, scale[::-1], scale[::-1]))
    assert (np.abs(scores - golden["qjl_scores_4heads_2kv"]) <= bound).all()


def test_tcq_codebook_digest() -> None:
    book = tcq.codebook()
    digest = hashlib.sha256(book.astype("<f4").tobytes()).hexdigest()
    assert digest == "ea543d986b0aacb4415c3c857713ad7d6dd962220c0118e1f721f7e595117189"
    assert (np.diff(book.reshape(64, 8)) >= 0).all()


def test_notice_credits_the_codebook() -> None:
    assert "spiritbuun" in (Path(__file__).parents[2] / "NOTICE").read_text("utf-8")
