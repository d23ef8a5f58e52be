"""What each brace opens: namespace, record, function, block, enumeration or initializer."""

from __future__ import annotations

from shaderc_tool.msl.tokens import DIRECTIVE, WORD, Token

NAMESPACE, RECORD, FUNCTION, ENUM, INIT = "namespace", "record", "function", "enum", "init"
_AFTER_PARAMETERS = frozenset(
    {"const", "thread", "device", "threadgroup", "constant", "noexcept", "volatile", "mutable"}
)


class Scopes:
    """The scope that encloses each token, and the first token of the statement that it belongs to."""

    def __init__(self, tokens: list[Token]) -> None:
        self.kind: list[str] = []
        self.start: list[int] = []
        self._scan(tokens)

    def _scan(self, tokens: list[Token]) -> None:
        stack = [NAMESPACE]
        statement = 0
        parens = 0
        for index, token in enumerate(tokens):
            if token.kind == DIRECTIVE:
                self._add(stack[-1], index)
                statement = index + 1
                continue
            text = token.text
            if text == "}" and len(stack) > 1:
                was = stack.pop()
                self._add(stack[-1], statement)
                if was != INIT:
                    statement = index + 1
                continue
            self._add(stack[-1], statement)
            if text in "([":
                parens += 1
            elif text in ")]":
                parens = max(0, parens - 1)
            elif text == "{":
                kind = _opened(tokens, statement, index, stack[-1])
                stack.append(kind)
                if kind != INIT:
                    statement, parens = index + 1, 0
            elif text == ";" and not parens:
                statement = index + 1

    def _add(self, kind: str, start: int) -> None:
        self.kind.append(kind)
        self.start.append(start)


def _opened(tokens: list[Token], statement: int, brace: int, outer: str) -> str:
    if outer in (ENUM, INIT):
        return FUNCTION if _is_lambda(tokens, brace) else INIT
    words = _outer_words(tokens, statement, brace)
    before = tokens[brace - 1].text if brace else ""
    if "namespace" in words or before.startswith('"'):
        return NAMESPACE
    if "enum" in words and before != ")":
        return ENUM
    if outer != FUNCTION:
        has_call = any(tokens[i].text == "(" for i in range(statement, brace))
        if words & {"struct", "class", "union"} and not _ends_parameters(tokens, brace):
            return RECORD
        return FUNCTION if has_call and before not in ("=", ",", "(") else INIT
    if words & {"struct", "class", "union"} and "=" not in words and before != ")":
        return RECORD
    if _is_lambda(tokens, brace) or before in (")", ";", "{", "}", "else", "do", ":", "]") or brace == statement:
        return FUNCTION
    return INIT


def _outer_words(tokens: list[Token], start: int, end: int) -> set[str]:
    words: set[str] = set()
    index = start
    while index < end:
        token = tokens[index]
        if index < token.match < end:
            index = token.match + 1
            continue
        if token.text == "<" and index > start and tokens[index - 1].text in ("template",):
            index = closing_angle(tokens, index, end) + 1 or index + 1
            continue
        if token.kind == WORD or token.text == "=":
            words.add(token.text)
        index += 1
    return words


def _ends_parameters(tokens: list[Token], brace: int) -> bool:
    index = brace - 1
    while index >= 0 and tokens[index].text in _AFTER_PARAMETERS:
        index -= 1
    return index >= 0 and tokens[index].text == ")"


def _is_lambda(tokens: list[Token], brace: int) -> bool:
    index = brace - 1
    while index >= 0 and (
        tokens[index].text in _AFTER_PARAMETERS
        or tokens[index].text in ("->", "*", "&")
        or (tokens[index].kind == WORD and tokens[index - 1].text in ("->", "::", "thread", "device"))
    ):
        index -= 1
    if index >= 0 and tokens[index].text == ")":
        index = tokens[index].match - 1
    return index >= 0 and tokens[index].text == "]" and tokens[index].match >= 0 and not _is_subscript(tokens, index)


def _is_subscript(tokens: list[Token], close: int) -> bool:
    before = tokens[tokens[close].match - 1]
    return (before.kind == WORD and before.text != "return") or before.text in (")", "]")


def closing_angle(tokens: list[Token], opening: int, end: int | None = None) -> int:
    """The index of the `>` that closes the template argument list opened at `opening`, or -1."""
    depth = 0
    index = opening
    stop = min(len(tokens) if end is None else end, opening + 400)
    while index < stop:
        token = tokens[index]
        text = token.text
        if text in ("(", "[", "{") and token.match > index:
            index = token.match + 1
            continue
        if text == "<":
            depth += 1
        elif text == ">":
            depth -= 1
            if not depth:
                return index
        elif text in (";", ")", "}", "]", "&&", "||") or (text.endswith("=") and text != "="):
            return -1
        index += 1
    return -1
