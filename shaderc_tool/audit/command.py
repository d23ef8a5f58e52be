"""The gate on the outputs of a manifest. `file_gate.py` has the one on artifacts that were made elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shaderc_tool.audit.gate import audit_rules, audit_shaders
from shaderc_tool.diagnostics import Diagnostic, UsageError
from shaderc_tool.manifest.load import load_manifest
from shaderc_tool.manifest.model import Manifest
from shaderc_tool.manifest.select import select_targets

if TYPE_CHECKING:
    from shaderc_tool.audit.manifest_rules import Seen

Audited = tuple[list[Diagnostic], list[str]]
"""The findings, and what was checked."""


@dataclass(frozen=True)
class ManifestAudit:
    """What `audit` asks for beside the rules. `baseline` and `write_baseline` are files; `publishable` makes every
    kernel that is not publishable an error; `images` are programs, frameworks and libraries that embed the pack's
    shaders; `layout_header` is where the static asserts go."""

    baseline: Path | None = None
    write_baseline: Path | None = None
    publishable: bool = False
    images: tuple[Path, ...] = ()
    layout_header: Path | None = None


def audit_manifest(manifest_path: Path, out: Path, asked: ManifestAudit | None = None) -> Audited:
    """Audit `OUT/<pack>/` against the manifest and the build's own report. Raises UsageError when nothing was built."""
    asked = asked or ManifestAudit()
    manifest = load_manifest(manifest_path)
    folder = out / manifest.pack
    report = _report(folder)
    digests = {a["output"]: a["sha256"] for a in report["actions"] if a.get("sha256")}
    built = [t for t in manifest.targets if any(a["target"] == t for a in report["actions"])]
    chosen = select_targets(manifest, built)
    found, seen = _audit(chosen, manifest, folder, digests, set())
    found += _images(asked.images, manifest, folder, digests)
    if asked.publishable:
        found += _unpublishable(chosen, folder, digests, found)
    if asked.baseline or asked.write_baseline:
        found += _baseline(chosen, folder, asked)
    if asked.layout_header and seen:
        from shaderc_tool.audit.manifest_rules import layout_header
        from shaderc_tool.build.output import write_atomically

        text, faults = layout_header(chosen, seen)
        found += faults
        write_atomically(asked.layout_header, text.encode())
    subjects = [job.output for job in chosen.shaders] + [u.output for u in chosen.metal]
    return found, subjects + list(map(str, asked.images))


def audit_outputs(
    manifest: Manifest,
    folder: Path,
    digests: Mapping[str, str],
    failed: AbstractSet[str],
    whole: Manifest | None = None,
) -> list[Diagnostic]:
    """Audit what lies in a pack's folder. `failed` outputs are known to be missing and are not reported again.

    `whole` is the manifest with all targets when `manifest` has only some.
    """
    return _audit(manifest, whole or manifest, folder, digests, failed)[0]


def _audit(
    manifest: Manifest, whole: Manifest, folder: Path, digests: Mapping[str, str], failed: AbstractSet[str]
) -> tuple[list[Diagnostic], Seen]:
    from shaderc_tool.audit.manifest_rules import Seen, check_manifest

    def read(output: str) -> bytes | None:
        path = folder / output
        return path.read_bytes() if path.is_file() else None

    jobs = [job for job in manifest.shaders if job.output not in failed]
    shaders = audit_shaders(jobs, read, digests)
    found, seen = list(shaders.found), Seen(shaders.modules)
    symbols = {job.symbol: job.output for job in jobs}
    if manifest.metal:
        # Imported here: reading AIR needs LLVM, which a Vulkan pack does not.
        from shaderc_tool.audit.gate_metal import audit_libraries
        from shaderc_tool.audit.ledger import library_output

        targets = [t for t in manifest.targets.values() if library_output(t.name) not in failed]
        libraries = audit_libraries(targets, manifest.metal, read, digests)
        found += libraries.found
        seen = Seen(shaders.modules, libraries.names, libraries.modules)
        symbols.update({f.name: library_output(u.target) for u in manifest.metal for f in u.functions})
    sizes = {output: path.stat().st_size for output in digests if (path := folder / output).is_file()}
    found += audit_rules(manifest.audit, symbols, sizes)
    found += check_manifest(manifest, whole, folder, seen)
    return found + _packaged(whole, folder, digests), seen


def _packaged(whole: Manifest, folder: Path, digests: Mapping[str, str]) -> list[Diagnostic]:
    """What the build packaged is as it was made, and embeds the payloads that are in place."""
    from shaderc_tool.audit.artifacts import describe_file
    from shaderc_tool.audit.embedded import bundles_of, check_embedded, check_packaged, known_payloads

    found = check_packaged(folder, digests)
    known = known_payloads(whole, folder, digests)
    for path in bundles_of(whole, digests) if not found else ():
        found += check_embedded(describe_file(folder / path), known, notes=False)
    return found


def _images(images: Sequence[Path], manifest: Manifest, folder: Path, digests: Mapping[str, str]) -> list[Diagnostic]:
    from shaderc_tool.audit.artifacts import describe_path
    from shaderc_tool.audit.embedded import check_embedded, known_payloads
    from shaderc_tool.audit.file_gate import check_artifact

    found: list[Diagnostic] = []
    for path in images:
        description, faults = describe_path(path)
        found += faults
        if description:
            found += check_artifact(description)
            found += check_embedded(description, known_payloads(manifest, folder, digests))
    return found


def _unpublishable(
    manifest: Manifest, folder: Path, digests: Mapping[str, str], found: list[Diagnostic]
) -> list[Diagnostic]:
    from shaderc_tool.audit.consumers import dispatch_places
    from shaderc_tool.audit.ledger import read_evidence, write_ledger

    ledger = write_ledger(manifest, digests, found, read_evidence(folder), dispatch_places(manifest))
    return [
        Diagnostic(
            "SP4075",
            f"{row['symbol']} of target {row['target']} is not publishable: {', '.join(row['why_not'])}",
            manifest.audit.place,
            cause="audit.publishable asks for " + ", ".join(manifest.audit.publishable),
            fix="run `shaderpack verify` on these bytes, and see the findings above",
            subject=row["symbol"],
        )
        for row in ledger["kernels"]
        if not row["publishable"]
    ]


def _baseline(manifest: Manifest, folder: Path, asked: ManifestAudit) -> list[Diagnostic]:
    from shaderc_tool.audit.artifacts import describe_file
    from shaderc_tool.audit.baseline import take
    from shaderc_tool.audit.consumers import consumer_uses
    from shaderc_tool.audit.file_gate import baseline_findings

    snapshot = take([describe_file(folder)], folder)
    uses = [use for consumer in manifest.audit.consumers for use in consumer_uses(consumer, manifest.root)[0]]
    return baseline_findings(snapshot, asked.baseline, asked.write_baseline, manifest.audit.size_growth, uses)


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
