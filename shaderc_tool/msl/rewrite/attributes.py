"""`[[...]]` lists: taken out of the text that clang reads and kept as values."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from shaderc_tool.msl.tokens import Token, split_commas

_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}


@dataclass(frozen=True)
class Attribute:
    """One attribute. `token` is the index of its name, `arguments` the text between its parentheses."""

    name: str
    arguments: str
    token: int

    @property
    def number(self) -> int | None:
        """The argument as an integer, or None. Macros are expanded by now: arithmetic on literals is what is left."""
        return _evaluate(self.arguments)

    @property
    def string(self) -> str:
        """The argument as a string literal's value."""
        return re.sub(r"\\(.)", r"\1", self.arguments.strip()[1:-1])


@dataclass(frozen=True)
class AttributeList:
    """The tokens `[[` to `]]`, both included, and what they say."""

    start: int
    end: int
    attributes: tuple[Attribute, ...]


def find_attributes(tokens: list[Token]) -> list[AttributeList]:
    """All attribute lists, in order."""
    lists: list[AttributeList] = []
    index = 0
    while index + 1 < len(tokens):
        if _opens(tokens, index):
            end = tokens[index].match
            lists.append(AttributeList(index, end, tuple(_parse(tokens, index + 2, end - 1))))
            index = end + 1
        else:
            index += 1
    return lists


def _opens(tokens: list[Token], index: int) -> bool:
    outer, inner = tokens[index], tokens[index + 1]
    return outer.text == "[" and inner.text == "[" and outer.match > 0 and outer.match == inner.match + 1


def _parse(tokens: list[Token], start: int, end: int) -> list[Attribute]:
    found: list[Attribute] = []
    for first, last in split_commas(tokens, start, end):
        at = first
        while at + 2 < last and tokens[at + 1].text == "::":
            at += 2
        arguments = ""
        if at + 1 < last and tokens[at + 1].text == "(":
            arguments = " ".join(t.text for t in tokens[at + 2 : tokens[at + 1].match])
        prefix = "::".join(t.text for t in tokens[first:at:2])
        name = tokens[at].text
        found.append(Attribute(f"{prefix}::{name}" if prefix else name, arguments, at))
    return found


def _evaluate(text: str) -> int | None:
    """An integer constant expression of literals; Python's grammar for these is C's, but for suffixes and division."""
    try:
        tree = ast.parse(re.sub(r"(?<=[0-9a-fA-F])[uUlL]+\b", "", text).replace("/", "//"), mode="eval")
    except SyntaxError:
        return None
    return _value(tree.body)


def _value(node: ast.expr) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int) else None
    if isinstance(node, ast.UnaryOp):
        operand = _value(node.operand)
        return -operand if operand is not None and isinstance(node.op, ast.USub) else operand
    operation = _OPERATIONS.get(type(node.op)) if isinstance(node, ast.BinOp) else None
    if operation is None or not isinstance(node, ast.BinOp):
        return None
    left, right = _value(node.left), _value(node.right)
    return (
        None
        if left is None or right is None or (not right and operation is operator.floordiv)
        else operation(left, right)
    )


def blank(tokens: list[Token], start: int, end: int) -> None:
    """Take tokens[start..end] out of the text."""
    for token in tokens[start : end + 1]:
        token.text = ""
