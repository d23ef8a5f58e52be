"""Fold the variants of one source into matrices where they fit exactly; what is left stays a list.

A matrix here has two axes: the beginning and the end of the symbol. Variants fit when every beginning goes with every
end, and when the macros of each are those of its beginning plus those of its end. The search is greedy, the largest
saving first; an axis that is itself such a product is split again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

Macros = frozenset[tuple[str, str]]
"""Macro names with their texts."""

Items = Mapping[str, Macros]
"""Macros by symbol, or by the value of an axis."""

_LEAST_SAVING = 3
"""Lines that a matrix must save over a list."""

_TRIED = 12
"""Pairs of axes that are split further before one is chosen."""


@dataclass(frozen=True)
class Matrix:
    """The symbols are the axis values joined, one of each axis, in order; `common` macros go with all of them."""

    axes: tuple[Items, ...]
    common: Macros


@dataclass(frozen=True)
class Folded:
    """All variants of one source: matrices, and the list of what fits in none."""

    matrices: tuple[Matrix, ...]
    cases: Items


def fold(variants: Items) -> Folded:
    """Fold variants; `expand(fold(v)) == v` for every input."""
    left = dict(variants)
    matrices = []
    while pairs := _pairs(left)[:_TRIED]:
        axes = max((_split(heads) + _split(tails) for heads, tails in pairs), key=_saved)
        if _saved(axes) < _LEAST_SAVING:
            break
        matrices.append(_with_common(axes))
        for symbol in _product(axes):
            del left[symbol]
    return Folded(tuple(matrices), left)


def expand(folded: Folded) -> dict[str, Macros]:
    """The variants again."""
    result = dict(folded.cases)
    for matrix in folded.matrices:
        result.update({symbol: macros | matrix.common for symbol, macros in _product(matrix.axes).items()})
    return result


def _product(axes: Sequence[Items]) -> dict[str, Macros]:
    result: dict[str, Macros] = {"": frozenset()}
    for axis in axes:
        result = {s + value: m | macros for s, m in result.items() for value, macros in axis.items()}
    return result


def _saved(axes: Sequence[Items]) -> int:
    """Lines that a matrix with these axes saves over a list."""
    return math.prod(map(len, axes)) - sum(map(len, axes))


def _pairs(variants: Items) -> list[tuple[Items, Items]]:
    """The pairs of axes whose product is among the variants and that save something, the largest saving first."""
    exact = [pair for pair in _candidates(variants) if _saved(pair) > 0 and _is_exact(*pair, variants)]
    return sorted(exact, key=_saved, reverse=True)


def _candidates(variants: Items) -> Iterator[tuple[Items, Items]]:
    """Beginnings that go with the same ends, each end adding the same macros; then the same from the other side."""
    for from_front in (True, False):
        parts: dict[str, dict[str, Macros]] = {}
        for symbol, macros in variants.items():
            for cut in _cuts(symbol):
                mine, other = (symbol[:cut], symbol[cut:]) if from_front else (symbol[cut:], symbol[:cut])
                parts.setdefault(mine, {})[other] = macros
        with_other: dict[str, list[str]] = {}
        for mine, others in parts.items():
            for other in others:
                with_other.setdefault(other, []).append(mine)
        for added in dict.fromkeys(_split_macros(others)[1] for others in parts.values() if len(others) > 1):
            rest = dict(sorted(added, key=lambda pair: pair[0]))
            rarest = min(rest, key=lambda other: len(with_other[other]))
            fitting = {m: s for m in with_other[rarest] if (s := _shared(parts[m], rest)) is not None}
            yield (fitting, rest) if from_front else (rest, fitting)


def _split_macros(others: Items) -> tuple[Macros, frozenset[tuple[str, Macros]]]:
    """The macros that all have, and what each has beside them."""
    shared = frozenset.intersection(*others.values())
    return shared, frozenset((other, macros - shared) for other, macros in others.items())


def _shared(others: Items, rest: Items) -> Macros | None:
    """The macros that go with this part when the other axis is `rest`; None when it does not fit."""
    if not all(other in others for other in rest):
        return None
    shared, added = _split_macros({other: others[other] for other in rest})
    return shared if added == frozenset(rest.items()) else None


def _is_exact(heads: Items, tails: Items, variants: Items) -> bool:
    made = _product((heads, tails))
    return len(made) == len(heads) * len(tails) and all(variants.get(s) == m for s, m in made.items())


def _cuts(symbol: str) -> list[int]:
    """Places where a symbol, or the value of an axis, may be cut: in front of each «_» and at its end."""
    return [*(m.start() for m in re.finditer("_", symbol)), len(symbol)]


def _split(axis: Items) -> tuple[Items, ...]:
    """The axis as a product of two, again and again, as long as all of it fits."""
    for heads, tails in _pairs(axis):
        if len(heads) * len(tails) == len(axis):
            return _split(heads) + _split(tails)
    return (axis,)


def _with_common(axes: tuple[Items, ...]) -> Matrix:
    """Macros that every value of an axis has go with the matrix instead."""
    common: Macros = frozenset()
    smaller = []
    for axis in axes:
        shared = frozenset.intersection(*axis.values())
        common |= shared
        smaller.append({value: macros - shared for value, macros in axis.items()})
    return Matrix(tuple(smaller), common)
