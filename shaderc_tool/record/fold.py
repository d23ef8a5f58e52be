"""Fold the variants of one source into matrices where they fit exactly; what is left stays a list.

A matrix here has two axes: the beginning and the end of the symbol. Variants fit when every beginning goes with every
end, and when the macros of each are those of its beginning plus those of its end. The search is greedy, the largest
saving first; an axis that is itself such a product is split again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

Macros = frozenset[tuple[str, str]]
"""Macro names with their texts."""

Items = Mapping[str, Macros]
"""Macros by symbol, or by the value of an axis."""

_LEAST_SAVING = 3
"""Lines that a matrix must save over a list."""


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
    while (best := _best(left)) is not None:
        matrices.append(_with_common(_split(best[0]) + _split(best[1])))
        for symbol in _product(best):
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


def _best(variants: Items, least: int = _LEAST_SAVING) -> tuple[Items, Items] | None:
    """The pair of axes that saves most lines, None when no pair saves `least`."""
    best, saving = None, least
    for heads, tails in _candidates(variants):
        saved = len(heads) * len(tails) - len(heads) - len(tails)
        if saved >= saving and _is_exact(heads, tails, variants):
            best, saving = (heads, tails), saved + 1
    return best


def _candidates(variants: Items) -> Iterator[tuple[Items, Items]]:
    """Beginnings that have the same ends, each end adding the same macros; then the same from the other side."""
    for from_front in (True, False):
        by_part: dict[str, dict[str, Macros]] = {}
        for symbol, macros in variants.items():
            for cut in _cuts(symbol):
                mine, other = (symbol[:cut], symbol[cut:]) if from_front else (symbol[cut:], symbol[:cut])
                by_part.setdefault(mine, {})[other] = macros
        groups: dict[frozenset[tuple[str, Macros]], dict[str, Macros]] = {}
        for mine, others in by_part.items():
            if len(others) > 1:
                shared = frozenset.intersection(*others.values())
                added = frozenset((other, macros - shared) for other, macros in others.items())
                groups.setdefault(added, {})[mine] = shared
        for added, part in groups.items():
            rest = dict(sorted(added, key=lambda pair: pair[0]))
            yield (part, rest) if from_front else (rest, part)


def _is_exact(heads: Items, tails: Items, variants: Items) -> bool:
    made = _product((heads, tails))
    return len(made) == len(heads) * len(tails) and all(variants.get(s) == m for s, m in made.items())


def _cuts(symbol: str) -> list[int]:
    """Places where a symbol, or the value of an axis, may be cut: in front of each «_» and at its end."""
    return [*(m.start() for m in re.finditer("_", symbol)), len(symbol)]


def _split(axis: Items) -> tuple[Items, ...]:
    """The axis as a product of two, again and again, as long as all of it fits."""
    best = _best(axis, 1)
    if best is None or len(best[0]) * len(best[1]) != len(axis):
        return (axis,)
    return _split(best[0]) + _split(best[1])


def _with_common(axes: tuple[Items, ...]) -> Matrix:
    """Macros that every value of an axis has go with the matrix instead."""
    common: Macros = frozenset()
    smaller = []
    for axis in axes:
        shared = frozenset.intersection(*axis.values())
        common |= shared
        smaller.append({value: macros - shared for value, macros in axis.items()})
    return Matrix(tuple(smaller), common)
