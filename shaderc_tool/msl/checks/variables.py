"""Variables in the wrong address space, and words that Metal leaves out of C++."""

from __future__ import annotations

from collections.abc import Iterator

from shaderc_tool.diagnostics import Diagnostic
from shaderc_tool.msl.checks.place import At
from shaderc_tool.msl.rewrite import Rewritten
from shaderc_tool.msl.rewrite.scopes import FUNCTION, NAMESPACE
from shaderc_tool.msl.tokens import WORD, Token

_DECLARES_NOTHING = frozenset(
    [
        "struct",
        "class",
        "union",
        "enum",
        "namespace",
        "using",
        "typedef",
        "template",
        "extern",
        "static_assert",
        "kernel",
        "vertex",
        "fragment",
        "constant",
        "device",
        "threadgroup",
        "thread",
        "METAL_FUNC",
        "inline",
    ]
)


def program_scope(unit: Rewritten, at: At) -> Iterator[Diagnostic]:
    tokens, scopes = unit.stream.tokens, unit.scopes
    for index, token in enumerate(tokens):
        if scopes.kind[index] != NAMESPACE or scopes.start[index] != index:
            continue
        problem = _bad_program_variable(tokens, index)
        if problem >= 0:
            yield Diagnostic(
                "SP8006",
                f"program-scope variable '{tokens[problem].was}' must be in the constant address space",
                at(problem),
                cause=f"'{token.was}' at program scope has no constant qualifier",
                fix=f"declare it as constant {token.was} {tokens[problem].was}",
            )


def _bad_program_variable(tokens: list[Token], start: int) -> int:
    """The name token of a variable at program scope without an address space, or -1."""
    if tokens[start].kind != WORD or tokens[start].was in _DECLARES_NOTHING - {"threadgroup", "device", "thread"}:
        return -1
    at = start
    name = -1
    while at < len(tokens):
        token = tokens[at]
        text = token.was
        if text in (
            "constant",
            "kernel",
            "vertex",
            "fragment",
            "operator",
            "friend",
            "struct",
            "class",
            "enum",
            "union",
        ):
            return -1
        if text in ("(", "{", "}", "::") and at > start:
            return -1
        if text == "[" and tokens[at + 1].was == "[":
            at = token.match + 1
            continue
        if text in ("=", ";", "["):
            return name if name > start else -1
        if text == "<":
            return -1
        if token.kind == WORD:
            name = at
        at += 1
    return -1


def threadgroup_initializers(unit: Rewritten, at: At) -> Iterator[Diagnostic]:
    tokens, scopes = unit.stream.tokens, unit.scopes
    for index, token in enumerate(tokens):
        if token.was != "threadgroup" or scopes.kind[index] != FUNCTION or scopes.start[index] != index:
            continue
        end = next((i for i in range(index, len(tokens)) if tokens[i].was in ("=", ";", "(", "*", "&", "{")), index)
        if tokens[end].was == "=" and tokens[end - 1].kind == WORD:
            name = tokens[end - 1].was
            yield Diagnostic(
                "SP8006",
                f"threadgroup variable '{name}' cannot have an initializer",
                at(index),
                cause="threadgroup memory is not initialised: every thread would write it",
                fix="assign it in one thread, then call threadgroup_barrier",
            )


def words_of_cpp(unit: Rewritten, at: At) -> Iterator[Diagnostic]:
    banned = {
        "double": "Metal has no double; use float",
        "goto": "Metal has no goto",
        "throw": "Metal has no exceptions",
        "virtual": "Metal has no virtual functions",
        "dynamic_cast": "Metal has no dynamic_cast",
        "new": "Metal has no memory allocation",
        "delete": "Metal has no memory allocation",
    }
    tokens = unit.stream.tokens
    for index, token in enumerate(tokens):
        if token.kind == WORD and token.was in banned and not (token.was == "delete" and tokens[index - 1].was == "="):
            yield Diagnostic(
                "SP8001",
                f"'{token.was}' is not supported in Metal",
                at(index),
                cause=banned[token.was],
                fix="use what the Metal Shading Language specification has instead",
            )
