"""Entry points: kernel, vertex and fragment functions, and their explicit instantiations."""

from __future__ import annotations

from dataclasses import dataclass

from shaderc_tool.msl.rewrite.attributes import Attribute, AttributeList, blank
from shaderc_tool.msl.rewrite.scopes import NAMESPACE, Scopes, closing_angle
from shaderc_tool.msl.tokens import WORD, Token, split_commas

STAGES = ("kernel", "vertex", "fragment", "mesh", "object", "intersection", "visible")
PATTERN_MARK, ENTRY_MARK = "P:", "E:"
"""Annotations through which LLVM's module tells which function is which entry point."""
TYPE_PROBE = "__shaderpack_type_"
"""Variables whose debug information holds the parameter types; the functions themselves have none."""


@dataclass(frozen=True)
class Parameter:
    """One parameter: the words of its type as in the source, its name, its attributes."""

    name: str
    type: tuple[str, ...]
    token: int
    attributes: tuple[Attribute, ...] = ()

    def attribute(self, name: str) -> Attribute | None:
        return next((a for a in self.attributes if a.name == name), None)

    @property
    def is_indirect(self) -> bool:
        return bool({"*", "&", "["} & set(self.type))

    @property
    def space(self) -> str:
        """The address space word of a pointer or reference, or ""."""
        return next((w for w in self.type if w in ("device", "constant", "threadgroup", "thread")), "")


@dataclass(frozen=True)
class Pattern:
    """A function definition with a stage word; a template when `is_template`."""

    stage: str
    name: str
    token: int
    parameters: tuple[Parameter, ...]
    attributes: tuple[Attribute, ...]
    is_template: bool
    returns: tuple[str, ...] = ()

    def attribute(self, name: str) -> Attribute | None:
        return next((a for a in self.attributes if a.name == name), None)


@dataclass(frozen=True)
class Instantiation:
    """`template [[host_name("x")]] kernel T f<A>;`."""

    host_name: str
    function: str
    token: int
    attributes: tuple[Attribute, ...]


@dataclass(frozen=True)
class Entries:
    patterns: tuple[Pattern, ...]
    instantiations: tuple[Instantiation, ...]
    probes: str
    """Declarations to put after the source."""


def rewrite_entries(tokens: list[Token], scopes: Scopes, lists: list[AttributeList]) -> Entries:
    """Find the entry points, annotate them, and take stage words and attributes out."""
    by_start = {a.start: a for a in lists}
    patterns: list[Pattern] = []
    instantiations: list[Instantiation] = []
    probes: list[str] = []
    done = -1
    for index, token in enumerate(tokens):
        if index <= done or scopes.kind[index] != NAMESPACE:
            continue
        if token.was == "template" and tokens[index + 1].was != "<":
            done = _end(tokens, index)
            instantiations.append(_instantiation(tokens, index, done, by_start, len(instantiations), probes))
            continue
        if _is_stage(tokens, index, by_start):
            pattern = _pattern(tokens, scopes, index, by_start, len(patterns), probes)
            if pattern is not None:
                patterns.append(pattern)
                done = tokens[pattern.token + 1].match
    for attributes in lists:
        blank(tokens, attributes.start, attributes.end)
    return Entries(tuple(patterns), tuple(instantiations), " ".join(probes))


def _is_stage(tokens: list[Token], index: int, by_start: dict[int, AttributeList]) -> bool:
    if index in by_start:
        return any(a.name in STAGES for a in by_start[index].attributes)
    token = tokens[index]
    if token.was not in STAGES[:3] or token.kind != WORD:
        return False
    return tokens[index + 1].kind == WORD or index + 1 in by_start


def _end(tokens: list[Token], index: int) -> int:
    at = index
    while at < len(tokens) and tokens[at].was not in (";", "{"):
        at = tokens[at].match + 1 if tokens[at].was == "(" and tokens[at].match > at else at + 1
    return min(at, len(tokens) - 1)


def _in_lists(start: int, end: int, by_start: dict[int, AttributeList]) -> list[Attribute]:
    return [a for s, found in by_start.items() if start <= s < end for a in found.attributes]


def _declarator(tokens: list[Token], start: int, by_start: dict[int, AttributeList]) -> int:
    """The index of the function's name: the word before the parameter list. -1 when there is none."""
    at = start
    while at < len(tokens):
        text = tokens[at].was
        if at in by_start:
            at = by_start[at].end + 1
            continue
        if text == "<":
            close = closing_angle(tokens, at)
            at = close if close > 0 else at
        elif text == "(":
            if tokens[at - 1].was in ("__attribute__", "alignas", "decltype"):
                at = tokens[at].match
            else:
                return at - 1 if tokens[at - 1].kind == WORD else -1
        elif text in (";", "{", "}", "="):
            return -1
        at += 1
    return -1


def _pattern(
    tokens: list[Token],
    scopes: Scopes,
    index: int,
    by_start: dict[int, AttributeList],
    number: int,
    probes: list[str],
) -> Pattern | None:
    statement = scopes.start[index]
    name = _declarator(tokens, index, by_start)
    if name < 0:
        return None
    attributes = _in_lists(statement, name, by_start)
    stage = next((a.name for a in attributes if a.name in STAGES), "")
    returns: list[str] = []
    for at in range(statement, name):
        if tokens[at].was in STAGES and tokens[at].kind == WORD and not _inside(at, by_start):
            stage = stage or tokens[at].was
            tokens[at].text = ""
        elif at >= index and tokens[at].kind == WORD and not _inside(at, by_start):
            returns.append(tokens[at].was)
    close = tokens[name + 1].match
    if close < 0:
        return None
    attributes += _in_lists(close, _end(tokens, close), by_start)
    parameters = tuple(_parameters(tokens, name + 1, by_start))
    is_template = tokens[statement].was == "template"
    _annotate(tokens, index, by_start, f"{PATTERN_MARK}{number}")
    if not is_template:
        probes.append(_probe(_qualified(tokens, index, tokens[name].was), str(number)))
    return Pattern(stage, tokens[name].was, name, parameters, tuple(attributes), is_template, tuple(returns))


def _inside(index: int, by_start: dict[int, AttributeList]) -> bool:
    return any(start <= index <= found.end for start, found in by_start.items())


def _annotate(tokens: list[Token], index: int, by_start: dict[int, AttributeList], mark: str) -> None:
    """Put an annotation where the stage word was: the attribute list there is blanked later, so hang it before."""
    text = f'__attribute__((annotate("{mark}")))'
    target = tokens[index - 1] if index else tokens[index]
    if index in by_start or index == 0:
        target.text = f"{target.text} {text}"
    else:
        tokens[index].text = f"{text} {tokens[index].text}".rstrip()


def _probe(function: str, number: str) -> str:
    return f"extern __constant decltype(&{function}) {TYPE_PROBE}{number} = nullptr;"


def _qualified(tokens: list[Token], index: int, name: str) -> str:
    """`name` with the namespaces around token `index`."""
    path = [
        tokens[at + 1].was
        for at in range(index)
        if tokens[at].was == "namespace" and tokens[at + 2].was == "{" and tokens[at + 2].match > index
    ]
    return "::".join([*path, name])


def _parameters(tokens: list[Token], opening: int, by_start: dict[int, AttributeList]) -> list[Parameter]:
    found: list[Parameter] = []
    close = tokens[opening].match
    for start, end in split_commas(tokens, opening + 1, close):
        attributes = tuple(_in_lists(start, end, by_start))
        bare = [i for i in range(start, end) if not _inside(i, by_start)]
        if not bare or (len(bare) == 1 and tokens[bare[0]].was == "void"):
            continue
        default = next((k for k, i in enumerate(bare) if k and tokens[i].was in ("=", "[")), len(bare))
        name = next((i for i in reversed(bare[:default]) if tokens[i].kind == WORD), bare[0])
        kind = tuple(tokens[i].was for i in bare[: default + 1] if i != name and tokens[i].was != "=")
        found.append(Parameter(tokens[name].was, kind, name, attributes))
    return found


def _instantiation(
    tokens: list[Token],
    index: int,
    end: int,
    by_start: dict[int, AttributeList],
    number: int,
    probes: list[str],
) -> Instantiation:
    attributes = tuple(_in_lists(index, end, by_start))
    host = next((a.string for a in attributes if a.name == "host_name"), "")
    name, angle = index, -1
    at = index + 1
    while at < end:
        if at in by_start:
            at = by_start[at].end + 1
            continue
        token = tokens[at]
        if token.was in STAGES:
            token.text = ""
        elif token.was == "<":
            angle = closing_angle(tokens, at)
            name = at - 1
            at = angle if angle > 0 else at
        elif token.was == "(" and tokens[at - 1].was != "decltype":
            break
        elif token.was == "(":
            at = token.match
        at += 1
    if any(a.name in (*STAGES, "host_name") for a in attributes) or host or _has_stage(tokens, index, end):
        tokens[index].text = f'template __attribute__((annotate("{ENTRY_MARK}{number}")))'
        if angle > 0:
            written = "".join(t.space + t.was for t in tokens[name : angle + 1]).strip()
            probes.append(_probe(_qualified(tokens, index, written), f"i{number}"))
    return Instantiation(host, tokens[name].was, index, attributes)


def _has_stage(tokens: list[Token], start: int, end: int) -> bool:
    return any(t.was in STAGES[:3] and not t.text for t in tokens[start:end])
