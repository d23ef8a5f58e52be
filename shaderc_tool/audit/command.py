"""The gate on artifacts that were made earlier or elsewhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shaderc_tool.audit.gate import audit_rules, audit_shaders
from shaderc_tool.diagnostics import Diagnostic, UsageError
from shaderc_tool.manifest.load import load_manifest

Audited = tuple[list[Diagnostic], list[str]]
"""The findings, and what was checked."""


def audit_manifest(manifest_path: Path, out: Path) -> Audited:
    """Audit `OUT/<pack>/` against the manifest and the build's own report. Raises UsageError when nothing was built."""
    manifest = load_manifest(manifest_path)
    folder = out / manifest.pack
    report = _report(folder)
    actions = [a for a in report["actions"] if a.get("sha256")]
    digests = {a["output"]: a["sha256"] for a in actions}
    built_targets = {a["target"] for a in report["actions"]}
    jobs = [job for job in manifest.shaders if job.target in built_targets]

    def read(output: str) -> bytes | None:
        path = folder / output
        return path.read_bytes() if path.is_file() else None

    found = audit_shaders(jobs, read, digests)
    sizes = {o: path.stat().st_size for o in digests if (path := folder / o).is_file()}
    found += audit_rules(manifest.audit, {job.symbol: job.output for job in jobs}, sizes)
    return found, [job.output for job in jobs]


def audit_files(files: Sequence[Path], required: Sequence[str]) -> Audited:
    """Check that each artifact is whole and that together they hold every required symbol."""
    from shaderc_tool.audit.artifacts import describe_path

    symbols: set[str] = set()
    found: list[Diagnostic] = []
    for path in files:
        description, faults = describe_path(path)
        found += faults
        symbols |= set(description.symbols) if description else set()
    for name in required:
        if name not in symbols:
            found.append(
                Diagnostic(
                    "SP4001",
                    f"the required symbol {name} is missing",
                    cause="none of " + ", ".join(str(f) for f in files) + " has it",
                    fix="build the artifact that should have it again, and look for its first error",
                    subject=name,
                )
            )
    return found, [str(f) for f in files]


def _report(folder: Path) -> dict[str, Any]:
    try:
        report: dict[str, Any] = json.loads((folder / "report.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            Diagnostic(
                "SP1014",
                f"there is no readable report in {folder}",
                cause=str(error),
                fix="run `shaderpack build` first, or give --out",
            )
        ) from error
    return report
