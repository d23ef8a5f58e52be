"""Declarations of a Metal source text at namespace scope: names, tokens, conditions, extent.

Not a parser: it brackets, and reads the head of each declaration. What it does not recognise it leaves
alone, so that a macro invocation or an unusual declarator is never taken for a duplicate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from shaderc_tool.emit.msl_conditions import Conditions, ConditionStack
from shaderc_tool.emit.msl_heads import declared_keys, is_function_head, is_invocation
from shaderc_tool.emit.msl_lex import DIRECTIVE, PUNCT, WORD, Token, code, split_directive

MACRO: Final = "macro"


class Key(NamedTuple):
    """What must be unique: `kind` is macro, type, alias, function, kernel, value or host_name.

    `signature` tells overloads apart; it is empty for all but functions.
    """

    kind: str
    name: str
    signature: str = ""


@dataclass(frozen=True)
class Declaration:
    """A definition in the text, from `start` to `end`. `tokens` are compared, `conditions` are those at its
    start.
    """

    keys: tuple[Key, ...]
    tokens: tuple[str, ...]
    start: int
    end: int
    conditions: Conditions
    balanced: bool = True
    """False when a conditional opens or closes inside: removing the text would break the nesting."""
    undefines: bool = False
    """True for `#undef`, which ends the life of a macro."""

    @property
    def repeatable(self) -> bool:
        """True when C++ takes the same declaration twice: macros and plain aliases."""
        return all(key.kind in (MACRO, "alias") for key in self.keys)


def declarations(text: str) -> list[Declaration]:
    """The definitions in `text`, in order. Prototypes, forward declarations and `extern` objects are left
    out.
    """
    scanner = _Scanner()
    for token in code(text):
        if token.kind == DIRECTIVE:
            scanner.directive(token)
        else:
            scanner.token(token)
    return scanner.found


@dataclass
class _Scanner:
    found: list[Declaration] = field(default_factory=list)
    _conditions: ConditionStack = field(default_factory=ConditionStack)
    _saved: list[int] = field(default_factory=list)
    _group: list[Token] = field(default_factory=list)
    _depth: int = 0
    _body: str = ""
    """How the open brace at depth 0 was read: `function` ends the declaration at the closing brace."""
    _at_start: Conditions = frozenset()
    _depth_at_start: int = 0
    _lowest: int = 0
    _namespaces: list[str] = field(default_factory=list)

    def directive(self, token: Token) -> None:
        name, operand = split_directive(token.text)
        if name in ("define", "undef"):
            self._macro(token, name, operand)
        # Both branches may open a brace of which only one counts: each starts with the depth before the
        # `#if`.
        if name in ("if", "ifdef", "ifndef"):
            self._saved.append(self._depth)
        elif name in ("else", "elif") and self._saved:
            self._depth = self._saved[-1]
        elif name == "endif" and self._saved:
            self._saved.pop()
        self._conditions.feed(name, operand)
        if self._group:
            self._group.append(token)
            self._lowest = min(self._lowest, self._conditions.depth)

    def _macro(self, token: Token, name: str, operand: str) -> None:
        match = re.match(r"\w+", operand)
        if match:
            words = tuple(t.text for t in code(operand[match.end() :]))
            key = Key(MACRO, match[0])
            conditions = self._conditions.conditions()
            self.found.append(Declaration((key,), words, token.start, token.end, conditions, undefines=name == "undef"))

    def token(self, token: Token) -> None:
        if not self._group and self._depth == 0 and self._between(token):
            return
        if self._ends_invocation(token):
            self._group.clear()
        if not self._group:
            self._at_start = self._conditions.conditions()
            self._depth_at_start = self._lowest = self._conditions.depth
        if token.text == "{" and self._depth == 0 and self._opens_scope():
            return
        self._group.append(token)
        if token.kind == PUNCT:
            self._bracket(token)

    def _between(self, token: Token) -> bool:
        """A token that belongs to no declaration: the end of a namespace, or a lone semicolon."""
        if token.text == "}" and self._namespaces:
            self._namespaces.pop()
            return True
        return token.text in (";", "}")

    def _ends_invocation(self, token: Token) -> bool:
        """True when the group so far is a macro invocation without a semicolon, and `token` starts what
        follows.
        """
        starts = token.kind == WORD or token.text == "["
        return starts and self._depth == 0 and is_invocation(self._group)

    def _opens_scope(self) -> bool:
        """Enter a namespace or a linkage specification: what is inside is at namespace scope, too."""
        words = [t.text for t in self._group if t.kind != DIRECTIVE]
        if words[:1] == ["inline"]:
            words = words[1:]
        if words[:1] == ["namespace"]:
            self._namespaces.append("::".join(w for w in words[1:] if w != "::"))
        elif words[:1] == ["extern"] and len(words) == 2 and words[1].startswith('"'):
            self._namespaces.append("")
        else:
            self._body = "function" if is_function_head(self._group) else "other"
            return False
        self._group.clear()
        return True

    def _bracket(self, token: Token) -> None:
        if token.text in ("(", "[", "{"):
            self._depth += 1
        elif token.text in (")", "]", "}"):
            self._depth = max(0, self._depth - 1)
            if token.text == "}" and self._depth == 0 and self._body == "function":
                self._finish()
        elif token.text == ";" and self._depth == 0:
            self._finish()

    def _finish(self) -> None:
        group, self._group, self._body = self._group, [], ""
        scope = "::".join(filter(None, self._namespaces))
        keys = tuple(
            Key(kind, f"{scope}::{name}" if scope and kind != "host_name" else name, signature)
            for kind, name, signature in declared_keys(group)
        )
        if not keys:
            return
        balanced = self._conditions.depth == self._depth_at_start == self._lowest
        balanced = balanced and self._conditions.conditions() == self._at_start
        texts = _texts(group)
        self.found.append(Declaration(keys, texts, group[0].start, group[-1].end, self._at_start, balanced))


def _texts(group: Sequence[Token]) -> tuple[str, ...]:
    return tuple(" ".join(split_directive(t.text)) if t.kind == DIRECTIVE else t.text for t in group)
