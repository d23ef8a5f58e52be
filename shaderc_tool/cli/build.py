"""`shaderpack build`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shaderc_tool.build import quick
from shaderc_tool.build.folders import default_cache_folder
from shaderc_tool.cli.common import format_option, manifest_argument, out_option

if TYPE_CHECKING:
    from shaderc_tool.build.records import BuildResult
    from shaderc_tool.build.session import BuildRequest


@click.command("build")
@manifest_argument
@out_option
@click.option("--target", "targets", multiple=True, metavar="NAME", help="Build only this target; may be repeated.")
@click.option("-j", "--jobs", type=click.IntRange(min=0), default=0, help="Processes at once; 0 means one a processor.")
@click.option("-k", "--keep-going", is_flag=True, help="Go on after a failure and report every one.")
@click.option("-n", "--dry-run", is_flag=True, help="Say what would be made, make nothing.")
@click.option("--explain", is_flag=True, help="Say for every output why it was made or kept.")
@click.option("--no-cache", is_flag=True, help="Make everything again and store nothing.")
@click.option("--check-determinism", is_flag=True, help="Compile every shader twice and compare the bytes.")
@click.option(
    "--glsl-toolchain",
    type=click.Choice(["auto", "glslc", "glslang"]),
    default="auto",
    help="Force the system's glslc, or the glslang of the `glsl` extra.",
)
@click.option(
    "--metal-toolchain",
    type=click.Choice(["auto", "apple", "portable"]),
    default="auto",
    help="Force Apple's compiler, or the portable one of the `metal` extra.",
)
@click.option("-v", "--verbose", is_flag=True, help="Also say which toolchain is used and what is waited for.")
@click.option("-q", "--quiet", is_flag=True, help="Print diagnostics only.")
@format_option
def build_command(
    manifest: Path, out: Path, explain: bool, verbose: bool, quiet: bool, form: str, **options: Any
) -> None:
    """Compile, package and gate everything that MANIFEST declares.

    Outputs go to OUT/<pack>/. A second build makes only what changed: content decides, not time stamps. The build
    fails when a required kernel is missing, damaged, duplicated or has another interface than declared.

    \b
    Examples:
      shaderpack build manifests/milady.yaml --target vulkan
      shaderpack build manifests/milady.yaml --explain
      shaderpack build manifests/milady.yaml --format sarif > build.sarif
    """
    plain = form == "text" and not (explain or verbose or any(options[o] for o in ("dry_run", "check_determinism")))
    memory = _memory_file(manifest, out, options) if plain and not options["no_cache"] else ""
    summary = quick.up_to_date(memory) if memory else None
    if summary is not None:
        if not quiet:
            click.echo(summary)
        return
    _full_build(
        _request(manifest, out, options), explain=explain, verbose=verbose, quiet=quiet, form=form, memory=memory
    )


def _memory_file(manifest: Path, out: Path, options: dict[str, Any]) -> str:
    asked = (options["targets"], options["keep_going"], options["glsl_toolchain"], options["metal_toolchain"])
    return quick.quick_file(default_cache_folder(os.environ), str(manifest), str(out), asked, os.environ)


def _request(manifest: Path, out: Path, options: dict[str, Any]) -> BuildRequest:
    from shaderc_tool.build.session import BuildRequest

    use_cache = not options.pop("no_cache")
    return BuildRequest(manifest=manifest, out=out, use_cache=use_cache, **options)


def _full_build(request: BuildRequest, *, explain: bool, verbose: bool, quiet: bool, form: str, memory: str) -> None:
    from shaderc_tool.build.pipeline import build
    from shaderc_tool.cli.common import report_and_exit, show_diagnostics
    from shaderc_tool.cli.progress import TerminalProgress
    from shaderc_tool.diagnostics import ShaderpackError

    progress = TerminalProgress(verbose=verbose or explain, quiet=quiet or form != "text")
    try:
        result = build(request, dict(os.environ), progress)
    except ShaderpackError as error:
        progress.clear()
        report_and_exit(error, form, request.manifest)
        return
    progress.clear()
    if (explain or request.dry_run) and form == "text":
        for record in result.records:
            click.echo(f"{record.status:8} {record.output}: {record.reason}")
    subjects = [record.output for record in result.records]
    show_diagnostics(result.diagnostics, form, result.manifest.root, subjects)
    summary = _summary(result, request.out / result.manifest.pack)
    if form == "text" and not quiet:
        click.echo(summary)
    if not result.ok:
        raise SystemExit(1)
    if memory and result.nothing_done and not result.diagnostics:
        from shaderc_tool.build.output import write_atomically

        write_atomically(Path(memory), quick.memory_text(result.looked_at, summary))


def _summary(result: BuildResult, folder: Path) -> str:
    from shaderc_tool.build.records import BUILT, CACHED, FAILED, KEPT, PLANNED

    if result.count(PLANNED):
        return f"{result.count(PLANNED)} to make, {result.count(KEPT)} up to date (dry run, nothing was made)"
    parts = [
        f"{count} {word}"
        for word, count in (
            ("built", result.count(BUILT)),
            ("from cache", result.count(CACHED)),
            ("up to date", result.count(KEPT)),
            ("failed", result.count(FAILED)),
        )
        if count
    ]
    verdict = "ok" if result.ok else "FAILED"
    return f"{folder}: {', '.join(parts) or 'nothing to do'}; gate {verdict}"
