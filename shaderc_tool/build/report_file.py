"""`report.json` and `capabilities.json`: what was done and why, and what is there and proven."""

from __future__ import annotations

import json
from typing import Any

from shaderc_tool import __version__
from shaderc_tool.audit.ledger import read_evidence, write_ledger
from shaderc_tool.build.records import BuildResult
from shaderc_tool.build.session import Session
from shaderc_tool.report.json_report import diagnostic_value

REPORT = "report.json"
CAPABILITIES = "capabilities.json"


def write_reports(session: Session, result: BuildResult) -> None:
    """Write both files into the pack's folder."""
    session.folder.write(REPORT, _json(report_value(result)))
    evidence = read_evidence(session.folder.root)
    session.folder.write(
        CAPABILITIES, _json(write_ledger(result.manifest, result.output_digests(), result.diagnostics, evidence))
    )


def report_value(result: BuildResult) -> dict[str, Any]:
    """The report as JSON data: toolchains, one record an action, diagnostics."""
    return {
        "schema": 1,
        "shaderpack": __version__,
        "pack": result.manifest.pack,
        "manifest": {"file": result.manifest.file, "sha256": result.manifest.digest},
        "toolchains": result.toolchains,
        "ok": result.ok,
        "actions": [record.value() for record in result.records],
        "diagnostics": [diagnostic_value(d) for d in result.diagnostics],
    }


def _json(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()
