"""Grid expressions of a declared dispatch, such as `ceil_div(n_kv, blocks_per_threadgroup)`, and folded grids.

expression = term (("+" | "-") term)*        term = factor ("*" factor)*
factor     = integer | name | function "(" expression ("," expression)* ")" | "(" expression ")"
function   = "ceil_div" | "min" | "max"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

PORTABLE_GROUPS: Final = 65535
"""Work-groups in one grid dimension that every Vulkan device grants."""

_TOKEN: Final = re.compile(r"\s*(?:(\d+)|([A-Za-z_]\w*)|([-+*(),]))")
_Evaluator = Callable[[Mapping[str, int]], int]


class GridError(ValueError):
    """The expression is malformed, names something unknown or has no sensible value."""


@dataclass(frozen=True)
class Expression:
    """A parsed expression. `names` are the parameters it needs."""

    text: str
    names: frozenset[str]
    evaluator: _Evaluator

    def evaluate(self, params: Mapping[str, int]) -> int:
        """The value. Raises GridError for a missing name, a division by zero or a negative result."""
        missing = sorted(self.names - params.keys())
        if missing:
            raise GridError(f"{self.text!r} needs {', '.join(missing)}")
        value = self.evaluator(params)
        if value < 0:
            raise GridError(f"{self.text!r} is {value}")
        return value


def parse(text: str) -> Expression:
    """Parse an expression. Raises GridError."""
    parser = _Parser(text)
    evaluator = parser.sum()
    parser.end()
    return Expression(text, frozenset(parser.names), evaluator)


def fold(groups: Sequence[int]) -> tuple[int, int, int]:
    """A grid of 1 to 3 dimensions with each dimension above 65535 folded into the next one.

    The folded grid may hold a few work-groups more than asked for. Raises GridError when the next dimension is taken.
    """
    grid = [*groups, *(1 for _ in range(3 - len(groups)))]
    for axis in range(2):
        if grid[axis] > PORTABLE_GROUPS:
            if grid[axis + 1] != 1:
                raise GridError(f"grid {tuple(groups)} has no free dimension to fold into")
            count = grid[axis]
            grid[axis + 1] = _ceil_div(count, PORTABLE_GROUPS)
            grid[axis] = _ceil_div(count, grid[axis + 1])
    x, y, z = grid
    return x, y, z


def _ceil_div(dividend: int, divisor: int) -> int:
    if divisor <= 0:
        raise GridError(f"ceil_div({dividend}, {divisor})")
    return -(-dividend // divisor)


def _least(*values: int) -> int:
    return min(values)


def _greatest(*values: int) -> int:
    return max(values)


_FUNCTIONS: Final[dict[str, tuple[Callable[..., int], int | None]]] = {
    "ceil_div": (_ceil_div, 2),
    "min": (_least, None),
    "max": (_greatest, None),
}


class _Parser:
    """Recursive descent; every method returns a function of the parameters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: set[str] = set()
        self.tokens = self._tokens()
        self.at = 0

    def _tokens(self) -> list[str]:
        tokens, position, text = [], 0, self.text.rstrip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise GridError(f"unexpected {text[position:].lstrip()[:1]!r} in {self.text!r}")
            tokens.append(match.group().strip())
            position = match.end()
        return tokens

    def _peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self.at += 1
        return token

    def _expect(self, token: str) -> None:
        if self._next() != token:
            raise GridError(f"{token!r} expected in {self.text!r}")

    def end(self) -> None:
        if self._peek():
            raise GridError(f"unexpected {self._peek()!r} in {self.text!r}")

    def sum(self) -> _Evaluator:
        left = self._product()
        while self._peek() in ("+", "-"):
            left = _combine(self._next(), left, self._product())
        return left

    def _product(self) -> _Evaluator:
        left = self._factor()
        while self._peek() == "*":
            left = _combine(self._next(), left, self._factor())
        return left

    def _factor(self) -> _Evaluator:
        token = self._next()
        if token.isdecimal():
            value = int(token)
            return lambda params: value
        if token == "(":
            inner = self.sum()
            self._expect(")")
            return inner
        if not token or not (token[0].isalpha() or token[0] == "_"):
            raise GridError(f"value expected in {self.text!r}")
        if self._peek() == "(":
            return self._call(token)
        self.names.add(token)
        return lambda params: params[token]

    def _call(self, name: str) -> _Evaluator:
        if name not in _FUNCTIONS:
            raise GridError(f"unknown function {name!r} in {self.text!r}; there are {', '.join(_FUNCTIONS)}")
        self._expect("(")
        arguments = [self.sum()]
        while self._peek() == ",":
            self._next()
            arguments.append(self.sum())
        self._expect(")")
        function, arity = _FUNCTIONS[name]
        if arity is not None and len(arguments) != arity:
            raise GridError(f"{name} takes {arity} arguments in {self.text!r}")
        return lambda params: function(*(argument(params) for argument in arguments))


def _combine(operator: str, left: _Evaluator, right: _Evaluator) -> _Evaluator:
    if operator == "+":
        return lambda params: left(params) + right(params)
    if operator == "-":
        return lambda params: left(params) - right(params)
    return lambda params: left(params) * right(params)
