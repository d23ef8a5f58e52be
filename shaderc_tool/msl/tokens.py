"""Tokens of preprocessed Metal source, with the way back to the user's file and line.

A rewrite changes `Token.text` in place and never adds or removes a line break, so that line N of the rewritten text is
line N of the preprocessed text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\f\v]+)
    |(?P<newline>\n)
    |(?P<word>[A-Za-z_$][A-Za-z0-9_$]*)
    |(?P<number>\.?\d(?:[eEpP][+-]|[A-Za-z0-9_.'])*)
    |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<punct>::|->\*?|\.\*|<<=?|>=|<=|==|!=|&&|\|\||\+\+|--|[-+*/%&|^]=|\#\#|\.\.\.|.)""",
    re.VERBOSE,
)
_MARKER = re.compile(r'#\s+(\d+)\s+"((?:[^"\\]|\\.)*)"')
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_OPENERS = {closer: opener for opener, closer in _PAIRS.items()}

WORD, NUMBER, STRING, PUNCT, DIRECTIVE = "word", "number", "string", "punct", "directive"


class Token:
    """One token. `was` is its text before any rewrite, `space` the blanks before it, `line` its text line (from 0)."""

    __slots__ = ("column", "kind", "line", "match", "space", "text", "was")

    def __init__(self, kind: str, text: str, space: str, line: int, column: int) -> None:
        self.kind = kind
        self.text = text
        self.was = text
        self.space = space
        self.line = line
        self.column = column
        self.match = -1

    def __repr__(self) -> str:
        return f"Token({self.text!r}@{self.line}:{self.column})"


@dataclass
class TokenStream:
    """All tokens of a translation unit.

    `places[n]` is the (file, line) of text line n. Brackets point at each other through `Token.match`; a bracket
    without its partner has -1.
    """

    tokens: list[Token]
    lines: list[str]
    places: list[tuple[str, int]]
    files: tuple[str, ...] = ()
    markers: dict[int, str] = field(default_factory=dict)
    """The line markers by text line; they are no tokens, so that lines of the text can be told apart."""
    _by_line: dict[int, list[Token]] = field(default_factory=dict, repr=False)

    def text(self) -> str:
        """The text of the tokens as they are now, line for line."""
        out: list[str] = []
        line = 0
        for token in self.tokens:
            if token.line != line:
                out.append("\n" * (token.line - line))
                line = token.line
            if token.text or token.kind is DIRECTIVE:
                out.append(token.space + token.text)
        out.append("\n" * max(1, len(self.lines) - line))
        return "".join(out)

    def text_with_markers(self) -> str:
        """The same text, where clang sees the user's files and lines."""
        lines = self.text().split("\n")
        for number, marker in self.markers.items():
            lines[number] = marker
        return "\n".join(lines)

    def token_at(self, line: int, column: int) -> Token | None:
        """The token at a column (from 1) of a line (from 0) of the rewritten text; the last one past the end."""
        end = 0
        last: Token | None = None
        for token in self.on_line(line):
            if not token.text:
                continue
            end += len(token.space) + len(token.text)
            last = token
            if end >= column:
                return token
        return last

    def on_line(self, line: int) -> list[Token]:
        """The tokens of a text line, in order."""
        if not self._by_line:
            for token in self.tokens:
                self._by_line.setdefault(token.line, []).append(token)
        return self._by_line.get(line, [])

    def place(self, token: Token) -> tuple[str, int]:
        """The user's file and line of a token."""
        return self.places[token.line]


def tokenize(preprocessed: str) -> TokenStream:
    """Split the output of `clang -E`, line markers included."""
    lines = preprocessed.split("\n")
    places, files, markers = _resolve_markers(lines)
    blanked = ["" if number in markers else line for number, line in enumerate(lines)]
    tokens: list[Token] = []
    for number, line in enumerate(blanked):
        stripped = line.lstrip()
        if not stripped:
            continue
        if stripped.startswith("#"):
            tokens.append(Token(DIRECTIVE, stripped, "", number, len(line) - len(stripped)))
            continue
        _tokenize_line(line, number, tokens)
    _pair_brackets(tokens)
    return TokenStream(tokens, blanked, places, files, markers)


def _resolve_markers(lines: list[str]) -> tuple[list[tuple[str, int]], tuple[str, ...], dict[int, str]]:
    places: list[tuple[str, int]] = []
    files: dict[str, None] = {}
    markers: dict[int, str] = {}
    file, line = "", 1
    for number, text in enumerate(lines):
        places.append((file, line))
        marker = _MARKER.match(text) if text.startswith("#") else None
        if marker is None:
            line += 1
            continue
        markers[number] = text
        file, line = re.sub(r"\\(.)", r"\1", marker[2]), int(marker[1])
        files.setdefault(file)
    return places, tuple(files), markers


def _tokenize_line(line: str, number: int, tokens: list[Token]) -> None:
    space = ""
    for match in _TOKEN.finditer(line):
        kind = match.lastgroup or PUNCT
        if kind == "space":
            space = match[0]
            continue
        tokens.append(Token(kind, match[0], space, number, match.start()))
        space = ""


def _pair_brackets(tokens: list[Token]) -> None:
    """Point brackets at each other. A brace closes over parentheses that were left open inside it."""
    stack: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind != PUNCT:
            continue
        if token.text in _PAIRS:
            stack.append(index)
        elif token.text in (")", "]", "}"):
            opener = _OPENERS[token.text]
            if token.text == "}":
                while stack and tokens[stack[-1]].text != "{":
                    stack.pop()
            if stack and tokens[stack[-1]].text == opener:
                start = stack.pop()
                tokens[start].match = index
                token.match = start


def split_commas(tokens: list[Token], start: int, end: int) -> Iterable[tuple[int, int]]:
    """Index ranges between the commas at the outer level of tokens[start:end], template arguments respected."""
    begin = start
    index = start
    depth = 0
    while index < end:
        token = tokens[index]
        if token.match > index and token.match < end:
            index = token.match + 1
            continue
        if token.text == "<" and index > start and tokens[index - 1].kind == WORD:
            depth += 1
        elif token.text == ">" and depth:
            depth -= 1
        elif token.text == "," and not depth:
            yield begin, index
            begin = index + 1
        index += 1
    if begin < end:
        yield begin, end


def unclosed_brace(stream: TokenStream) -> Token | None:
    """The first `{` that is never closed."""
    return next((t for t in stream.tokens if t.text == "{" and t.match < 0 and t.kind == PUNCT), None)
