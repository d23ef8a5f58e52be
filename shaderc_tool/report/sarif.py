"""SARIF 2.1.0 (OASIS Static Analysis Results Interchange Format): for code scanning and editors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from shaderc_tool.codes import CODES
from shaderc_tool.diagnostics import Diagnostic, Place, Severity
from shaderc_tool.report.common import codes_used, explanation, json_text

SCHEMA_URI: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
BASE_ID: Final = "%SRCROOT%"

_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def render_sarif(diagnostics: Sequence[Diagnostic], version: str) -> str:
    """One run. Its rules are the codes that occur; relative files are relative to `%SRCROOT%`.

    A fix is prose here, so it is part of the message: a SARIF `fix` object must carry the replacement text
    (section 3.55).
    """
    codes = codes_used(diagnostics)
    driver = {"name": "shaderpack", "version": version, "rules": [_rule(code) for code in codes]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(d, codes.index(d.code)) for d in diagnostics],
    }
    return json_text({"$schema": SCHEMA_URI, "version": "2.1.0", "runs": [run]})


def _rule(code: str) -> dict[str, Any]:
    return {"id": code, "shortDescription": {"text": CODES[code]}}


def _result(diagnostic: Diagnostic, rule_index: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": rule_index,
        "level": _LEVEL[diagnostic.severity],
        "message": {"text": explanation(diagnostic)},
    }
    if location := _location(diagnostic):
        result["locations"] = [location]
    if diagnostic.related:
        result["relatedLocations"] = [
            {"id": number, "physicalLocation": _physical(related.place), "message": {"text": related.message}}
            for number, related in enumerate(diagnostic.related, start=1)
        ]
    if diagnostic.detail:
        result["properties"] = {"detail": diagnostic.detail}
    return result


def _location(diagnostic: Diagnostic) -> dict[str, Any]:
    location: dict[str, Any] = {}
    if diagnostic.place:
        location["physicalLocation"] = _physical(diagnostic.place)
    if diagnostic.subject:
        location["logicalLocations"] = [{"fullyQualifiedName": diagnostic.subject}]
    return location


def _physical(place: Place) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(place.file)}
    if place.line:
        region = {"startLine": place.line}
        if place.column:
            region["startColumn"] = place.column
        physical["region"] = region
    return physical


def _artifact(file: str) -> dict[str, str]:
    """The file as a URI (RFC 3986). Undecodable bytes of its name come back as the bytes they were."""
    if _DRIVE.match(file):
        file = "/" + file.replace("\\", "/")
    if file.startswith("/"):
        return {"uri": f"file://{quote(file, safe='/:', errors='surrogateescape')}"}
    return {"uri": quote(file, errors="surrogateescape"), "uriBaseId": BASE_ID}
