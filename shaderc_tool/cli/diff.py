"""`shaderpack diff`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shaderc_tool.cli.common import report_and_exit
from shaderc_tool.diagnostics import ShaderpackError

if TYPE_CHECKING:
    from shaderc_tool.audit.baseline import Difference


@click.command("diff")
@click.argument("before", metavar="A", type=click.Path(path_type=Path))
@click.argument("after", metavar="B", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON; docs/audit.md lists the keys.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 when something differs.")
def diff_command(before: Path, after: Path, as_json: bool, exit_code: bool) -> None:
    """Show which kernels were added, removed or changed from A to B, and by how much sizes differ.

    A and B are artifacts, folders such as build/milady, or baselines that `audit --write-baseline` wrote.

    \b
    Examples:
      shaderpack diff old/default.metallib build/milady/macos/default.metallib
      shaderpack diff baseline.json build/milady --json
    """
    from shaderc_tool.audit.baseline import compare, load

    try:
        difference = compare(load(before), load(after))
    except ShaderpackError as error:
        report_and_exit(error, "text")
        return
    if as_json:
        click.echo(json.dumps(difference_value(difference), indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(_lines(difference)))
    if exit_code and not difference.is_empty:
        raise SystemExit(1)


def difference_value(difference: Difference) -> dict[str, Any]:
    """The difference as JSON data."""
    return {
        "schema": 1,
        "added": [kernel.value() for kernel in difference.added],
        "removed": [kernel.value() for kernel in difference.removed],
        "changed": [
            {
                "name": change.name,
                "artifact": change.artifact,
                "interface": {
                    part: {"before": change.before.interface.get(part), "after": change.after.interface.get(part)}
                    for part in change.what
                },
                "size": {"before": change.before.size, "after": change.after.size},
                "sha256": {"before": change.before.sha256, "after": change.after.sha256},
            }
            for change in difference.changed
        ],
        "sizes": [{"file": name, "before": old, "after": new} for name, old, new in difference.sizes],
    }


def _lines(difference: Difference) -> list[str]:
    if difference.is_empty:
        return ["no difference"]
    lines = [f"+ {k.name}  ({k.artifact}, {k.size:,} bytes)" for k in difference.added]
    lines += [f"- {k.name}  ({k.artifact}, {k.size:,} bytes)" for k in difference.removed]
    for change in difference.changed:
        for part in change.what:
            lines.append(f"! {change.name}: {part.replace('_', ' ')}")
            lines.append(f"    was {json.dumps(change.before.interface.get(part))}")
            lines.append(f"    is  {json.dumps(change.after.interface.get(part))}")
        if not change.what:
            lines.append(f"~ {change.name}: code differs, {change.after.size - change.before.size:+,} bytes")
    lines += [f"  {name}: {old:,} → {new:,} bytes ({new - old:+,})" for name, old, new in difference.sizes]
    interfaces = sum(change.is_interface for change in difference.changed)
    counts = (len(difference.added), len(difference.removed), interfaces, len(difference.changed) - interfaces)
    lines.append("{} added, {} removed, {} with another interface, {} with other code".format(*counts))
    return lines
