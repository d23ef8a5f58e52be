"""Scores published by the kernels' first project, regenerated from its random stream."""

from __future__ import annotations

import numpy as np
import pytest

from shaderc_tool.verify.references import common, polar, qjl, tcq
from tests.verify import fixture_generator as generator

# Kernel facts, section 5: eight scores and the first eight block bytes of each fixture.
TCQ = (6.407853, -6.996062, -1.582482, 11.61365, 11.02214, -17.40205, -4.142973, -8.562320)
QJL = (23.81622, -9.135838, -5.964729, -9.196582, -1.185193, -37.26863, 19.24195, -8.468412)
POLAR = (0.177247, -4.164137, -7.398530, -9.138779, 19.677194, 22.859388, -2.181426, -15.468908)
POLAR_QJL = (-6.108998, 0.174863, -7.072688, -16.478864, -2.325321, 7.564047, 0.871256, 14.657530)


@pytest.fixture(scope="module")
def drawn() -> dict[str, tuple[common.F32, common.F32]]:
    return generator.fixtures()


def test_tcq_scores(drawn: dict[str, tuple[common.F32, common.F32]]) -> None:
    q, keys = drawn["turbo3_tcq"]  # q counts as already rotated
    blocks = tcq.encode(keys)
    assert blocks[0, :8].tolist() == [171, 73, 93, 112, 181, 25, 9, 125]
    np.testing.assert_allclose(tcq.score_terms(q.astype(float), blocks).sum(axis=-1), TCQ, rtol=0, atol=2e-5)


def test_qjl_scores(drawn: dict[str, tuple[common.F32, common.F32]]) -> None:
    q, keys = drawn["qjl"]
    projection = generator.projection()
    blocks = qjl.encode(keys, projection)
    assert blocks[0, :8].tolist() == [129, 226, 8, 91, 122, 243, 159, 234]
    sketch = q.astype(float) @ projection.astype(float)
    np.testing.assert_allclose(qjl.scores(sketch[None], blocks[None])[0], QJL, rtol=0, atol=2e-5)


@pytest.mark.parametrize(
    ("name", "residual", "first", "expected"),
    [
        ("polar", False, [62, 74, 15, 236, 166, 195, 100, 134], POLAR),
        ("polar_qjl", True, [188, 73, 105, 27], POLAR_QJL),
    ],
)
def test_polar_products(
    drawn: dict[str, tuple[common.F32, common.F32]], name: str, residual: bool, first: list[int], expected: list[float]
) -> None:
    q, keys = drawn[name]
    blocks = polar.encode(keys)
    assert blocks[0, : len(first)].tolist() == first
    terms = polar.mul_mv_terms(blocks, common.hadamard(q.astype(float)), residual=residual)
    np.testing.assert_allclose(terms.sum(axis=-1), expected, rtol=0, atol=2e-5)
