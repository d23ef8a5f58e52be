"""Braced initializers of vectors with fewer values than components: clang wants all of them in this mode."""

from __future__ import annotations

from shaderc_tool.msl.rewrite.scopes import FUNCTION, INIT, Scopes
from shaderc_tool.msl.shim.names import VECTOR_NAMES
from shaderc_tool.msl.tokens import NUMBER, WORD, Token, split_commas


def rewrite_initializers(tokens: list[Token]) -> None:
    for index, token in enumerate(tokens):
        if token.kind == WORD and token.was in VECTOR_NAMES and index + 2 < len(tokens):
            _declaration(tokens, index, VECTOR_NAMES[token.was][1])


def _declaration(tokens: list[Token], index: int, size: int) -> None:
    """One declaration, with all its declarators."""
    at = index + 1
    while at + 1 < len(tokens) and tokens[at].kind == WORD:
        at = _declarator(tokens, at + 1, size)
        if at >= len(tokens) or tokens[at].text != ",":
            return
        at += 1


def _declarator(tokens: list[Token], at: int, size: int) -> int:
    is_array = False
    while at < len(tokens) and tokens[at].text == "[":
        is_array = True
        at = tokens[at].match + 1
    if at < len(tokens) and tokens[at].text == "=":
        at += 1
    if at >= len(tokens) or tokens[at].text != "{" or tokens[at].match < 0:
        return at
    close = tokens[at].match
    if is_array:
        _array(tokens, at)
    else:
        _pad(tokens, at, size)
    return close + 1


def _array(tokens: list[Token], brace: int) -> None:
    """`{0}` and `{{0.f}}` zero the whole array."""
    values = [t for t in tokens[brace + 1 : tokens[brace].match] if t.text not in ("{", "}", ",")]
    if len(values) == 1 and values[0].kind == NUMBER and _is_zero(values[0].text):
        for token in tokens[brace + 1 : tokens[brace].match]:
            token.text = ""


def _is_zero(text: str) -> bool:
    return text.strip("fhuFHU0.") == ""


def _pad(tokens: list[Token], brace: int, size: int) -> None:
    close = tokens[brace].match
    parts = list(split_commas(tokens, brace + 1, close))
    if not parts or len(parts) >= size:
        return
    if all(_is_number(tokens[start:end]) for start, end in parts):
        comma = "" if tokens[close - 1].text == "," else ", "
        tokens[close].text = comma + ", ".join(["0"] * (size - len(parts))) + "}"


def _is_number(tokens: list[Token]) -> bool:
    return bool(tokens) and tokens[-1].kind == NUMBER and all(t.kind == NUMBER or t.text == "-" for t in tokens)


_NOT_CALLS = frozenset({"if", "while", "for", "switch", "return", "sizeof", "alignas", "decltype", "catch"})


def rewrite_braced_arguments(tokens: list[Token], scopes: Scopes) -> None:
    """`f({x, y})` as `f(metal::__list(x, y))`: clang does not convert braces to a vector in overload resolution."""
    for index, token in enumerate(tokens):
        if token.text != "{" or scopes.kind[index] not in (FUNCTION, INIT) or not index:
            continue
        if tokens[index - 1].text not in ("(", ",") or token.match < 0:
            continue
        parts = list(split_commas(tokens, index + 1, token.match))
        if (
            len(parts) <= 4
            and _in_call(tokens, index)
            and not any(t.text == "{" for t in tokens[index + 1 : token.match])
        ):
            token.text = "metal::__list("
            tokens[token.match].text = ")"


def _in_call(tokens: list[Token], index: int) -> bool:
    at = index - 1
    while at > 0:
        token = tokens[at]
        if 0 <= token.match < at:
            at = token.match
        elif token.text in ("{", ";", "["):
            return False
        elif token.text == "(":
            before = tokens[at - 1]
            return (before.kind == WORD and before.text not in _NOT_CALLS) or before.text == ">"
        at -= 1
    return False
