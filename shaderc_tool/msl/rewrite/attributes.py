"""`[[...]]` lists: taken out of the text that clang reads and kept as values."""

from __future__ import annotations

from dataclasses import dataclass

from shaderc_tool.msl.tokens import Token, split_commas


@dataclass(frozen=True)
class Attribute:
    """One attribute. `token` is the index of its name, `arguments` the text between its parentheses."""

    name: str
    arguments: str
    token: int

    @property
    def number(self) -> int | None:
        """The argument as an integer literal, or None."""
        try:
            return int(self.arguments.rstrip("uUlL"), 0)
        except ValueError:
            return None

    @property
    def string(self) -> str:
        """The argument as a string literal's value."""
        return self.arguments.strip().strip('"')


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


def blank(tokens: list[Token], start: int, end: int) -> None:
    """Take tokens[start..end] out of the text."""
    for token in tokens[start : end + 1]:
        token.text = ""
