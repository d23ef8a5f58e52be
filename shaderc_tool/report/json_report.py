"""The JSON report: every field of every diagnostic, in a stable layout (`schema` 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from shaderc_tool.diagnostics import Diagnostic, Place
from shaderc_tool.report.common import counts, json_text

SCHEMA: Final = 1


def render_json(diagnostics: Sequence[Diagnostic]) -> str:
    """One object: `schema`, `summary` (number by severity) and `diagnostics` in the order given."""
    return json_text(
        {
            "schema": SCHEMA,
            "summary": {f"{severity.word}s": number for severity, number in counts(diagnostics).items()},
            "diagnostics": [diagnostic_value(d) for d in diagnostics],
        }
    )


def diagnostic_value(diagnostic: Diagnostic) -> dict[str, Any]:
    """A diagnostic as JSON values. An unknown `place` is null; an unknown line or column is left out."""
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.word,
        "subject": diagnostic.subject,
        "place": _place_value(diagnostic.place),
        "message": diagnostic.message,
        "cause": diagnostic.cause,
        "fix": diagnostic.fix,
        "related": [{"place": _place_value(r.place), "message": r.message} for r in diagnostic.related],
        "detail": diagnostic.detail,
    }


def _place_value(place: Place | None) -> dict[str, str | int] | None:
    if place is None:
        return None
    value: dict[str, str | int] = {"file": place.file}
    if place.line:
        value["line"] = place.line
        if place.column:
            value["column"] = place.column
    return value
