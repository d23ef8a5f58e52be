"""From preprocessed Metal source to source for clang, one pass over the tokens at a time."""

from __future__ import annotations

from dataclasses import dataclass

from shaderc_tool.msl.rewrite.attributes import AttributeList, find_attributes
from shaderc_tool.msl.rewrite.casts import rewrite_casts
from shaderc_tool.msl.rewrite.constants import FunctionConstant, rewrite_constants
from shaderc_tool.msl.rewrite.entries import Entries, rewrite_entries
from shaderc_tool.msl.rewrite.initializers import rewrite_braced_arguments, rewrite_initializers
from shaderc_tool.msl.rewrite.keywords import rewrite_words
from shaderc_tool.msl.rewrite.scopes import Scopes, closing_angle
from shaderc_tool.msl.rewrite.threadgroup import rewrite_threadgroup
from shaderc_tool.msl.tokens import WORD, Token, TokenStream


@dataclass(frozen=True)
class Rewritten:
    """The tokens for clang and what was taken out of them."""

    stream: TokenStream
    scopes: Scopes
    entries: Entries
    constants: tuple[FunctionConstant, ...]
    attributes: tuple[AttributeList, ...]


def rewrite(stream: TokenStream) -> Rewritten:
    """Rewrite a translation unit in place."""
    tokens = stream.tokens
    scopes = Scopes(tokens)
    lists = find_attributes(tokens)
    constants = rewrite_constants(tokens, scopes, lists)
    entries = rewrite_entries(tokens, scopes, lists)
    rewrite_initializers(tokens)
    rewrite_braced_arguments(tokens, scopes)
    _function_parameters(tokens)
    rewrite_casts(tokens)
    rewrite_words(tokens)
    rewrite_threadgroup(tokens, scopes)
    return Rewritten(stream, scopes, entries, tuple(constants), tuple(lists))


def _function_parameters(tokens: list[Token]) -> None:
    """`template <void (*f)(int)>` as `void (&f)(int)`: clang cannot match function pointers there in this mode."""
    for index, token in enumerate(tokens):
        if token.text != "template" or token.kind != WORD or tokens[index + 1].text != "<":
            continue
        close = closing_angle_of_template(tokens, index + 1)
        for at in range(index + 2, close - 3):
            star = tokens[at + 1]
            if (
                tokens[at].text == "("
                and star.text == "*"
                and tokens[at + 2].kind == WORD
                and tokens[at + 3].text == ")"
            ):
                star.text = "&"


def closing_angle_of_template(tokens: list[Token], opening: int) -> int:
    """Like `closing_angle`, but never -1."""
    close = closing_angle(tokens, opening)
    return close if close > 0 else opening
