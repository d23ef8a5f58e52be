"""Grid expressions evaluate without eval, and grids fold into what every device grants."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shaderc_tool.verify.grid import PORTABLE_GROUPS, GridError, fold, parse

PARAMS = {"n_kv": 4099, "blocks_per_threadgroup": 16, "n": 3}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("n_kv", 4099),
        ("ceil_div(n_kv, blocks_per_threadgroup)", 257),
        ("2 + 3 * n", 11),
        ("(2 + 3) * n", 15),
        ("10 - n - 2", 5),
        ("min(n, 2, 9) + max(n, 2)", 5),
        (" max( n_kv - 4090 , 1 ) ", 9),
    ],
)
def test_values(text: str, value: int) -> None:
    assert parse(text).evaluate(PARAMS) == value


@pytest.mark.parametrize(
    "text",
    ["", "n +", "n n", "(n", "n)", "min()", "min(n", "ceil_div(n)", "ceil_div(n, 2, 3)", "abs(n)", "n / 2", "n ** 2",
     "n.real", "__import__('os')", "1.5", "-n", "n,2", "'a'"],
)  # fmt: skip
def test_malformed(text: str) -> None:
    with pytest.raises(GridError):
        parse(text)


@pytest.mark.parametrize("text", ["absent", "ceil_div(n, n - 3)", "2 - n"])
def test_no_value(text: str) -> None:
    with pytest.raises(GridError):
        parse(text).evaluate(PARAMS)


def test_names() -> None:
    assert parse("ceil_div(n_kv, n) + max(n, 2)").names == {"n_kv", "n"}


@given(st.text(alphabet="n019+-*(), maxin_celdv.'/", max_size=40))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        value = parse(text).evaluate(dict.fromkeys("n", 3) | PARAMS)
    except GridError:
        return
    assert value >= 0


@given(st.integers(1, PORTABLE_GROUPS * 50))
def test_folding_wastes_less_than_one_row(n: int) -> None:
    x, y, z = fold([n])
    assert z == 1
    assert max(x, y) <= PORTABLE_GROUPS
    assert n <= x * y < n + y


def test_second_dimension_folds_into_the_third() -> None:
    assert fold([32, 70_000]) == (32, 35_000, 2)


def test_no_room_to_fold() -> None:
    with pytest.raises(GridError, match="no free dimension"):
        fold([70_000, 2])
