"""SP4072: absolute paths of the build machine in SPIR-V. Metal libraries have a lint of their own (SP4026)."""

from __future__ import annotations

from collections.abc import Iterator

from shaderc_tool.audit.artifacts import Description
from shaderc_tool.diagnostics import Diagnostic, Place, Severity


def check_paths(description: Description) -> Iterator[Diagnostic]:
    """One warning for each module that records an absolute source path."""
    for part in description.walk():
        for report in part.shaders:
            if report.module.source_files:
                yield Diagnostic(
                    "SP4072",
                    f"{part.name}: the module at byte {report.offset:#x} names {report.module.source_files[0]}",
                    Place(description.name),
                    cause="debug information records where the source was compiled",
                    fix="compile without -g, or from relative paths",
                    subject=part.name,
                    severity=Severity.WARNING,
                )
