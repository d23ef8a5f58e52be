"""Kernel names in host sources: literals, and format strings with what is known of their arguments.

A format argument is *closed* when its values are literals in the same function (a literal, both arms of `?:`, the
assignments to a variable), else *open*. Values that a `case` assigns hang on the switch, so they are not combined
freely with the other arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from shaderc_tool.audit.host_tokens import HostToken, host_tokens
from shaderc_tool.diagnostics import Place

SUFFIXES: Final = (".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".m", ".mm", ".swift", ".py", ".cu", ".inl")

_SPEC: Final = re.compile(r"%(?:\{([^}]*)\}|%|[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z|j|t|q)?([a-zA-Z@]))")
_NUMBERS: Final = "diuxXo"
_LOOKUPS: Final = (
    "newFunctionWithName", "makeFunction", "newFunction", "get_function", "getFunction", "functionWithName",
)  # fmt: skip
_CALL_TOKENS: Final = 12
"""How far a literal may stand behind the name of a look-up function: `device->get_function(library, "name")`."""
_DEPTH: Final = 4
_NAME: Final = re.compile(r"[A-Za-z_][\w:<>, ]*")


@dataclass(frozen=True)
class Value:
    """One value of a hole: text, or parts with holes of their own. `optional` ones need not be in any library."""

    parts: tuple[str | Hole, ...]
    optional: bool = False
    correlated: bool = False


@dataclass(frozen=True)
class Hole:
    """A format argument: its expression without blanks, the values when closed, a number or text when open.

    `origin` is what the function assigns to an argument that is a variable, empty when it is none.
    """

    argument: str
    values: tuple[Value, ...] = ()
    number: bool = False
    origin: str = ""

    @property
    def free(self) -> bool:
        """True when its values combine with those of other holes."""
        return bool(self.values) and not any(value.correlated or value.optional for value in self.values)


@dataclass(frozen=True)
class NameUse:
    """A kernel name that a host source makes, as `parts`; `text` is as written. `lookup`: it stands in a look-up."""

    text: str
    parts: tuple[str | Hole, ...]
    place: Place
    lookup: bool = False

    @property
    def is_literal(self) -> bool:
        return all(isinstance(part, str) for part in self.parts)


def name_uses(text: str, file: str, prefixes: Sequence[str]) -> list[NameUse]:
    """Every literal that starts with one of `prefixes` or is looked up as a function, in order."""
    tokens = host_tokens(text, "." + file.rpartition(".")[2].lower())
    return list(_Scanner(tokens, file, tuple(prefixes)).uses())


class _Scanner:
    def __init__(self, tokens: list[HostToken], file: str, prefixes: tuple[str, ...]) -> None:
        self.tokens, self.file, self.prefixes = tokens, file, prefixes
        self._starts = self._functions()

    def _functions(self) -> list[int]:
        """For each token the index where its function may start: behind the last `}` in column 1."""
        starts, start = [], 0
        for index, token in enumerate(self.tokens):
            starts.append(start)
            if token.text == "}" and token.column == 1 and not token.is_string:
                start = index + 1
        return starts

    def uses(self) -> Iterator[NameUse]:
        for index, token in enumerate(self.tokens):
            if not token.is_string or not _NAME.match(token.text):
                continue
            lookup = self._is_lookup(index)
            if not (lookup or token.text.startswith(self.prefixes)) or " " in token.text.strip():
                continue
            parts = self._expand(index, 0)
            yield NameUse(token.text, parts, Place(self.file, token.line, token.column), lookup)

    def _is_lookup(self, index: int) -> bool:
        for token in reversed(self.tokens[max(0, index - _CALL_TOKENS) : index]):
            if token.text in (";", "{", "}"):
                return False
            if token.text in _LOOKUPS:
                return True
        return False

    # --- format strings

    def _expand(self, index: int, depth: int) -> tuple[str | Hole, ...]:
        """The parts of the string at `index`, its holes filled from the arguments that follow it."""
        text = self.tokens[index].text
        arguments = self._arguments(index + 1) if "%" in text else []
        parts: list[str | Hole] = []
        at, used = 0, 0
        for match in _SPEC.finditer(text):
            parts.append(text[at : match.start()])
            at = match.end()
            if match[0] == "%%":
                parts.append("%")
            elif match[1] is not None:
                parts.append(Hole("".join(match[1].split())))
            else:
                argument = arguments[used] if used < len(arguments) else []
                used += 1
                parts.append(self._hole(argument, match[2] in _NUMBERS, index, depth))
        parts.append(text[at:])
        return tuple(part for part in parts if part != "")

    def _arguments(self, at: int) -> list[list[int]]:
        """Token indices of each argument behind the string, up to the bracket that closes the call."""
        found: list[list[int]] = []
        depth = 0
        for index in range(at, len(self.tokens)):
            word = "" if self.tokens[index].is_string else self.tokens[index].text
            if word in (")", "]", "}"):
                depth -= 1
            if depth < 0 or word == ";":
                break
            if word == "," and depth == 0:
                found.append([])
            elif found:
                found[-1].append(index)
            if word in ("(", "[", "{"):
                depth += 1
        return found

    def _hole(self, argument: list[int], number: bool, index: int, depth: int) -> Hole:
        written = self._written(argument)
        values = self._values(argument, index, depth) if depth < _DEPTH else None
        if values:
            return Hole(written, tuple(dict.fromkeys(values)), number)
        return Hole(written, (), number, self._origin(written, index) if len(argument) == 1 else "")

    def _written(self, expression: Sequence[int]) -> str:
        return "".join(self.tokens[i].text for i in expression)

    def _origin(self, name: str, index: int) -> str:
        """The expression last assigned to a variable before `index`."""
        for at in range(index - 1, self._starts[index], -1):
            if self.tokens[at].text == name and self.tokens[at + 1].text == "=" and not self.tokens[at].is_string:
                return self._written(self._expression(at + 2))
        return ""

    def _expression(self, start: int) -> list[int]:
        """Token indices from `start` to the `;` or `,` that ends the expression."""
        expression: list[int] = []
        level = 0
        for index in range(start, len(self.tokens)):
            word = "" if self.tokens[index].is_string else self.tokens[index].text
            level += (word in ("(", "[", "{")) - (word in (")", "]", "}"))
            if level < 0 or (level == 0 and word in (";", ",")):
                break
            expression.append(index)
        return expression

    def _values(self, expression: list[int], index: int, depth: int) -> list[Value] | None:
        """The values of an expression, None when one of them is not known."""
        words = [self.tokens[i] for i in expression]
        while len(words) > 2 and words[0].text == "(" and words[-1].text == ")" and _closes(words):
            expression, words = expression[1:-1], words[1:-1]
        if len(words) == 1 and words[0].is_string:
            return [Value(self._expand(expression[0], depth + 1))]
        arms = _arms(words)
        if arms:
            question, colon = arms
            first = self._values(expression[question + 1 : colon], index, depth)
            second = self._values(expression[colon + 1 :], index, depth)
            if first is None and second is None:
                return None
            arms_of = ((first, expression[question + 1 : colon]), (second, expression[colon + 1 :]))
            return [v for known, arm in arms_of for v in known or [Value((Hole(self._written(arm)),))]]
        if len(words) == 1 and re.fullmatch(r"[A-Za-z_]\w*", words[0].text):
            return self._assigned(words[0].text, index, depth + 1)
        return None

    def _assigned(self, name: str, index: int, depth: int) -> list[Value] | None:
        """What the function assigns to a variable before `index`."""
        if depth >= _DEPTH:
            return None
        values: list[Value] = []
        first_is_initial, in_case = False, False
        for at in range(self._starts[index], index):
            if self.tokens[at].text != name or self.tokens[at].is_string:
                continue
            found = self._one_assignment(at, depth)
            if found is None:
                continue
            declared = at > 0 and self.tokens[at - 1].text not in (";", "{", "}", ":", ")", "else", "(", ",")
            if not found and not declared:
                return None
            if not found:
                continue
            correlated = self._inside_case(at)
            in_case = in_case or correlated
            first_is_initial = first_is_initial or (declared and not values)
            values += [Value(v.parts, v.optional, v.correlated or correlated) for v in found]
        if first_is_initial and len(values) > 1:
            # The initial value may always be overwritten: it is allowed, not needed, when a switch follows.
            values[0] = Value(values[0].parts, in_case, values[0].correlated)
        return values or None

    def _one_assignment(self, at: int, depth: int) -> list[Value] | None:
        """Values that the tokens at a variable's name assign; None when they assign nothing, [] when unknown."""
        tokens = self.tokens
        following = at + 1
        if at + 3 < len(tokens) and tokens[at + 1].text == "[" and tokens[at + 3].text == "]":
            following = at + 4  # `char text[16] = …`
        if tokens[at - 1].text == "(" and at > 1 and tokens[at - 2].text in ("snprintf", "sprintf"):
            string = next((i for i in range(at, min(at + _CALL_TOKENS, len(tokens))) if tokens[i].is_string), None)
            return [Value(self._expand(string, depth))] if string is not None else []
        if following >= len(tokens) or tokens[following].text != "=":
            return None
        expression = self._expression(following + 1)
        text = self._written(expression)
        if text in ("{0}", "{}", "{'\\0'}"):
            return [Value(())]
        return self._values(expression, at, depth) or []

    def _inside_case(self, at: int) -> bool:
        """True when a `case` label is nearer than the opening of the function."""
        depth = 0
        for index in range(at - 1, self._starts[at] - 1, -1):
            word = "" if self.tokens[index].is_string else self.tokens[index].text
            depth += (word == "}") - (word == "{")
            if depth <= 0 and word == "case":
                return True
        return False


def _closes(words: Sequence[HostToken]) -> bool:
    """True when the first bracket is closed by the last."""
    depth = 0
    for position, word in enumerate(words):
        depth += (word.text == "(") - (word.text == ")")
        if depth == 0:
            return position == len(words) - 1
    return False


def _arms(words: Sequence[HostToken]) -> tuple[int, int] | None:
    """Positions of the `?` and the `:` of a conditional expression."""
    depth, nested, question = 0, 0, -1
    for position, word in enumerate(words):
        text = "" if word.is_string else word.text
        depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
        if depth:
            continue
        if text == "?":
            nested += 1
            question = position if question < 0 else question
        elif text == ":" and nested:
            nested -= 1
            if nested == 0:
                return question, position
    return None
