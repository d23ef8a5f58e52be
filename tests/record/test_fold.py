"""Folding keeps every variant exactly, and finds the matrices that are there."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shaderc_tool.record.fold import Macros, expand, fold


def macros(**values: str) -> Macros:
    return frozenset(values.items())


PARTS = st.lists(st.sampled_from(["f16", "f32", "q4_0", "id", "x"]), min_size=1, max_size=4)
SYMBOLS = PARTS.map(lambda parts: "k_" + "_".join(parts))
MACROS = st.dictionaries(st.sampled_from("ABCD"), st.sampled_from(["1", "2", ""]), max_size=3).map(
    lambda d: frozenset(d.items())
)


@given(st.dictionaries(SYMBOLS, MACROS, max_size=60))
def test_what_is_folded_unfolds_to_the_same(variants: dict[str, Macros]) -> None:
    assert expand(fold(variants)) == variants


def test_a_product_of_three_axes_becomes_one_matrix() -> None:
    variants = {
        f"mul_{a}{b}{c}": macros(COMMON="1", A=a) | (macros(B="1") if b else macros()) | macros(C=c or "none")
        for a in ("f16", "f32", "q4")
        for b in ("", "_id")
        for c in ("", "_x", "_y")
    }
    folded = fold(variants)
    assert not folded.cases
    (matrix,) = folded.matrices
    assert sorted(len(axis) for axis in matrix.axes) == [2, 3, 3]
    assert matrix.common == macros(COMMON="1")


def test_one_odd_variant_stays_a_case_and_spoils_nothing() -> None:
    variants = {f"k_{a}_{b}": macros(A=a, B=b) for a in ("p", "q", "r", "s") for b in ("1", "2", "3", "4")}
    variants["k_p_odd"] = macros(ODD="1")
    folded = fold(variants)
    assert dict(folded.cases) == {"k_p_odd": macros(ODD="1")}
    assert [tuple(map(len, m.axes)) for m in folded.matrices] == [(4, 4)]


def test_a_macro_of_one_combination_alone_does_not_fit() -> None:
    variants = {f"k_{a}_{b}": macros(A=a, B=b) for a in "pqr" for b in "xyz"}
    variants["k_p_x"] |= macros(BOTH="1")
    assert "k_p_x" in fold(variants).cases
