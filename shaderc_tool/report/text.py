"""The report for people: message, source excerpt with caret, cause, fix, related places, tool text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shaderc_tool.diagnostics import Diagnostic, Place, Severity
from shaderc_tool.report.common import printable, summary_line
from shaderc_tool.report.excerpt import excerpt, paint

Read = Callable[[str], "str | None"]
"""Text of a file named by a `Place`, or None when there is none to show."""

BOLD = "\x1b[1m"
_STYLE = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m", Severity.NOTE: "\x1b[1;36m"}


def render_text(diagnostics: Sequence[Diagnostic], *, color: bool, read: Read) -> str:
    """All diagnostics in the order given, a blank line between them, then a summary line; empty without any.

    The first line of each is `file:line:col: error[SP1203]: message`, which editors make clickable.
    """
    if not diagnostics:
        return ""
    blocks = ["\n".join(_block(d, color, read)) for d in diagnostics]
    return "\n\n".join([*blocks, summary_line(diagnostics)]) + "\n"


def _block(diagnostic: Diagnostic, color: bool, read: Read) -> list[str]:
    lines = [_head(diagnostic, color), *_excerpt(diagnostic.place, color, read)]
    for label, text in (("cause", diagnostic.cause), ("fix", diagnostic.fix)):
        if text:
            lines += _labelled(label, text, color)
    for related in diagnostic.related:
        note = paint("note", _STYLE[Severity.NOTE], color)
        lines.append(f"  {note}: {_where(related.place)}: {_text(related.message)}")
        lines += _excerpt(related.place, color, read)
    if diagnostic.detail:
        lines += [f"    {line}".rstrip() for line in printable(diagnostic.detail).rstrip("\n").split("\n")]
    return lines


def _head(diagnostic: Diagnostic, color: bool) -> str:
    place = f"{_where(diagnostic.place)}: " if diagnostic.place else ""
    kind = paint(f"{diagnostic.severity.word}[{diagnostic.code}]", _STYLE[diagnostic.severity], color)
    message = _text(diagnostic.message)
    if diagnostic.subject and diagnostic.subject not in diagnostic.message:
        message = f"{_text(diagnostic.subject)}: {message}"
    return f"{paint(place, BOLD, color) if place else ''}{kind}: {message}"


def _where(place: Place) -> str:
    # A newline in a file name would forge a line of the report.
    return printable(str(place)).replace("\n", "\\n")


def _labelled(label: str, text: str, color: bool) -> list[str]:
    first, *rest = _text(text).split("\n")
    return [f"  {paint(label, BOLD, color)}: {first}", *rest]


def _text(text: str) -> str:
    """Several lines stay readable: the later ones are indented under the first."""
    return printable(text).rstrip("\n").replace("\n", "\n    ")


def _excerpt(place: Place | None, color: bool, read: Read) -> list[str]:
    if place is None or not place.line:
        return []
    source = read(place.file)
    return [] if source is None else excerpt(source, place, color=color)
