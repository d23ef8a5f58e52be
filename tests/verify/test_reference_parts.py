"""The building blocks of the references against plain definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shaderc_tool.verify.references import common, tcq
from shaderc_tool.verify.references.tbq import TBQ3, TBQ4, TbqFormat


@pytest.mark.parametrize("n", [1, 2, 32, 128])
def test_hadamard_is_the_sylvester_matrix(n: int) -> None:
    matrix = np.array([[(-1.0) ** (i & j).bit_count() for j in range(n)] for i in range(n)])
    np.testing.assert_array_equal(common.hadamard(np.eye(n)), matrix)


def test_hadamard_wants_a_power_of_two() -> None:
    with pytest.raises(ValueError, match="power of two"):
        common.hadamard(np.zeros((3, 12)))


def test_a_tie_takes_the_lower_code() -> None:
    midpoints = np.array([-1.0, 0.0, 1.0])
    assert common.nearest_code(np.array([-2.0, -1.0, 0.0, 0.5, 1.0, 1.5]), midpoints).tolist() == [0, 0, 1, 2, 2, 3]


@given(st.lists(st.integers(0, 0xFFFF), min_size=1, max_size=40))
def test_binary16_values_survive(bits: list[int]) -> None:
    raw = np.array(bits, dtype="<u2")
    finite = raw[(raw & 0x7C00) != 0x7C00]
    values = common.fp16_value(finite[:, None].view(np.uint8))
    expected = finite.view(np.float16).astype(np.float64)
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(common.fp16_bytes(values), finite[:, None].view(np.uint8))


@pytest.mark.parametrize(
    ("value", "bits"),
    [(1.0, 0x3F80), (1 + 2**-8, 0x3F80), (1 + 3 * 2**-8, 0x3F82), (1 + 2**-8 + 2**-20, 0x3F81), (2.0**-127, 0x0040)],
)
def test_bfloat16_rounds_ties_to_even(value: float, bits: int) -> None:
    raw = common.bf16_bytes(np.array([value], dtype=np.float32))
    assert int(raw.view("<u2")[0, 0]) == bits


@given(st.floats(1e-7, 6e4), st.sampled_from([-1, 1]))
def test_values_clear_of_rounding_points_round_alike(value: float, direction: int) -> None:
    """Moving a value by less than its distance never changes its binary16; moving it a little further does."""
    distance = float(common.rounding_distance(np.array([value]), 10, -14)[0])
    rounded = np.float16(value)
    assert np.float16(value * (1 + direction * distance * 0.99)) == rounded
    further = {np.float16(value * (1 + s * distance * 1.01 + s * 1e-12)) for s in (-1, 1)}
    assert further != {rounded}


@pytest.mark.parametrize("fmt", [TBQ3, TBQ4])
@given(st.integers(0, 2**32))
def test_codes_survive_packing(fmt: TbqFormat, seed: int) -> None:
    codes = np.random.default_rng(seed).integers(0, 2**fmt.bits, (3, 4, 32))
    packed = fmt.pack(codes)
    assert packed.shape == (3, 4, fmt.block_bytes - 2)
    np.testing.assert_array_equal(fmt.unpack(packed), codes)


def test_tbq3_stream_layout() -> None:
    """Element i occupies stream bits 3i .. 3i + 2."""
    codes = np.zeros((1, 32), dtype=np.int64)
    codes[0, 5] = 0b101  # bits 15 and 17
    assert TBQ3.pack(codes)[0].tolist() == [0, 0x80, 0x02] + [0] * 9


def test_viterbi_finds_no_worse_path_than_any_other() -> None:
    rng = np.random.default_rng(1)
    keys = rng.standard_normal((4, 128)).astype(np.float32)
    target = tcq.rotate(keys / np.linalg.norm(keys, axis=-1, keepdims=True)).astype(np.float64)
    book = tcq.codebook().astype(np.float64)
    blocks = tcq.encode(keys)
    chosen = tcq.decode(blocks) / common.fp16_value(blocks[:, :2])[:, None]
    cost = np.square(target - chosen).sum(axis=-1)
    for row in range(len(keys)):
        for start in rng.integers(0, 512, 64):
            assert cost[row] <= _greedy_cost(target[row], book, int(start)) + 1e-9


def _greedy_cost(target: common.F64, book: common.F64, state: int) -> float:
    """Cost of the path from `state` that takes the nearest value at each later step."""
    cost = float((target[0] - book[state]) ** 2)
    for value in target[1:]:
        followers = (state >> 3) | (np.arange(8) << 6)
        state = int(followers[np.square(value - book[followers]).argmin()])
        cost += float((value - book[state]) ** 2)
    return cost
