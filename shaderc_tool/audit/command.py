"""The gate on artifacts that were made earlier or elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from shaderc_tool.audit.gate import audit_rules, audit_shaders
from shaderc_tool.diagnostics import Diagnostic, UsageError
from shaderc_tool.manifest.load import load_manifest
from shaderc_tool.manifest.model import Manifest
from shaderc_tool.manifest.select import select_targets

Audited = tuple[list[Diagnostic], list[str]]
"""The findings, and what was checked."""


def audit_manifest(manifest_path: Path, out: Path) -> Audited:
    """Audit `OUT/<pack>/` against the manifest and the build's own report. Raises UsageError when nothing was built."""
    manifest = load_manifest(manifest_path)
    folder = out / manifest.pack
    report = _report(folder)
    digests = {a["output"]: a["sha256"] for a in report["actions"] if a.get("sha256")}
    built = [t for t in manifest.targets if any(a["target"] == t for a in report["actions"])]
    chosen = select_targets(manifest, built)
    found = audit_outputs(chosen, folder, digests, set())
    return found, [job.output for job in chosen.shaders] + [u.output for u in chosen.metal]


def audit_outputs(
    manifest: Manifest, folder: Path, digests: Mapping[str, str], failed: AbstractSet[str]
) -> list[Diagnostic]:
    """Audit what lies in a pack's folder. `failed` outputs are known to be missing and are not reported again."""

    def read(output: str) -> bytes | None:
        path = folder / output
        return path.read_bytes() if path.is_file() else None

    jobs = [job for job in manifest.shaders if job.output not in failed]
    found = audit_shaders(jobs, read, digests)
    symbols = {job.symbol: job.output for job in jobs}
    if manifest.metal:
        # Imported here: reading AIR needs LLVM, which a Vulkan pack does not.
        from shaderc_tool.audit.gate_metal import audit_libraries, library_output

        targets = [t for t in manifest.targets.values() if library_output(t.name) not in failed]
        found += audit_libraries(targets, manifest.metal, read, digests)
        symbols.update({f.name: library_output(u.target) for u in manifest.metal for f in u.functions})
    sizes = {output: path.stat().st_size for output in digests if (path := folder / output).is_file()}
    return found + audit_rules(manifest.audit, symbols, sizes)


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
