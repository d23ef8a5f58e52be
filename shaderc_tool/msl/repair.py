"""Second attempts: constructs that need the types of their operands, which only clang knows.

Metal lets a scalar of any type stand beside a vector; clang in this mode refuses a scalar wider than the elements. Its
message tells where both operands are, so the scalar can be wrapped and the text compiled again.
"""

from __future__ import annotations

from shaderc_tool.msl.clang import Message
from shaderc_tool.msl.diagnose import SOURCE
from shaderc_tool.msl.tokens import Token, TokenStream

_WIDER_SCALAR = "scalar operand type has greater rank"
ROUNDS = 4
"""How often a text is repaired at most: once more for each level of nesting of mixed expressions."""


def repair(stream: TokenStream, messages: list[Message]) -> bool:
    """Change the tokens so that the next attempt gets further. False when nothing can be repaired."""
    spans: dict[tuple[int, int], tuple[list[Token], list[Token], Token | None]] = {}
    for message in messages:
        if message.severity == "note" or _WIDER_SCALAR not in message.text or message.file != SOURCE:
            continue
        if len(message.ranges) == 2:
            left, right = (_tokens(stream, r) for r in message.ranges)
            if left and right:
                spans[message.line, message.column] = (left, right, stream.token_at(message.line - 1, message.column))
    for left, right, operator in spans.values():
        _wrap_both(left, right, operator)
    return bool(spans)


def _tokens(stream: TokenStream, span: tuple[int, int, int, int]) -> list[Token]:
    first = stream.token_at(span[0] - 1, span[1])
    last = stream.token_at(span[2] - 1, span[3] - 1)
    if first is None or last is None:
        return []
    start, end = stream.tokens.index(first), stream.tokens.index(last)
    return stream.tokens[start : end + 1]


def _wrap_both(left: list[Token], right: list[Token], operator: Token | None) -> None:
    assigns = operator is not None and operator.was.endswith("=") and operator.was not in ("==", "!=", "<=", ">=")
    left_text, right_text = _text(left), _text(right)
    right[0].text = f"metal::__like<decltype(({left_text}))>({right[0].text}"
    right[-1].text += ")"
    if not assigns:
        left[0].text = f"metal::__like<decltype(({right_text}))>({left[0].text}"
        left[-1].text += ")"


def _text(tokens: list[Token]) -> str:
    return "".join(t.space + t.text for t in tokens).strip()
