"""`shaderpack explain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from shaderc_tool.cli.common import out_option
from shaderc_tool.codes import CODES
from shaderc_tool.diagnostics import Diagnostic, UsageError
from shaderc_tool.manifest.shapes import did_you_mean


@click.command("explain")
@click.argument("subject", metavar="KERNEL|CODE")
@out_option
def explain_command(subject: str, out: Path) -> None:
    """Say where a kernel stands after the last build, or what a diagnostic code means.

    KERNEL is a kernel name, a symbol or an output; the reports below OUT are read.

    \b
    Examples:
      shaderpack explain turbo3
      shaderpack explain SP4005
    """
    if subject in CODES:
        click.echo(f"{subject}: {CODES[subject]}")
        click.echo("docs/diagnostics.md lists every code, docs/rules.md explains the audit rules.")
        return
    reports = [_read(path) for path in sorted(out.glob("*/report.json"))]
    if not reports:
        raise UsageError(
            Diagnostic(
                "SP1014",
                f"there is no report below {out}",
                cause="nothing was built into this folder",
                fix="run `shaderpack build` first, or give --out",
            )
        )
    known: set[str] = set()
    found = False
    for report, ledger in reports:
        for action in report["actions"]:
            names = {action["subject"], action["output"], Path(action["output"]).stem}
            known |= names
            if subject in names:
                found = True
                _show(action, [k for k in ledger.get("kernels", []) if k["output"] == action["output"]])
    if not found:
        raise UsageError(
            Diagnostic(
                "SP1011",
                f"no kernel, symbol or output «{subject}»",
                cause="the last build did not have it",
                fix=did_you_mean(subject, known),
                subject=subject,
            )
        )


def _read(report: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    ledger = report.with_name("capabilities.json")
    return json.loads(report.read_text("utf-8")), json.loads(ledger.read_text("utf-8")) if ledger.is_file() else {}


def _show(action: dict[str, Any], kernels: list[dict[str, Any]]) -> None:
    click.echo(f"{action['output']}  ({action['subject']}, {action['target']})")
    click.echo(f"  {action['status']}: {action['reason']}")
    if action.get("argv"):
        click.echo("  command  " + " ".join(action["argv"]))
    if action.get("inputs"):
        click.echo("  reads    " + " ".join(action["inputs"]))
    if action.get("note"):
        click.echo(f"  note     {action['note']}")
    if action.get("sha256"):
        click.echo(f"  sha256   {action['sha256']}  {action['size']} bytes")
    for kernel in kernels:
        verified = ", ".join(f"{v['backend']} on {v['device']}" for v in kernel.get("verified", [])) or "no"
        click.echo(f"  verified {verified}")
        click.echo(f"  publishable {'yes' if kernel['publishable'] else 'no: ' + ', '.join(kernel['why_not'])}")
