"""What several commands share: options, printing diagnostics, finding the manifest."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from shaderc_tool.diagnostics import Diagnostic, ShaderpackError

F = TypeVar("F", bound=Callable[..., Any])
FORMATS = ("text", "json", "sarif", "junit", "github")


def manifest_argument(command: F) -> F:
    """The MANIFEST argument."""
    return click.argument("manifest", type=click.Path(path_type=Path, dir_okay=False))(command)


def out_option(command: F) -> F:
    """The --out option."""
    return click.option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        default=Path("build"),
        show_default=True,
        help="Folder for outputs; they go to OUT/<pack>/.",
    )(command)


def format_option(command: F) -> F:
    """The --format option."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        default="text",
        show_default=True,
        help="How diagnostics are printed. All but text go to standard output.",
    )(command)


def show_diagnostics(
    diagnostics: Sequence[Diagnostic], form: str, root: Path | None = None, subjects: Sequence[str] = ()
) -> None:
    """Print diagnostics: text to standard error, the other forms to standard output. Places are relative to `root`."""
    if form == "text" and not diagnostics:
        return
    from shaderc_tool.report import Context, render

    base = root or Path()

    def read(file: str) -> str | None:
        for path in (base / file, Path(file)):
            try:
                return path.read_text("utf-8", "replace")
            except OSError:
                continue
        return None

    context = Context(color=form == "text" and sys.stderr.isatty(), read=read, subjects=tuple(subjects))
    text = render(form, diagnostics, context)  # type: ignore[arg-type]  # click has checked the choice
    click.echo(text, nl=False, err=form == "text")


def report_and_exit(error: ShaderpackError, form: str, manifest: Path | None = None) -> None:
    """Print the diagnostics of a stage that could not go on, and exit with its code."""
    show_diagnostics(error.diagnostics, form, manifest.parent if manifest else None)
    raise SystemExit(error.exit_code)
