"""`shaderpack audit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shaderc_tool.cli.common import format_option, out_option, report_and_exit, show_diagnostics
from shaderc_tool.diagnostics import Diagnostic, ShaderpackError, UsageError, has_errors

if TYPE_CHECKING:
    from shaderc_tool.audit.command import Audited

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("audit")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--require", "required", multiple=True, metavar="SYMBOL", help="A symbol that must be there; may be repeated."
)
@click.option("--forbid", "forbidden", multiple=True, metavar="GLOB", help="Symbols that must not be there.")
@click.option("--each", is_flag=True, help="Every artifact and slice must hold every --require symbol by itself.")
@click.option("--std", "stds", multiple=True, metavar="STD", help="Also at this language version, such as metal2.4.")
@click.option("--consumer", "consumers", multiple=True, metavar="GLOB", help="Host sources whose kernel names count.")
@click.option("--prefix", "prefixes", multiple=True, metavar="TEXT", help="What kernel names start with: kernel_.")
@click.option("--baseline", type=_FILE, help="Fail for kernels and interfaces that this baseline has otherwise.")
@click.option("--write-baseline", type=_FILE, help="Write the baseline for the next audit.")
@click.option("--publishable", is_flag=True, help="With a manifest: fail unless every kernel is publishable.")
@click.option(
    "--image",
    "images",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With a manifest: a program, library or framework that must embed the last build's shaders.",
)
@click.option("--layout-header", type=_FILE, help="With a manifest: write static asserts of the argument structs.")
@out_option
@format_option
def audit_command(files: tuple[Path, ...], out: Path, form: str, **options: Any) -> None:
    """Run the gate alone.

    With a manifest (.yaml), audit what the last build left in OUT/<pack>/. With artifacts or folders, check that each
    is whole and sound, and that together they hold every --require symbol. docs/rules.md explains every rule.

    \b
    Examples:
      shaderpack audit manifests/milady.yaml --publishable
      shaderpack audit manifests/milady.yaml --image MyApp.app
      shaderpack audit libggml-vulkan.so --require milady_turbo3
      shaderpack audit Milady.xcframework --each --require kernel_turbo3_dot
      shaderpack audit default.metallib --consumer 'src/**/*.mm' --baseline baseline.json
    """
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
        found, subjects = _manifest(manifests[0], out, options) if manifests else _files(files, options)
    except ShaderpackError as error:
        report_and_exit(error, form, files[0])
        return
    show_diagnostics(found, form, subjects=subjects)
    if form == "text":
        click.echo(f"{len(subjects)} checked; gate {'FAILED' if has_errors(found) else 'ok'}")
    if has_errors(found):
        raise SystemExit(1)


def _manifest(path: Path, out: Path, options: dict[str, Any]) -> Audited:
    from shaderc_tool.audit.command import ManifestAudit, audit_manifest

    _refuse(
        options,
        ("required", "forbidden", "each", "stds", "consumers", "prefixes"),
        "artifacts; a manifest says so itself",
    )
    names = ("baseline", "write_baseline", "publishable", "images", "layout_header")
    return audit_manifest(path, out, ManifestAudit(**{name: options[name] for name in names}))


def _files(files: tuple[Path, ...], options: dict[str, Any]) -> Audited:
    from shaderc_tool.audit.file_gate import FileAudit, audit_files

    _refuse(options, ("publishable", "images", "layout_header"), "a manifest")
    names = ("required", "forbidden", "each", "stds", "consumers", "baseline", "write_baseline")
    prefixes = options["prefixes"] or FileAudit.prefixes
    return audit_files(files, FileAudit(prefixes=prefixes, **{name: options[name] for name in names}))


def _refuse(options: dict[str, Any], names: tuple[str, ...], wants: str) -> None:
    given = [
        name.removesuffix("s").replace("required", "require").replace("forbidden", "forbid").replace("_", "-")
        for name in names
        if options[name]
    ]
    if given:
        raise UsageError(
            Diagnostic(
                "SP1014",
                f"--{given[0]} is for {wants}",
                cause="the option has no meaning here",
                fix="leave it out",
            )
        )
