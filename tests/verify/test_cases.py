"""The cases cover what they promise, and no encoder input can tip over a decision boundary."""

from __future__ import annotations

import numpy as np
import pytest

from shaderc_tool.verify import case_data, case_encoders
from shaderc_tool.verify.case import UNTOUCHED
from shaderc_tool.verify.cases import REFERENCES, Case, cases
from shaderc_tool.verify.references import polar, qjl, tcq
from shaderc_tool.verify.references.common import F32, HEAD_DIM, U8, fp16_bytes, hadamard
from shaderc_tool.verify.references.tbq import SIGNS, TBQ3, TBQ4, TbqFormat

SCORES = ("turbo3", "turbo4", "turbo3_tcq")


def _small(reference: str) -> list[Case]:
    return [case for case in cases(reference) if not case.large]


@pytest.mark.parametrize("reference", REFERENCES)
def test_every_reference_has_well_formed_cases(reference: str) -> None:
    made = list(cases(reference))
    assert len({case.name for case in made}) == len(made)
    for case in made:
        for name, expected in case.expected.items():
            assert expected.dtype in (np.float64, np.uint8)
            assert np.isfinite(expected).all()
            assert case.initial.get(name, expected).shape == expected.shape
        assert (case.atol == 0) == all(e.dtype == np.uint8 for e in case.expected.values())


@pytest.mark.parametrize("reference", [r for r in REFERENCES if not r.endswith("get_rows")])
def test_more_rows_than_one_grid_dimension_holds(reference: str) -> None:
    assert any(case.large for case in cases(reference))


@pytest.mark.parametrize("reference", SCORES)
def test_score_cases_cover_heads_offsets_and_odd_sizes(reference: str) -> None:
    params = [case.params for case in _small(reference)]
    assert {1, 7, 33, 4099} <= {p["n_kv"] for p in params}
    assert any(p["q_head"] and p["head_offset_bytes"] for p in params)
    assert any(p["q_head"] and not p["head_offset_bytes"] for p in params)


@pytest.mark.parametrize("reference", SCORES)
def test_score_cases_leave_other_heads_alone(reference: str) -> None:
    case = next(c for c in _small(reference) if c.params["q_head"] == 5)
    scores = case.expected["scores"].reshape(8, -1)
    assert (np.delete(scores, 5, axis=0) == UNTOUCHED).all()
    assert (scores[5] != UNTOUCHED).all()


def test_scores_agree_with_decode_then_dot() -> None:
    """The kernels' identity (rotated query · codes) against the plain definition: query · decoded key."""
    keys, q = case_data.normal_rows(1, 9, HEAD_DIM), case_data.normal_rows(2, HEAD_DIM).astype(float)
    for fmt in (TBQ3, TBQ4):
        blocks = fmt.encode(keys)
        np.testing.assert_allclose(fmt.score_terms(q, blocks).sum(axis=-1), fmt.decode(blocks) @ q, atol=1e-12)
    for residual in (False, True):
        blocks = polar.encode(keys)
        terms = polar.mul_mv_terms(blocks, hadamard(q), residual=residual)
        np.testing.assert_allclose(terms.sum(axis=-1), polar.decode(blocks, residual=residual) @ q, atol=1e-12)
    projection = case_data.normal_rows(3, HEAD_DIM, qjl.PROJ_DIM)
    signs = qjl.encode(keys, projection)
    direct = qjl.decode(signs, projection) @ q
    np.testing.assert_allclose(qjl.mul_mv(signs, q @ projection.astype(float)), direct, atol=1e-10)


def test_tcq_scores_approximate_the_exact_ones() -> None:
    keys, q = case_data.normal_rows(4, 64, HEAD_DIM), case_data.normal_rows(5, HEAD_DIM).astype(float)
    scores = tcq.score_terms(tcq.rotate(q), tcq.encode(keys)).sum(axis=-1)
    assert np.corrcoef(scores, keys.astype(float) @ q)[0, 1] > 0.97


@pytest.mark.parametrize("name", case_encoders.ENCODERS)
def test_encoder_inputs_are_unambiguous(name: str) -> None:
    encoder = case_encoders.ENCODERS[name]
    for case in _small(name):
        margins = encoder.margin(case.buffers["src"].reshape(-1, HEAD_DIM))
        assert margins.min() >= case_data.MARGIN, case.name


def _tbq_bytes_in_double(fmt: TbqFormat, rows: F32) -> U8:
    """The encoder with every operation in float64 and another order: scale last, compare with scaled boundaries."""
    y = hadamard(rows.astype(float).reshape(-1, 4, 32) * SIGNS)
    norm = np.sqrt(np.square(y).sum(axis=-1))  # 32 times the root mean square
    codes = (y[..., None] * 32 > norm[..., None, None] * fmt.midpoints * np.sqrt(32)).sum(axis=-1)
    codes = np.where(norm[..., None] == 0, 0, codes)
    packed = np.concatenate((fp16_bytes(norm / 32), fmt.pack(codes)), axis=-1)
    return packed.reshape(len(rows), -1)


@pytest.mark.parametrize(("name", "fmt"), [("turbo3_set_rows", TBQ3), ("turbo4_set_rows", TBQ4)])
def test_tbq_bytes_do_not_depend_on_precision(name: str, fmt: TbqFormat) -> None:
    for case in _small(name):
        rows = case.buffers["src"].reshape(-1, HEAD_DIM)
        np.testing.assert_array_equal(_tbq_bytes_in_double(fmt, rows), fmt.encode(rows), case.name)


def test_destination_rows_that_nobody_names_stay() -> None:
    for case in _small("polar_set_rows"):
        kept = np.setdiff1d(np.arange(len(case.buffers["rows"]) + 5), case.buffers["rows"])
        assert len(kept) == 5
        assert (case.expected["dst"].reshape(-1, polar.BLOCK_BYTES)[kept] == case_encoders.UNTOUCHED_BYTE).all()
