"""GLSL, MSL and C text, as far as a build tool must read it: comments, includes, the version line.

The scanner knows comments, string and character literals and line continuations, nothing more (GLSL 4.60 section 3.4,
C++17 [lex.phases]). What `normalise` finds equal is not compiled again, so it must never take code for a comment; where
the languages or their versions disagree about that, it leaves the text as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_RAW_STRING: Final = r"""(?P<raw>\b(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")"""
_REST: Final = r"""
    | (?P<line>//(?:\\\n|[^\n])*)
    | (?P<block>/\*.*?(?:\*/|\Z))
    | (?P<literal>"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])'(?:\\[^\n][0-9A-Fa-f]{0,8}|[^'\\\n]{1,4})')
    | (?P<separator>(?<=[0-9A-Fa-f])'(?=[0-9A-Fa-f]))
    | (?P<quote>["'])
    | (?P<splice>\\\n)
    | (?P<newline>\n)
"""
# Raw strings are so rare that other texts need not stop at every letter that could begin one.
_PLAIN: Final = re.compile(rf"""(?!){_REST}|(?P<other>[^/"'\\\n]+|.)""", re.VERBOSE | re.DOTALL)
_WITH_RAW: Final = re.compile(rf"""{_RAW_STRING}{_REST}|(?P<other>[^/"'\\\nRuUL]+|.)""", re.VERBOSE | re.DOTALL)

_DOUBTFUL: Final = re.compile(r"\\[ \t\f\v]+\n|[/*]\\\n|\?\?/")
"""Blanks after a continuation's backslash (clang joins the lines, glslang does not), a comment's mark that is itself
continued, and the trigraph of the backslash."""

_INCLUDE: Final = re.compile(r'\s*#\s*(?:include|import)\s*(?:"([^"\n]*)"|<([^>\n]*)>)')
_VERSION: Final = re.compile(r"^\ufeff?[ \t]*(#[ \t]*version\b[^\n]*)$", re.MULTILINE)
_LINE: Final = re.compile(r"[ \t]*#[ \t]*line\b")
_BLANK: Final = " \t\f\v"
_BLANKS: Final = re.compile(rf"[{_BLANK}]+")
_COMMENTS: Final = ("line", "block")
_VISIBLE: Final = {"line": " ", "block": " ", "raw": '""', "splice": ""}
"""What the preprocessor's lines hold in place of a piece."""
_SENSITIVE: Final = re.compile(r"\b__(?:LINE|FILE|FILE_NAME|BASE_FILE)__\b")


@dataclass(frozen=True)
class Include:
    """One include directive: the path as written, its line (from 1), and whether it stands in angle brackets."""

    path: str
    line: int
    angled: bool


def strip_comments(text: str) -> str:
    """The text with every comment replaced by one space, newlines kept, so that line numbers stay."""
    return "".join(
        " " + "\n" * piece[0].count("\n") if piece.lastgroup in _COMMENTS else piece[0] for piece in _lex(text)
    )


def scan_includes(text: str) -> tuple[Include, ...]:
    """All include directives, whatever `#if` surrounds them; those in comments and literals do not count."""
    if "include" not in text and "import" not in text:
        return ()
    found = []
    for line, logical in _logical_lines(text):
        match = _INCLUDE.match(logical)
        if match:
            angled = match[1] is None
            found.append(Include(match[2] if angled else match[1], line, angled))
    return tuple(found)


def normalise(text: str) -> str:
    """Text that is equal for two sources that differ only in comments, blanks and `#line`.

    Comments become one space, runs of blanks fold, blank lines go, continued lines are joined. Tokens are never joined,
    and literals stay as they are. A text in which it is not sure what is a comment only gets plain newlines.
    """
    text = _plain_newlines(text.removeprefix("\ufeff"))
    if _is_doubtful(text):
        return text
    folded = [_fold(logical) for _, logical in _logical_lines(text) if not _LINE.match(logical)]
    return "\n".join(line for line in folded if line) + "\n"


def uses_line_numbers(text: str) -> bool:
    """True when code reads its own place (`__LINE__`, `__FILE__`), so that comments and blank lines matter."""
    return "__" in text and any(_SENSITIVE.search(logical) for _, logical in _logical_lines(text))


def split_version(text: str) -> tuple[str | None, str, int]:
    """The `#version` line, the text with that line left blank, and its line number (0 when there is none).

    A comment that begins or ends on that line and goes on elsewhere stays.
    """
    text = _plain_newlines(text)
    pieces = list(_lex(text))
    comments = [piece.span() for piece in pieces if piece.lastgroup in _COMMENTS]
    bare = "".join(re.sub(r"[^\n]", " ", p[0]) if p.lastgroup in _COMMENTS else p[0] for p in pieces)
    match = _VERSION.search(bare)
    if match is None:
        return None, text, 0
    version = match[1].rstrip()
    start, end = match.span()
    if not any(first < edge < last for first, last in comments for edge in (start, end)):
        rest = text[:start] + text[end:]
    else:
        rest = text[: match.start(1)] + text[match.start(1) + len(version) :]
    return version, rest, bare.count("\n", 0, start) + 1


def _plain_newlines(text: str) -> str:
    """Lines ended by one line feed; a lone carriage return ends a line for compilers, too."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _lex(text: str) -> Iterator[re.Match[str]]:
    pattern = _WITH_RAW if 'R"' in text else _PLAIN
    return pattern.finditer(_plain_newlines(text))


def _is_doubtful(text: str) -> bool:
    """Whether some compiler may see comments elsewhere than this scanner does.

    GLSL before 4.20 ends a line comment at the end of its line even after a backslash; GLSL has no quotes, so that a
    lone one (`#error don't`) ends nothing there; and the lines of a raw string are no lines of code.
    """
    return _DOUBTFUL.search(text) is not None or any(
        piece.lastgroup in ("raw", "quote") or (piece.lastgroup == "line" and "\n" in piece[0]) for piece in _lex(text)
    )


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines as the preprocessor sees them, without comments, each with the physical line of its first token."""
    parts: list[str] = []
    line = start = 1
    blank = True
    for piece in _lex(text):
        kind, found = piece.lastgroup, piece[0]
        if kind == "newline":
            yield start, "".join(parts)
            parts, blank = [], True
        else:
            part = _VISIBLE.get(kind or "", found)
            parts.append(part.replace("\\\n", "") if kind == "literal" else part)
            if blank and part.strip(_BLANK):
                start, blank = line, False
        line += found.count("\n")
    if parts:
        yield start, "".join(parts)


def _fold(line: str) -> str:
    """Blanks outside literals and header names folded to one."""
    if _INCLUDE.match(line):
        return line.strip(_BLANK)
    if '"' not in line and "'" not in line:
        return _BLANKS.sub(" ", line).strip(_BLANK)
    parts = [piece[0] if piece.lastgroup == "literal" else _BLANKS.sub(" ", piece[0]) for piece in _lex(line)]
    return "".join(parts).strip(_BLANK)
