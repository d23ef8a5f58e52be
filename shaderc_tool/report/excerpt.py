"""A source excerpt: the line before, the line itself, and a caret under the place."""

from __future__ import annotations

import re
import unicodedata

from shaderc_tool.diagnostics import Place
from shaderc_tool.report.common import printable

TAB = 4
WIDTH = 160
"""Longer lines are cut around the caret; generated shaders have lines of many thousand characters."""

CARET = "\x1b[1;32m"
GUTTER = "\x1b[34m"
RESET = "\x1b[0m"

# A lexer needs what comes before the line, to know that it is inside a comment; bounded for huge files.
_LEXED_BEFORE = 400
_NEWLINE = re.compile(r"\r\n|\n|\r")
_WORD = re.compile(r"\w+")


def paint(text: str, style: str, color: bool) -> str:
    """`text` between the ANSI sequence `style` and a reset when `color` is set."""
    return f"{style}{text}{RESET}" if color else text


def excerpt(source: str, place: Place, *, color: bool) -> list[str]:
    """The lines to print, without newline; none when `place` has no line or the line is not in `source`.

    `place.column` counts characters (code points), not bytes. Tabs are shown as up to 4 spaces.
    """
    lines = _NEWLINE.split(source)
    if not 0 < place.line <= len(lines):
        return []
    before = lines[place.line - 2] if place.line > 1 else ""
    numbers = [place.line - 1, place.line] if before.strip() else [place.line]
    target = lines[place.line - 1]
    column = min(place.column, len(target) + 1)
    marker = len(_shown(target[: max(column - 1, 0)]))
    shown, marker = _window(_shown(target), marker)
    rows = {place.line - 1: _window(_shown(before), 0)[0], place.line: shown}
    if color:
        rows = _highlighted(rows, lines, place)
    gutter = max(len(str(place.line)), 4) + 1
    out = [f"{paint(f'{number:>{gutter}} |', GUTTER, color)} {rows[number]}".rstrip() for number in numbers]
    if column:
        caret = " " * _cells(shown[:marker]) + paint(_caret(target, column), CARET, color)
        out.append(f"{paint(' ' * gutter + ' |', GUTTER, color)} {caret}")
    return out


def _shown(text: str) -> str:
    return printable(text.expandtabs(TAB))


def _window(shown: str, marker: int) -> tuple[str, int]:
    """At most WIDTH characters of `shown` around `marker`, and where the marker is in them."""
    if len(shown) <= WIDTH:
        return shown, marker
    start = max(0, min(marker - WIDTH // 2, len(shown) - WIDTH))
    head = "…" if start else ""
    tail = "…" if start + WIDTH < len(shown) else ""
    return head + shown[start : start + WIDTH] + tail, marker - start + len(head)


def _highlighted(rows: dict[int, str], lines: list[str], place: Place) -> dict[int, str]:
    """`rows` coloured, except those that had to be cut."""
    from shaderc_tool.report.highlight import highlight

    first = max(0, place.line - _LEXED_BEFORE)
    plain = [_shown(line) for line in lines[first : place.line]]
    colored = highlight(plain, place.file)
    for number, row in rows.items():
        index = number - 1 - first
        if 0 <= index < len(plain) and plain[index] == row:
            rows[number] = colored[index]
    return rows


def _caret(line: str, column: int) -> str:
    word = _WORD.match(line, column - 1)
    return "^" + "~" * (_cells(word[0]) - 1 if word else 0)


def _cells(text: str) -> int:
    """Terminal cells that `text` takes: East Asian wide characters take two, combining marks none."""
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else 0 if unicodedata.combining(char) else 1 for char in text
    )
