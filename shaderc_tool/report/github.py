"""GitHub annotations: one workflow command for each diagnostic, which marks the line in the pull request."""

from __future__ import annotations

from collections.abc import Sequence

from shaderc_tool.diagnostics import Diagnostic, Severity
from shaderc_tool.report.common import explanation, printable

_COMMAND = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render_github(diagnostics: Sequence[Diagnostic]) -> str:
    """`::error file=…,line=…,col=…,title=…::…` for each diagnostic; empty when there is none."""
    return "".join(f"{_annotation(d)}\n" for d in diagnostics)


def _annotation(diagnostic: Diagnostic) -> str:
    properties: list[tuple[str, str]] = []
    if place := diagnostic.place:
        properties.append(("file", place.file))
        if place.line:
            properties.append(("line", str(place.line)))
            if place.column:
                properties.append(("col", str(place.column)))
    title = f"{diagnostic.code} {diagnostic.subject}".rstrip()
    properties.append(("title", title))
    fields = ",".join(f"{name}={_property(value)}" for name, value in properties)
    lines = [explanation(diagnostic)]
    lines += [f"{r.place}: {r.message}" for r in diagnostic.related]
    if diagnostic.detail:
        lines.append(diagnostic.detail.rstrip("\n"))
    text = "\n".join(lines)
    return f"::{_COMMAND[diagnostic.severity]} {fields}::{_data(text)}"


def _data(text: str) -> str:
    # The percent sign goes first: it introduces the other escapes. `printable` leaves no carriage return.
    return printable(text).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
