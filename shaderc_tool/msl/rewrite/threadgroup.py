"""Variables in the threadgroup address space.

clang allows them in OpenCL kernels only, and no kernel is one for clang. Each becomes a reference to what a function
without a body returns; AIR emission makes a global of each such function.
"""

from __future__ import annotations

from shaderc_tool.msl.rewrite.scopes import FUNCTION, Scopes, closing_angle
from shaderc_tool.msl.tokens import WORD, Token

_QUALIFIERS = frozenset({"volatile", "const", "static"})


def rewrite_threadgroup(tokens: list[Token], scopes: Scopes) -> None:
    """Rewrite every threadgroup variable of a function body; run after all other rewrites of types and sizes."""
    slot = 0
    for index, token in enumerate(tokens):
        if token.was != "threadgroup" or token.kind != WORD or scopes.kind[index] != FUNCTION:
            continue
        start = scopes.start[index]
        if any(t.was not in _QUALIFIERS for t in tokens[start:index]):
            continue
        first = index + 1
        name = _name(tokens, first)
        if name >= 0:
            slot = _rewrite(tokens, index, name, slot)


def _name(tokens: list[Token], first: int) -> int:
    """The declared name, or -1 when this declares a pointer, a reference or no variable at all."""
    at = first
    last = -1
    while at < len(tokens):
        text = tokens[at].was
        if text == "<":
            close = closing_angle(tokens, at)
            if close < 0:
                return -1
            at = close
        elif text == "alignas" or (text == "(" and tokens[at - 1].was == "alignas"):
            at = tokens[at].match if text == "(" else at
        elif text in ("*", "&", "(", ")", "="):
            return -1
        elif text in ("[", ";", ","):
            return last if last > first else -1
        elif tokens[at].kind == WORD:
            last = at
        at += 1
    return -1


def _rewrite(tokens: list[Token], keyword: int, name: int, slot: int) -> int:
    kind = " ".join(t.text for t in tokens[keyword + 1 : name] if t.text)
    at = name
    while True:
        end = at + 1
        sizes = ""
        while tokens[end].was == "[":
            close = tokens[end].match
            sizes += "".join(t.space + t.text for t in tokens[end : close + 1])
            end = close + 1
        whole = f"{kind}{sizes}"
        tokens[at].text = f"(&{tokens[at].text})" if sizes else f"&{tokens[at].text}"
        init = f" = *metal::__threadgroup_slot<{slot}, {whole}>()"
        slot += 1
        if tokens[end].was != ",":
            tokens[end].text = init + tokens[end].text
            return slot
        tokens[end].text = f"{init}; __local {kind}"
        at = end + 1
