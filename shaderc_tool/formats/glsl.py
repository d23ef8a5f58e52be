"""GLSL, MSL and C text, as far as a build tool must read it: comments, includes, the version line.

The scanner knows comments, string and character literals and line continuations, nothing more (GLSL 4.60 section 3.4,
C++17 [lex.phases]).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
      (?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z))
    | (?P<literal>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)
    | (?P<other>[^/"']+|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_CONTINUATION = re.compile(r"\\\r?\n")
_INCLUDE = re.compile(r'\s*#\s*(?:include|import)\s*(?:"([^"\n]*)"|<([^>\n]*)>)')
_VERSION = re.compile(r"^[ \t]*#[ \t]*version\b[^\n]*$", re.MULTILINE)
_LINE = re.compile(r"[ \t]*#[ \t]*line\b[^\n]*")
_BLANKS = re.compile(r"[ \t\r\f\v]+")
_SENSITIVE = re.compile(r"\b__(?:LINE|FILE)__\b")


@dataclass(frozen=True)
class Include:
    """One include directive: the path as written, its line (from 1), and whether it stands in angle brackets."""

    path: str
    line: int
    angled: bool


def strip_comments(text: str) -> str:
    """The text with every comment replaced by one space, newlines kept, so that line numbers stay."""

    def replace(match: re.Match[str]) -> str:
        comment = match["comment"]
        return match[0] if comment is None else " " + "\n" * comment.count("\n")

    return _TOKEN.sub(replace, text)


def scan_includes(text: str) -> tuple[Include, ...]:
    """All include directives, whatever `#if` surrounds them; those in comments and literals do not count."""
    if "include" not in text and "import" not in text:
        return ()
    found = []
    line = 1
    for logical, lines in _logical_lines(strip_comments(text)):
        match = _INCLUDE.match(logical)
        if match:
            angled = match[1] is None
            found.append(Include(match[2] if angled else match[1], line, angled))
        line += lines
    return tuple(found)


def normalise(text: str) -> str:
    """Text that is equal for two sources that differ only in comments, blanks and `#line`.

    Comments become one space, runs of blanks fold, blank lines go, continued lines are joined. Tokens are never joined,
    and literals stay as they are.
    """
    lines = []
    for logical, _ in _logical_lines(strip_comments(text.lstrip("\ufeff"))):
        if not _LINE.match(logical):
            folded = _fold(logical)
            if folded:
                lines.append(folded)
    return "\n".join(lines) + "\n"


def uses_line_numbers(text: str) -> bool:
    """True when code reads its own place (`__LINE__`, `__FILE__`), so that comments and blank lines matter."""
    return "__" in text and _SENSITIVE.search(strip_comments(text)) is not None


def split_version(text: str) -> tuple[str | None, str, int]:
    """The `#version` line, the text with that line left blank, and its line number (0 when there is none)."""
    bare = strip_comments(text)
    match = _VERSION.search(bare)
    if match is None:
        return None, text, 0
    line = bare.count("\n", 0, match.start()) + 1
    lines = text.split("\n")
    lines[line - 1] = ""
    return match[0].strip(), "\n".join(lines), line


def _logical_lines(text: str) -> list[tuple[str, int]]:
    """Lines after joining continuations, each with the number of physical lines it took."""
    result: list[tuple[str, int]] = []
    pending, count = "", 0
    for line in text.split("\n"):
        count += 1
        bare = line[:-1] if line.endswith("\r") else line
        if bare.endswith("\\"):
            pending += bare[:-1]
            continue
        result.append((pending + bare, count))
        pending, count = "", 0
    if count:
        result.append((pending, count))
    return result


def _fold(line: str) -> str:
    """Blanks outside literals folded to one."""
    if '"' not in line and "'" not in line:
        return _BLANKS.sub(" ", line).strip()
    parts = [m[0] if m["literal"] is not None else _BLANKS.sub(" ", m[0]) for m in _TOKEN.finditer(line)]
    return "".join(parts).strip()
