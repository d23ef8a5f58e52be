"""Reports: one list of diagnostics, five forms. All are pure; the caller prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from shaderc_tool import __version__
from shaderc_tool.diagnostics import Diagnostic
from shaderc_tool.report.github import render_github
from shaderc_tool.report.json_report import render_json
from shaderc_tool.report.text import Read, render_text

Format = Literal["text", "json", "sarif", "junit", "github"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)


def _no_source(_file: str) -> str | None:
    return None


@dataclass(frozen=True)
class Context:
    """What a report may need beside the diagnostics.

    `read` gives source text for excerpts; `subjects` are all the things that were checked, in order, so that
    JUnit can list those without a finding; `version` is the program's.
    """

    color: bool = False
    read: Read = _no_source
    subjects: tuple[str, ...] = ()
    version: str = __version__


def render(form: Format, diagnostics: Sequence[Diagnostic], context: Context) -> str:
    """The report in one of FORMATS: complete text that ends in a newline, or empty with nothing to say."""
    match form:
        case "text":
            return render_text(diagnostics, color=context.color, read=context.read)
        case "json":
            return render_json(diagnostics)
        case "sarif":
            from shaderc_tool.report.sarif import render_sarif

            return render_sarif(diagnostics, context.version)
        case "junit":
            from shaderc_tool.report.junit import render_junit

            return render_junit(diagnostics, context.subjects)
        case "github":
            return render_github(diagnostics)


__all__ = ["FORMATS", "Context", "Format", "Read", "render", "render_github", "render_json", "render_text"]
