"""Second attempts: constructs that need the types of their operands, which only clang knows.

Two things that Metal allows and clang refuses in this mode are put right from clang's message, which tells where the
operands are, and the text is compiled again:

- a scalar that is wider than the elements of the vector beside it, or that stands beside a bfloat in `?:`;
- a temporary for a parameter that is a `thread const T &`.
"""

from __future__ import annotations

import re

from shaderc_tool.msl.clang import Message
from shaderc_tool.msl.diagnose import SOURCE
from shaderc_tool.msl.tokens import Token, TokenStream, split_commas

_OPERANDS = re.compile(r"scalar operand type has greater rank|conditional expression is ambiguous; '[^']*bfloat")
_TEMPORARY = re.compile(
    r"not viable: cannot bind reference in default address space to object in address space "
    r"'__private' in (\d+)\w\w argument"
)
ROUNDS = 4
"""How often a text is compiled at most: once more for each level of nesting of mixed expressions."""


def repair(stream: TokenStream, messages: list[Message]) -> bool:
    """Change the tokens so that the next attempt gets further. False when nothing can be repaired."""
    scalars: dict[tuple[int, int], Message] = {}
    temporaries: dict[tuple[int, int, int], Message] = {}
    for message in messages:
        if message.file != SOURCE:
            continue
        if _OPERANDS.search(message.text) and len(message.ranges) == 2:
            scalars[message.line, message.column] = message
        for note in message.notes:
            match = _TEMPORARY.search(note.text)
            if match is not None and message.text.startswith("no matching"):
                temporaries[message.line, message.column, int(match[1])] = message
    changed = [_wrap_operands(stream, m) for m in scalars.values()]
    changed += [_wrap_argument(stream, m, number) for (_, _, number), m in temporaries.items()]
    return any(changed)


def _wrap_operands(stream: TokenStream, message: Message) -> bool:
    left, right = (_tokens(stream, r) for r in message.ranges)
    if not left or not right:
        return False
    operator = stream.token_at(message.line - 1, message.column)
    assigns = operator is not None and operator.was.endswith("=") and operator.was not in ("==", "!=", "<=", ">=")
    left_text, right_text = _text(left), _text(right)
    right[0].text = f"metal::__like<decltype(({left_text}))>({right[0].text}"
    right[-1].text += ")"
    if not assigns:
        left[0].text = f"metal::__like<decltype(({right_text}))>({left[0].text}"
        left[-1].text += ")"
    return True


def _wrap_argument(stream: TokenStream, message: Message, number: int) -> bool:
    callee = stream.token_at(message.line - 1, message.column)
    if callee is None:
        return False
    tokens = stream.tokens
    opening = tokens.index(callee)
    while opening < len(tokens) and tokens[opening].was != "(":
        if tokens[opening].was in (";", "{", "}"):
            return False
        opening += 1
    arguments = list(split_commas(tokens, opening + 1, tokens[opening].match))
    if number > len(arguments):
        return False
    start, end = arguments[number - 1]
    kind = f"decltype({_text(tokens[start:end])})"
    tokens[start].text = f"metal::__temporary<{kind}>({tokens[start].text}"
    tokens[end - 1].text += ")"
    return True


def _tokens(stream: TokenStream, span: tuple[int, int, int, int]) -> list[Token]:
    first = stream.token_at(span[0] - 1, span[1])
    last = stream.token_at(span[2] - 1, span[3] - 1)
    if first is None or last is None:
        return []
    start, end = stream.tokens.index(first), stream.tokens.index(last)
    return stream.tokens[start : end + 1]


def _text(tokens: list[Token]) -> str:
    return "".join(t.space + t.text for t in tokens).strip()
