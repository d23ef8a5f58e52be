"""`report.json` and `capabilities.json`: what was done and why, and what is there and proven."""

from __future__ import annotations

import json
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from shaderc_tool import __version__
from shaderc_tool.audit.consumers import dispatch_places
from shaderc_tool.audit.ledger import evidence_name, read_evidence, write_ledger
from shaderc_tool.build.output import OutputFolder
from shaderc_tool.build.records import BuildResult
from shaderc_tool.build.session import Session
from shaderc_tool.diagnostics import Diagnostic, Place, Related
from shaderc_tool.manifest.model import Manifest
from shaderc_tool.report.json_report import diagnostic_value

REPORT = "report.json"
CAPABILITIES = "capabilities.json"


def write_reports(session: Session, result: BuildResult) -> None:
    """Write both files into the pack's folder. Targets that were not asked for keep their place in both."""
    report = report_value(result)
    report["size_changes"] = _size_changes(read_report(session.folder.root), report)
    report["actions"] += _other_targets(session, {record.output for record in result.records})
    session.folder.write(REPORT, _json(report))
    digests = {a["output"]: a["sha256"] for a in report["actions"] if a.get("sha256")}
    evidence, places = read_evidence(session.folder.root), dispatch_places(session.whole)
    ledger = write_ledger(session.whole, digests, result.diagnostics, evidence, places)
    session.folder.write(CAPABILITIES, _json(ledger))


def _other_targets(session: Session, made: AbstractSet[str]) -> list[dict[str, Any]]:
    """The last report's actions for the manifest's other targets, as far as their outputs are still in place."""
    others = set(session.whole.targets) - set(session.manifest.targets)
    return [
        action
        for action in read_report(session.folder.root)["actions"]
        if action["target"] in others and action["output"] in session.state.outputs.keys() - made
    ]


def _size_changes(before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, Any]]:
    """Outputs that are larger or smaller than in the report that is there already."""
    known = {action["output"]: action.get("size", 0) for action in before["actions"]}
    return [
        {"output": action["output"], "before": known[action["output"]], "after": action["size"]}
        for action in after["actions"]
        if known.get(action["output"]) and action.get("size") and known[action["output"]] != action["size"]
    ]


def read_report(folder: Path) -> dict[str, Any]:
    """A pack's report.json; one without actions when there is none that can be read."""
    try:
        report: dict[str, Any] = json.loads((folder / REPORT).read_text("utf-8"))
        report["actions"], report["diagnostics"]
    except (OSError, ValueError, KeyError, TypeError):
        return {"actions": [], "diagnostics": []}
    return report


def record_evidence(manifest: Manifest, folder: Path, backend: str, found: dict[str, Any]) -> None:
    """Keep what a verify run found, and bring the ledger up to date with it."""
    output = OutputFolder(folder)
    output.write(evidence_name(backend), _json(found))
    report = read_report(folder)
    if not report["actions"]:
        return  # nothing was built here by this tool: there is no ledger to bring up to date
    digests = {a["output"]: a["sha256"] for a in report["actions"] if a.get("sha256")}
    blamed = [
        Diagnostic(d["code"], d["message"], subject=d["subject"], related=tuple(_related(d)))
        for d in report["diagnostics"]
        if d["severity"] == "error"
    ]
    ledger = write_ledger(manifest, digests, blamed, read_evidence(folder), dispatch_places(manifest))
    output.write(CAPABILITIES, _json(ledger))


def _related(diagnostic: dict[str, Any]) -> Iterator[Related]:
    for related in diagnostic.get("related", ()):
        if related["place"]:
            yield Related(Place(related["place"]["file"]), related["message"])


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
