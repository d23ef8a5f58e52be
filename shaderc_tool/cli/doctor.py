"""`shaderpack doctor`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from shaderc_tool.build.doctor import Check, run_checks
from shaderc_tool.build.process import ProcessRunner


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
def doctor_command(as_json: bool) -> None:
    """Check every toolchain: found, version, what it can do, and the one command that fixes what is missing.

    Exit code 0 when at least the Vulkan half can be built, else 3.
    """
    checks = run_checks(dict(os.environ), ProcessRunner(), Path.cwd())
    if as_json:
        import json

        click.echo(json.dumps([check.value() for check in checks], indent=1, ensure_ascii=False))
    else:
        for check in checks:
            _show(check)
    if not all(check.ok for check in checks if check.essential):
        raise SystemExit(3)


def _show(check: Check) -> None:
    mark = click.style("ok  ", fg="green") if check.ok else click.style("no  ", fg="yellow")
    click.echo(f"{mark} {check.name:22} {check.detail}")
    if check.ok and check.can:
        click.echo(f"     {'':22} can: {check.can}")
    if not check.ok and check.fix:
        click.echo(f"     {'':22} fix: {check.fix}")
