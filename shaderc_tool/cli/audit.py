"""`shaderpack audit`."""

from __future__ import annotations

from pathlib import Path

import click

from shaderc_tool.cli.common import format_option, out_option, report_and_exit, show_diagnostics
from shaderc_tool.diagnostics import Diagnostic, ShaderpackError, UsageError, has_errors


@click.command("audit")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--require", "required", multiple=True, metavar="SYMBOL", help="A symbol that must be there; may be repeated."
)
@out_option
@format_option
def audit_command(files: tuple[Path, ...], required: tuple[str, ...], out: Path, form: str) -> None:
    """Run the gate alone.

    With a manifest (.yaml), audit what the last build left in OUT/<pack>/. With artifacts, check that each is whole and
    that together they hold every --require symbol.

    \b
    Examples:
      shaderpack audit manifests/milady.yaml
      shaderpack audit libggml-vulkan.so --require milady_turbo3
    """
    from shaderc_tool.audit.command import audit_files, audit_manifest

    manifests = [f for f in files if f.suffix in (".yaml", ".yml")]
    try:
        if manifests and len(files) > 1:
            raise UsageError(
                Diagnostic(
                    "SP1014",
                    "give one manifest, or artifacts, not both",
                    cause=f"{len(files)} files were given",
                    fix="run audit once for each",
                )
            )
        if manifests:
            found, subjects = audit_manifest(manifests[0], out)
        else:
            found, subjects = audit_files(files, required)
    except ShaderpackError as error:
        report_and_exit(error, form, files[0])
        return
    show_diagnostics(found, form, subjects=subjects)
    if form == "text":
        click.echo(f"{len(subjects)} checked; gate {'FAILED' if has_errors(found) else 'ok'}")
    if has_errors(found):
        raise SystemExit(1)
