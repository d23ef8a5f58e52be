"""The capability ledger: per kernel and target, what is there and what is proven of exactly these bytes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shaderc_tool.diagnostics import Diagnostic, Severity
from shaderc_tool.manifest.model import Manifest, ShaderJob

EVIDENCE = "evidence-{backend}.json"


def evidence_name(backend: str) -> str:
    """File name, in the pack's folder, of what a verify backend found."""
    return EVIDENCE.format(backend=backend)


def read_evidence(folder: Path) -> list[dict[str, Any]]:
    """All evidence entries of a pack's folder; unreadable files prove nothing and are skipped."""
    entries: list[dict[str, Any]] = []
    for path in sorted(folder.glob("evidence-*.json")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            data = json.loads(path.read_text("utf-8"))
            common = {k: data[k] for k in ("backend", "device", "driver", "software")}
            entries += [{**common, **entry} for entry in data["entries"]]
    return entries


def write_ledger(
    manifest: Manifest,
    digests: Mapping[str, str],
    diagnostics: Sequence[Diagnostic],
    evidence: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The ledger as JSON data. Evidence counts only when its digest is the digest of the bytes in place."""
    blamed: dict[str, list[str]] = {}
    for diagnostic in diagnostics:
        if diagnostic.severity is Severity.ERROR:
            blamed.setdefault(diagnostic.subject, []).append(diagnostic.code)
    kernels = [_shader(job, digests.get(job.output, ""), blamed, evidence) for job in manifest.shaders]
    return {"schema": 1, "pack": manifest.pack, "kernels": kernels}


def _shader(
    job: ShaderJob, digest: str, blamed: Mapping[str, Iterable[str]], evidence: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    codes = sorted(set(blamed.get(job.symbol, ())))
    proof = [e for e in evidence if e.get("output") == job.output and e.get("sha256") == digest and e.get("ok")]
    declared = job.interface.bindings is not None or job.interface.push_constants is not None
    why_not = [f"diagnostic {code}" for code in codes]
    if not digest:
        why_not.append("not present")
    if not proof:
        why_not.append("not verified")
    return {
        "kernel": job.kernel,
        "target": job.target,
        "symbol": job.symbol,
        "output": job.output,
        "sha256": digest,
        "compiled": bool(digest),
        "present": bool(digest) and not codes,
        "interface": "differs" if "SP4005" in codes else "matches" if declared and digest else "not declared",
        "verified": [{k: v for k, v in e.items() if k not in ("output", "ok")} for e in proof],
        "dispatched": "not-applied",
        "publishable": not why_not,
        "why_not": why_not,
    }
