"""Diagnostics out of compiler text: clang's `file:line:col: kind: text` and glslc's `file:line: kind: text`.

The grammar is parsed, never searched for words: a line that is not a diagnostic is excerpt, caret or count and is
dropped here, while the whole text stays with the caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from shaderc_tool.diagnostics import Diagnostic, Place, Related, Severity

Read = Callable[[str], "str | None"]
"""Text of a source file, or None."""

ERROR_CODE = "SP3002"
WARNING_CODE = "SP3003"

_KIND = r"(?P<kind>fatal error|error|warning|note|remark)"
# The file may hold colons (and starts with a drive on Windows), so it ends at the first `:number:` before a kind.
_PLACED = re.compile(rf"(?P<file>.+?):(?P<line>\d+):(?:(?P<column>\d+):)? {_KIND}: (?P<text>.*)")
_FILE_ONLY = re.compile(rf"(?P<file>.+?): {_KIND}: (?P<text>.*)")
_BARE = re.compile(rf"{_KIND}: (?P<text>.*)")
_INCLUDED = re.compile(r"In file included from (?P<file>.+?):(?P<line>\d+)(?::\d+)?[,:]")


@dataclass
class _Finding:
    """A diagnostic that still collects its notes."""

    kind: str
    place: Place | None
    text: str
    related: list[Related] = field(default_factory=list)

    def freeze(self, subject: str) -> Diagnostic:
        error = self.kind in ("error", "fatal error")
        lenient = Severity.WARNING if self.kind == "warning" else Severity.NOTE
        return Diagnostic(
            ERROR_CODE if error else WARNING_CODE,
            self.text,
            self.place,
            cause="the compiler refused it" if error else "the compiler remarks on it",
            fix="correct the source",
            subject=subject,
            severity=Severity.ERROR if error else lenient,
            related=tuple(self.related),
        )


def parse(text: str, *, subject: str = "", read: Read | None = None) -> tuple[Diagnostic, ...]:
    """The diagnostics in `text`, in order; notes and include chains become related places of their diagnostic.

    Clang counts columns in UTF-8 bytes. With `read` they are turned into characters, which `Place` counts.
    """
    findings: list[_Finding] = []
    included: list[Related] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        if chain := _INCLUDED.match(line):
            included.append(Related(Place(chain["file"], int(chain["line"])), "included from here"))
            continue
        found = _finding(line, read)
        if found is None:
            continue
        if found.kind == "note" and findings:
            findings[-1].related += [*included, *_as_note(found)]
        else:
            found.related += included
            findings.append(found)
        included = []
    return tuple(finding.freeze(subject) for finding in findings)


def _as_note(found: _Finding) -> list[Related]:
    return [Related(found.place or Place("<unknown>"), found.text)]


def _finding(line: str, read: Read | None) -> _Finding | None:
    if match := _PLACED.fullmatch(line):
        column = int(match["column"] or 0)
        place = Place(match["file"], int(match["line"]), column)
        return _Finding(match["kind"], _in_characters(place, read), match["text"])
    if match := _BARE.fullmatch(line):
        return _Finding(match["kind"], None, match["text"])
    if match := _FILE_ONLY.fullmatch(line):
        # `metal: error: …` names the program; only what looks like a file name is a place.
        file = match["file"]
        place_or_none = Place(file) if "." in file or "/" in file else None
        return _Finding(match["kind"], place_or_none, match["text"])
    return None


def _in_characters(place: Place, read: Read | None) -> Place:
    source = read(place.file) if read and place.column > 1 else None
    if source is None:
        return place
    lines = source.split("\n")
    if not 0 < place.line <= len(lines):
        return place
    prefix = lines[place.line - 1].encode("utf-8", "surrogateescape")[: place.column - 1]
    return Place(place.file, place.line, len(prefix.decode("utf-8", "replace")) + 1)
