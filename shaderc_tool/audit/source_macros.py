"""Expansion of the macros that declare kernels, so that `instantiate(add, float)` gives its kernel's name.

Only function-like macros that mention `kernel` or `host_name`, by themselves or through another such macro, are
expanded ([cpp.replace] of C++14: stringizing, pasting, variadic arguments). The rest of the text stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from shaderc_tool.emit.msl_lex import DIRECTIVE, Token, code, split_directive

_DEFINITION: Final = re.compile(r"(\w+)\(([^()]*)\)(.*)", re.DOTALL)
_DEFINE: Final = re.compile(r"#[ \t]*define[ \t]+\w+\((?:\\\n|[^\n])*")
_MARKS: Final = ("kernel", "host_name")
_DEPTH: Final = 12
_BUDGET: Final = 1 << 16
"""Words that all expansions of one text may give; the largest known text needs some thousand."""
_LONGEST: Final = 4096
"""Tokens of one invocation."""


@dataclass(frozen=True)
class Macro:
    """A function-like macro; the last parameter may be `__VA_ARGS__`."""

    parameters: tuple[str, ...]
    body: tuple[str, ...]


class _Budget:
    def __init__(self) -> None:
        self.left = _BUDGET


def expand_kernel_macros(text: str) -> str:
    """`text` with those invocations replaced; line numbers of what follows stay."""
    if not any(mark in match[0] for match in _DEFINE.finditer(text) for mark in _MARKS):
        return text
    tokens = code(text)
    macros = _kernel_macros(tokens)
    budget, parts, at, index = _Budget(), [], 0, 0
    while index < len(tokens):
        end = _invocation_end(tokens, index, macros)
        if end < 0:
            break  # an invocation that nothing closes: what follows is no longer text that a compiler takes
        if end:
            words = tuple(token.text for token in tokens[index : end + 1])
            expanded = " ".join(_expand(words, macros, budget, 0))
            old = text[tokens[index].start : tokens[end].end]
            parts += [text[at : tokens[index].start], expanded, "\n" * old.count("\n")]
            at, index = tokens[end].end, end
        index += 1
    return "".join([*parts, text[at:]])


def _kernel_macros(tokens: Sequence[Token]) -> dict[str, Macro]:
    """The function-like macros of the text that declare kernels."""
    every: dict[str, Macro] = {}
    for token in tokens:
        if token.kind == DIRECTIVE:
            name, operand = split_directive(token.text)
            match = _DEFINITION.match(operand) if name == "define" else None
            if match:
                parameters = tuple(p.strip().replace("...", "__VA_ARGS__") for p in match[2].split(",") if p.strip())
                # A leading word keeps the lexer from taking `#name` for a directive.
                body = tuple(t.text for t in code("_ " + match[3]))[1:]
                every[match[1]] = Macro(parameters, body)
    chosen = {name for name, macro in every.items() if set(_MARKS) & set(macro.body)}
    while more := {n for n, macro in every.items() if n not in chosen and chosen & set(macro.body)}:
        chosen |= more
    return {name: every[name] for name in chosen}


def _invocation_end(tokens: Sequence[Token], index: int, macros: Mapping[str, Macro]) -> int:
    """Index of the bracket that closes the invocation at `index`, 0 when there is none, -1 when nothing closes it."""
    if tokens[index].text not in macros or index + 1 >= len(tokens) or tokens[index + 1].text != "(":
        return 0
    depth = 0
    for position in range(index + 1, min(len(tokens), index + _LONGEST)):
        if tokens[position].kind == DIRECTIVE:
            return -1
        depth += (tokens[position].text == "(") - (tokens[position].text == ")")
        if depth == 0:
            return position
    return -1


def _expand(words: tuple[str, ...], macros: Mapping[str, Macro], budget: _Budget, depth: int) -> list[str]:
    """The words with every invocation replaced, and the result looked at again."""
    out: list[str] = []
    index = 0
    while index < len(words):
        word = words[index]
        opens = word in macros and words[index + 1 : index + 2] == ("(",) and budget.left > 0
        end = _closing(words, index + 1) if opens else 0
        if not end or depth > _DEPTH:
            budget.left -= _LONGEST if opens else 0
            out.append(word)
            index += 1
            continue
        replaced = _substitute(macros[word], _arguments(words[index + 2 : end], len(macros[word].parameters)))
        budget.left -= len(replaced) + sum(map(len, replaced)) // _LONGEST + 1
        rest = {name: macro for name, macro in macros.items() if name != word}
        out += _expand(tuple(replaced), rest, budget, depth + 1)
        index = end + 1
    return out


def _closing(words: Sequence[str], at: int) -> int:
    depth = 0
    for position in range(at, min(len(words), at + _LONGEST)):
        depth += (words[position] == "(") - (words[position] == ")")
        if depth == 0:
            return position
    return 0


def _arguments(words: Sequence[str], count: int) -> list[list[str]]:
    """The arguments between commas outside of brackets; the last parameter takes what is left."""
    found: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += (word in ("(", "[", "{")) - (word in (")", "]", "}"))
        if word == "," and depth == 0 and len(found) < count:
            found.append([])
        else:
            found[-1].append(word)
    return found


def _substitute(macro: Macro, arguments: Sequence[list[str]]) -> list[str]:
    """The body with parameters replaced, `#p` as a string and `a##b` as one word."""
    values = dict(zip(macro.parameters, arguments, strict=False))
    out: list[str] = []
    index, paste = 0, False
    while index < len(macro.body):
        word = macro.body[index]
        following = macro.body[index + 1 : index + 2]
        if word == "#" and following == ("#",):
            paste = True
            index += 2
            continue
        if word == "#" and following and following[0] in values:
            piece = ['"' + " ".join(values[following[0]]).replace("\\", "\\\\").replace('"', '\\"') + '"']
            index += 2
        else:
            piece = list(values.get(word, [word]))
            index += 1
        if paste and out and piece:
            out[-1] += piece.pop(0)
        out += piece
        paste = False
    return out
