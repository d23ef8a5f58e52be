"""Lexer for Metal source before preprocessing: tokens with offsets, directives whole, comments told from
code.

Phases 1 to 3 of C++14 ([lex.phases]) as far as they matter here: line splices, comments, raw strings. Trigraphs are
not replaced, as Metal does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

COMMENT, DIRECTIVE, STRING, WORD, NUMBER, PUNCT = (
    "comment",
    "directive",
    "string",
    "word",
    "number",
    "punct",
)

_LINE_COMMENT: Final = r"//(?:\\\n|[^\n])*"
_BLOCK_COMMENT: Final = r"/\*.*?(?:\*/|\Z)"

_TOKEN: Final = re.compile(
    rf"""(?P<comment>{_LINE_COMMENT}|{_BLOCK_COMMENT})
    |(?P<string>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{{0,16}})\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<newline>\n)
    |(?P<space>(?:\\\n|[ \t\f\v])+)
    |(?P<word>[A-Za-z_$][\w$]*)
    |(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
    |(?P<punct>::|->|<<=?|>=|<=|==|!=|&&|\|\||\+\+|--|[-+*/%&|^]=|\.\.\.|.)""",
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE: Final = re.compile(
    rf"""\#(?:{_BLOCK_COMMENT}|{_LINE_COMMENT}|\\\n|"(?:[^"\\\n]|\\.)*"|[^\n])*""", re.VERBOSE | re.DOTALL
)
_COMMENTS: Final = re.compile(f'("(?:[^"\\\\\\n]|\\\\.)*")|{_LINE_COMMENT}|{_BLOCK_COMMENT}', re.DOTALL)


class Token(NamedTuple):
    """One token; `start` is its offset in the text."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def lex(text: str) -> Iterator[Token]:
    """The tokens of `text`, comments included, blanks and line ends left out. Line ends must be `\\n`."""
    at, fresh = 0, True
    while at < len(text):
        if fresh and text[at] == "#":
            match = _DIRECTIVE.match(text, at)
            kind = DIRECTIVE
        else:
            match = _TOKEN.match(text, at)
            kind = match.lastgroup or "" if match else ""
        assert match is not None  # the last alternative takes any character
        if kind == "newline":
            fresh = True
        elif kind not in ("space", "mark"):
            fresh = fresh and kind == COMMENT
            yield Token(kind, match[0], at)
        at = match.end()


def code(text: str) -> list[Token]:
    """The tokens without comments."""
    return [token for token in lex(text) if token.kind != COMMENT]


def split_directive(text: str) -> tuple[str, str]:
    """Name and operand of a directive, comments and splices removed: `("include", '"a.h"')`."""
    plain = _COMMENTS.sub(lambda match: match[1] or " ", text.replace("\\\n", " "))[1:].strip()
    name = re.match(r"\w*", plain)
    assert name is not None
    return name[0], plain[name.end() :].strip()


def clean_text(text: str) -> str:
    """`text` as the first phases leave it: no byte order mark, line ends `\\n`, the last line ended.

    A splice at the very end gets one more line end, so that it cannot join what is put behind it.
    """
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if plain and not plain.endswith("\n"):
        plain += "\n"
    return plain + "\n" if plain.endswith("\\\n") else plain
