"""SP4062: the symbols around an embedded payload tell the truth about its bytes."""

from __future__ import annotations

from collections.abc import Iterator

from shaderc_tool.audit.artifacts import Description
from shaderc_tool.diagnostics import Diagnostic, Place


def check_payloads(description: Description) -> Iterator[Diagnostic]:
    """One error for each payload whose length symbol, end symbol or content is wrong."""
    for part in description.walk():
        for payload in part.payloads:
            if payload.problem:
                yield Diagnostic(
                    "SP4062",
                    f"{part.name}: the embedded payload {payload.name} is not whole: {payload.problem}",
                    Place(description.name),
                    cause=f"the {payload.form} symbols at byte {payload.offset:#x} and its bytes do not fit",
                    fix="embed the shader again, data and length from one file",
                    subject=payload.name,
                )
