"""Braced initializers of vectors with fewer values than components: clang wants all of them in this mode."""

from __future__ import annotations

from shaderc_tool.msl.shim.names import VECTOR_NAMES
from shaderc_tool.msl.tokens import NUMBER, WORD, Token, split_commas


def rewrite_initializers(tokens: list[Token]) -> None:
    for index, token in enumerate(tokens):
        if token.kind == WORD and token.was in VECTOR_NAMES and index + 2 < len(tokens):
            _declaration(tokens, index, VECTOR_NAMES[token.was][1])


def _declaration(tokens: list[Token], index: int, size: int) -> None:
    at = index + 1
    is_array = False
    if tokens[at].kind != WORD:
        return
    at += 1
    while at < len(tokens) and tokens[at].text == "[":
        is_array = True
        at = tokens[at].match + 1
    if at < len(tokens) and tokens[at].text == "=":
        at += 1
    if at >= len(tokens) or tokens[at].text != "{" or tokens[at].match < 0:
        return
    if is_array:
        _array(tokens, at)
    else:
        _pad(tokens, at, size)


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
