"""Variables in the wrong address space, and words that Metal leaves out of C++."""

from __future__ import annotations

from collections.abc import Iterator

from shaderc_tool.diagnostics import Diagnostic
from shaderc_tool.msl.checks.place import At
from shaderc_tool.msl.rewrite import Rewritten
from shaderc_tool.msl.rewrite.scopes import FUNCTION, NAMESPACE
from shaderc_tool.msl.shim.names import ELEMENTS, VECTOR_NAMES
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


_SPACES = frozenset(["device", "constant", "threadgroup", "thread", "ray_data", "object_data"])
_PLAIN_TYPES = frozenset([*VECTOR_NAMES, *(e.msl for e in ELEMENTS), "bool", "size_t", "bfloat"])


def unqualified_pointers(unit: Rewritten, at: At) -> Iterator[Diagnostic]:
    """Pointers and references to built-in types, whose address space no template argument can bring."""
    tokens = unit.stream.tokens
    kernels = {p.token for pattern in unit.entries.patterns for p in pattern.parameters if pattern.stage == "kernel"}
    for index, token in enumerate(tokens):
        if token.was not in _PLAIN_TYPES or token.kind != WORD or index + 3 >= len(tokens):
            continue
        mark, name, after = tokens[index + 1], tokens[index + 2], tokens[index + 3]
        if mark.was not in ("*", "&") or name.kind != WORD or after.was not in (",", ")", "=", ";"):
            continue
        if name.was in ("const", "operator", *_SPACES) or index + 2 in kernels or _has_space(tokens, index):
            continue
        kind = "pointer" if mark.was == "*" else "reference"
        yield Diagnostic(
            "SP8006",
            f"{kind} '{name.was}' has no address space",
            at(index + 2),
            cause=f"every {kind} in Metal says what it points to: device, constant, threadgroup or thread",
            fix=f"write thread {token.was} {mark.was}{name.was}, or the space of what is passed",
        )


def _has_space(tokens: list[Token], index: int) -> bool:
    """Whether an address space stands before the type, in the same declaration."""
    before = index - 1
    while before >= 0 and tokens[before].kind == WORD and tokens[before].was not in ("return", "case"):
        if tokens[before].was in _SPACES:
            return True
        before -= 1
    return False


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
