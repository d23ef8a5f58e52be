"""`shaderpack build`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from shaderc_tool.build.pipeline import build
from shaderc_tool.build.records import BUILT, CACHED, FAILED, KEPT, PLANNED, BuildResult
from shaderc_tool.build.session import BuildRequest
from shaderc_tool.cli.common import format_option, manifest_argument, out_option, report_and_exit, show_diagnostics
from shaderc_tool.cli.progress import TerminalProgress
from shaderc_tool.diagnostics import ShaderpackError


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
    manifest: Path,
    out: Path,
    targets: tuple[str, ...],
    jobs: int,
    keep_going: bool,
    dry_run: bool,
    explain: bool,
    no_cache: bool,
    check_determinism: bool,
    glsl_toolchain: str,
    metal_toolchain: str,
    verbose: bool,
    quiet: bool,
    form: str,
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
    request = BuildRequest(
        manifest=manifest,
        out=out,
        targets=targets,
        jobs=jobs,
        use_cache=not no_cache,
        keep_going=keep_going,
        dry_run=dry_run,
        check_determinism=check_determinism,
        glsl_toolchain=glsl_toolchain,
        metal_toolchain=metal_toolchain,
    )
    progress = TerminalProgress(verbose=verbose or explain, quiet=quiet or form != "text")
    try:
        result = build(request, dict(os.environ), progress)
    except ShaderpackError as error:
        progress.clear()
        report_and_exit(error, form, manifest)
        return
    progress.clear()
    if (explain or dry_run) and form == "text":
        for record in result.records:
            click.echo(f"{record.status:8} {record.output}: {record.reason}")
    subjects = [record.output for record in result.records]
    show_diagnostics(result.diagnostics, form, result.manifest.root, subjects)
    if form == "text" and not quiet:
        click.echo(_summary(result, out / result.manifest.pack))
    if not result.ok:
        raise SystemExit(1)


def _summary(result: BuildResult, folder: Path) -> str:
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
    return f"{folder}: {', '.join(parts) or 'nothing to do'}; gate {verdict}; {result.seconds:.2f} s"
