"""The capability ledger: per kernel and target, what is there and what is proven of exactly these bytes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from shaderc_tool.diagnostics import Diagnostic, Place, Severity
from shaderc_tool.manifest.model import Manifest, MetalFunction, MetalUnit, ShaderJob

EVIDENCE: Final = "evidence-{backend}.json"
APPLE_BACKEND: Final = "metal"
"""The backend that runs on Apple's own loader; the others do not show that it takes a library."""

Row = dict[str, Any]
Entry = Mapping[str, Any]

_LACKS: Final[dict[str, tuple[Callable[[Row], bool], str]]] = {
    "present": (lambda row: row["present"], "not present"),
    "interface": (lambda row: row["interface"] == "matches", "interface not proven"),
    "verified": (lambda row: bool(row["verified"]), "not verified"),
    "dispatched": (lambda row: row["dispatched"] not in ("not-applied", "no"), "not dispatched"),
    "loaded_on_apple_hardware": (lambda row: row.get("loaded_on_apple_hardware", True), "not loaded on Apple hardware"),
}
"""Each proof that a policy may ask for: whether a row has it, and what to say when it has not."""


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
    evidence: Sequence[Entry],
    dispatched: Mapping[str, Place] | None = None,
) -> dict[str, Any]:
    """The ledger as JSON data. Evidence counts only when its digest is the digest of the bytes in place.

    `dispatched` says where host sources name a kernel; None when no consumer is declared. What a kernel needs to be
    publishable is `audit.publishable`; a finding that is an error always stands in the way.
    """
    errors = [d for d in diagnostics if d.severity is Severity.ERROR]
    rows = [_shader(job, digests.get(job.output, ""), errors, evidence) for job in manifest.shaders]
    for unit in manifest.metal:
        digest = digests.get(library_output(unit.target), "")
        std = manifest.targets[unit.target].std
        wanted = [function for function in unit.functions if function.is_wanted(std)]
        rows += [_function(function, unit, digest, errors, evidence) for function in wanted]
    for row in rows:
        place = (dispatched or {}).get(row["symbol"])
        row["dispatched"] = "not-applied" if dispatched is None else str(place) if place else "no"
        lacks = [text for proof in manifest.audit.publishable for has, text in [_LACKS[proof]] if not has(row)]
        row["why_not"] += lacks
        row["publishable"] = not row["why_not"]
    return {"schema": 1, "pack": manifest.pack, "policy": list(manifest.audit.publishable), "kernels": rows}


def library_output(target: str) -> str:
    """Where a Metal target's library lies below `DIR/<pack>/`."""
    return f"{target}/default.metallib"


def _shader(job: ShaderJob, digest: str, errors: Iterable[Diagnostic], evidence: Sequence[Entry]) -> Row:
    declared = job.interface.bindings is not None or job.interface.push_constants is not None
    codes = _codes(errors, job.symbol, job.output)
    return _row(job.kernel, job.target, job.symbol, job.output, digest, declared, codes, evidence)


def _function(
    function: MetalFunction, unit: MetalUnit, digest: str, errors: Sequence[Diagnostic], evidence: Sequence[Entry]
) -> Row:
    output = library_output(unit.target)
    codes = _codes(errors, function.name, output) + _codes(errors, output, output)
    row = _row(
        unit.kernel, unit.target, function.name, output, digest, bool(function.buffers), sorted(set(codes)), evidence
    )
    row["loaded_on_apple_hardware"] = any(e.get("backend") == APPLE_BACKEND for e in row["verified"])
    return row


def _codes(errors: Iterable[Diagnostic], subject: str, output: str) -> list[str]:
    """The codes of errors about `subject`; one that names outputs is about those only."""
    return sorted(
        {
            d.code
            for d in errors
            if d.subject == subject and (not d.related or any(r.place.file == output for r in d.related))
        }
    )


def _row(
    kernel: str,
    target: str,
    symbol: str,
    output: str,
    digest: str,
    declared: bool,
    codes: list[str],
    evidence: Sequence[Entry],
) -> Row:
    proof = [
        e
        for e in evidence
        if e.get("output") == output and e.get("sha256") == digest and e.get("symbol", symbol) == symbol and e.get("ok")
    ]
    return {
        "kernel": kernel,
        "target": target,
        "symbol": symbol,
        "output": output,
        "sha256": digest,
        "compiled": bool(digest),
        "present": bool(digest) and not codes,
        "interface": "differs" if "SP4005" in codes else "matches" if declared and digest else "not declared",
        "verified": [{k: v for k, v in e.items() if k not in ("output", "symbol", "ok")} for e in proof if digest],
        "dispatched": "not-applied",
        "why_not": [f"diagnostic {code}" for code in codes],
    }
