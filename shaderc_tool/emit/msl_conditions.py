"""Conditional compilation as sets of literals: enough to tell when two pieces of text can never both be
compiled.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, NamedTuple

_IS_DEFINED: Final = re.compile(r"defined\s*\(?\s*(\w+)\s*\)?")
_OPENING: Final = ("if", "ifdef", "ifndef")


class Literal(NamedTuple):
    """A condition and whether it holds. `text` is `defined(X)` or an expression without blanks."""

    text: str
    holds: bool

    @property
    def absent_macro(self) -> str:
        """X when the literal says that X is not defined; empty otherwise."""
        match = _IS_DEFINED.fullmatch(self.text)
        return match[1] if match and not self.holds else ""


Conditions = frozenset[Literal]
"""What must hold for a piece of text to be compiled: the conjunction of the literals."""


def _literal(expression: str, holds: bool) -> Literal:
    plain = expression.strip()
    while plain.startswith("!") and not plain.startswith("!="):
        rest = plain[1:].strip()
        if not (_IS_DEFINED.fullmatch(rest) or re.fullmatch(r"\w+|\([^()]*\)", rest)):
            break
        plain, holds = rest, not holds
    if match := _IS_DEFINED.fullmatch(plain):
        return Literal(f"defined({match[1]})", holds)
    return Literal(re.sub(r"\s+", "", plain), holds)


def _when(name: str, operand: str) -> tuple[Literal, list[Literal]]:
    """The condition of an `#if` or `#elif`: as one literal, and as the literals that follow from it."""
    if name in ("ifdef", "ifndef"):
        literal = Literal(f"defined({operand.split()[0] if operand else ''})", name == "ifdef")
        return literal, [literal]
    whole = _literal(operand, True)
    parts = operand.split("&&")
    if len(parts) > 1 and "||" not in operand and all(p.count("(") == p.count(")") for p in parts):
        return whole, [whole, *(_literal(part, True) for part in parts)]
    return whole, [whole]


def _negated(literal: Literal) -> Literal:
    return Literal(literal.text, not literal.holds)


class ConditionStack:
    """The open conditionals at a point of the text; fed with the directives in order."""

    def __init__(self) -> None:
        self._past: list[list[Literal]] = []
        self._now: list[list[Literal]] = []

    @property
    def depth(self) -> int:
        """The number of open `#if`."""
        return len(self._now)

    def feed(self, name: str, operand: str) -> None:
        """Follow one directive. A stray `#else` or `#endif` changes nothing: the compiler will report it."""
        if name in _OPENING:
            whole, literals = _when(name, operand)
            self._past.append([_negated(whole)])
            self._now.append(literals)
        elif name == "elif" and self._now:
            whole, literals = _when("if", operand)
            self._now[-1] = [*self._past[-1], *literals]
            self._past[-1].append(_negated(whole))
        elif name == "else" and self._now:
            self._now[-1] = list(self._past[-1])
        elif name == "endif" and self._now:
            self._past.pop()
            self._now.pop()

    def conditions(self) -> Conditions:
        """What holds where the last directive ended."""
        return frozenset(literal for frame in self._now for literal in frame)


def _guards(conditions: Conditions, guards: Collection[str]) -> Conditions:
    return frozenset(literal for literal in conditions if literal.absent_macro in guards)


def exclusive(first: Conditions, second: Conditions, guards: Collection[str]) -> bool:
    """True when the two can never both be compiled: one needs the opposite, or one include guard admits only
    one.
    """
    if any(_negated(literal) in second for literal in first):
        return True
    return bool(_guards(first, guards) & _guards(second, guards))


def implied(earlier: Conditions, later: Conditions, guards: Collection[str]) -> bool:
    """True when `earlier` is compiled whenever `later` is; the first use of an include guard always is."""
    return earlier - _guards(earlier, guards) <= later


def is_dead(conditions: Conditions, defined: Collection[str]) -> bool:
    """True when the text needs the absence of a macro that is known to be defined."""
    return any(literal.absent_macro in defined for literal in conditions)
