"""What a build leaves to report: one record an action, and the whole result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from shaderc_tool.diagnostics import Diagnostic, has_errors
from shaderc_tool.manifest.model import Manifest

BUILT = "built"
CACHED = "cached"
KEPT = "kept"
FAILED = "failed"
SKIPPED = "skipped"
PLANNED = "planned"


@dataclass
class ActionRecord:
    """One line of report.json. `argv` is relative to the root and the output folder; empty for our own code."""

    output: str
    kind: str
    subject: str
    target: str
    status: str
    reason: str
    tool: str = ""
    argv: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    seconds: float = 0.0
    sha256: str = ""
    size: int = 0
    note: str = ""

    def value(self) -> dict[str, Any]:
        """The record as JSON data; empty fields are left out."""
        data: dict[str, Any] = {
            "output": self.output,
            "kind": self.kind,
            "subject": self.subject,
            "target": self.target,
            "status": self.status,
            "reason": self.reason,
        }
        if self.seconds:
            data["seconds"] = round(self.seconds, 4)
        for name in ("tool", "argv", "inputs", "sha256", "size", "note"):
            if value := getattr(self, name):
                data[name] = list(value) if isinstance(value, tuple) else value
        return data


@dataclass
class BuildResult:
    """Everything the command line prints or writes after a build."""

    manifest: Manifest
    records: list[ActionRecord] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    toolchains: dict[str, str] = field(default_factory=dict)
    processes: int = 0
    seconds: float = 0.0
    looked_at: list[str] = field(default_factory=list)

    def add(self, records: list[ActionRecord], diagnostics: list[Diagnostic]) -> None:
        """Take in what one stage did and found."""
        self.records += records
        self.diagnostics += diagnostics

    @property
    def nothing_done(self) -> bool:
        """True when every output was kept as it was."""
        return bool(self.records) and all(r.status == KEPT for r in self.records)

    @property
    def ok(self) -> bool:
        return not has_errors(self.diagnostics)

    def count(self, *statuses: str) -> int:
        return sum(r.status in statuses for r in self.records)

    def output_digests(self) -> dict[str, str]:
        """SHA-256 of every output that is in place, by path."""
        return {r.output: r.sha256 for r in self.records if r.sha256}
