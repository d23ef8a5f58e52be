"""Variables in the constant address space at program scope, function constants among them."""

from __future__ import annotations

from dataclasses import dataclass

from shaderc_tool.msl.rewrite.attributes import AttributeList
from shaderc_tool.msl.rewrite.scopes import FUNCTION, NAMESPACE, RECORD, Scopes, closing_angle
from shaderc_tool.msl.shim.names import ELEMENTS, VECTOR_NAMES
from shaderc_tool.msl.tokens import WORD, Token

_SCALARS = frozenset({e.msl for e in ELEMENTS} | {"bool", "unsigned", "signed", "size_t"})


@dataclass(frozen=True)
class FunctionConstant:
    """`constant TYPE NAME [[function_constant(INDEX)]];`. `type` is spelled as in the source."""

    name: str
    type: str
    index: int
    token: int


def rewrite_constants(tokens: list[Token], scopes: Scopes, lists: list[AttributeList]) -> list[FunctionConstant]:
    """Mark constant variables for clang and wrap the uses of constant arrays and structures.

    clang wants program-scope constants in OpenCL's own constant space; everything else sees constants through
    `keywords.CONSTANT_OBJECT`. Scalars need no wrapper: they are read, and read in constant expressions.
    """
    records, parameters = _record_names(tokens), _template_values(tokens)
    by_start = {a.start: a for a in lists}
    found: list[FunctionConstant] = []
    wrapped: dict[str, int] = {}
    for index, token in enumerate(tokens):
        if token.was != "constant" or token.kind != WORD or not _is_variable(tokens, scopes, index):
            continue
        statement, end = scopes.start[index], _declaration_end(tokens, index)
        words = {t.text for t in tokens[statement:end]}
        token.text = "__constant" if "constexpr" in words else "const __constant"
        name = _declared_name(tokens, index, end)
        if name < 0:
            continue
        constant = _function_constant(tokens, by_start, name, index)
        if constant is not None:
            found.append(constant)
            token.text = "extern const __constant"
            for other in range(statement, name):
                if tokens[other].text in ("static", "constexpr"):
                    tokens[other].text = ""
        elif _is_aggregate(tokens, index, name, records) and tokens[name].text not in parameters:
            wrapped.setdefault(tokens[name].text, end)
    _wrap_uses(tokens, wrapped)
    return found


def _is_variable(tokens: list[Token], scopes: Scopes, index: int) -> bool:
    statement = scopes.start[index]
    if scopes.kind[index] not in (NAMESPACE, RECORD, FUNCTION):
        return False
    if scopes.kind[index] == FUNCTION and not any(t.text == "static" for t in tokens[statement:index]):
        return False
    if scopes.kind[index] == RECORD and not any(t.text == "static" for t in tokens[statement : index + 3]):
        return False
    at = statement
    while at < index:  # the keyword stands at the outer level of the declaration, not in a parameter list
        if tokens[at].text in ("(", "["):
            if at < index < tokens[at].match:
                return False
            at = max(tokens[at].match, at)
        elif tokens[at].text == "<":
            close = closing_angle(tokens, at)
            if at < index < close:
                return False
        at += 1
    end = _declaration_end(tokens, index)
    name = _declared_name(tokens, index, end)
    if name < 0 or any(t.text in ("*", "&") for t in tokens[index:name]):
        return False
    if end >= len(tokens) or tokens[end].text != "(":
        return True
    close = tokens[end].match  # an object with constructor arguments
    return 0 < close < len(tokens) - 1 and tokens[close + 1].text == ";"


def _declaration_end(tokens: list[Token], index: int) -> int:
    """The first token after the declarator's name: `=`, `[`, `{`, `;`, `,` or `(`."""
    at = index
    while at < len(tokens):
        text = tokens[at].text
        if text == "<":
            close = closing_angle(tokens, at)
            if close > 0:
                at = close
        elif text in ("=", "[", "{", ";", ",", "(", ")", ":") and at > index:
            return at
        at += 1
    return at


def _declared_name(tokens: list[Token], index: int, end: int) -> int:
    for at in range(end - 1, index, -1):
        if tokens[at].kind == WORD:
            return at
    return -1


def _function_constant(
    tokens: list[Token], by_start: dict[int, AttributeList], name: int, index: int
) -> FunctionConstant | None:
    attributes = by_start.get(name + 1)
    if attributes is None:
        return None
    for attribute in attributes.attributes:
        if attribute.name == "function_constant" and attribute.number is not None:
            skip = ("constexpr", "static", "const")
            spelled = " ".join(t.text for t in tokens[index + 1 : name] if t.text not in skip)
            return FunctionConstant(tokens[name].text, spelled, attribute.number, name)
    return None


def _is_aggregate(tokens: list[Token], index: int, name: int, records: set[str]) -> bool:
    if name + 1 < len(tokens) and tokens[name + 1].text == "[":
        return True
    words = [t.text for t in tokens[index + 1 : name] if t.kind == WORD]
    if any(w in _SCALARS or w in VECTOR_NAMES for w in words):
        return False
    return any(w in records or ("x" in w and w[:5] in ("float", "half2", "half3", "half4")) for w in words)


def _record_names(tokens: list[Token]) -> set[str]:
    return {
        tokens[index + 1].text
        for index in range(len(tokens) - 1)
        if tokens[index].text in ("struct", "class", "union") and tokens[index + 1].kind == WORD
    }


def _template_values(tokens: list[Token]) -> set[str]:
    """Names of non-type template parameters: the same word may be a constant elsewhere."""
    found: set[str] = set()
    for index, token in enumerate(tokens):
        if token.text != "template" or token.kind != WORD or tokens[index + 1].text != "<":
            continue
        close = closing_angle(tokens, index + 1)
        for at in range(index + 2, close):
            if tokens[at].kind == WORD and tokens[at + 1].text in (",", ">", "=") and tokens[at - 1].kind == WORD:
                found.add(tokens[at].text)
    return found


def _wrap_uses(tokens: list[Token], wrapped: dict[str, int]) -> None:
    for index, token in enumerate(tokens):
        if token.kind != WORD or token.text not in wrapped or index < wrapped[token.text]:
            continue
        before = tokens[index - 1]
        if before.text in (".", "->", "::") or (before.kind == WORD and before.text not in ("return", "case", "else")):
            continue  # a member of that name, or the declaration of another variable of that name
        if before.text in (">", "*", "&") and index + 1 < len(tokens) and _declares(tokens, index):
            continue
        token.text = f"metal::__at({token.text})"


def _declares(tokens: list[Token], index: int) -> bool:
    """`float * lut)` or `T & lut,`: a parameter. `a * lut[` and `a & lut)` are uses when `a` is no type."""
    space = index - 2
    return tokens[space].text in _SCALARS or tokens[space].text in VECTOR_NAMES or tokens[index - 1].text == ">"
