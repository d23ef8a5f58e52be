"""`shaderpack verify`."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shaderc_tool.cli.common import manifest_argument, out_option, show_diagnostics

if TYPE_CHECKING:
    from shaderc_tool.verify.backend import Backend
    from shaderc_tool.verify.command import Verified


@click.command("verify")
@manifest_argument
@out_option
@click.option(
    "--backend",
    type=click.Choice(["vulkan", "air-cpu"]),
    default="vulkan",
    show_default=True,
    help="Run the SPIR-V modules on a Vulkan device, or the metallibs' AIR on this processor.",
)
@click.option("--device", metavar="NAME|INDEX", help="Vulkan device: its index, or a part of its name.")
@click.option("--target", "targets", multiple=True, metavar="NAME", help="Verify only this target; may be repeated.")
@click.option("--large", is_flag=True, help="Also run the cases with more than 65535 work-groups.")
@click.option("--json", "as_json", is_flag=True, help="Print the evidence as JSON.")
def verify_command(
    manifest: Path,
    out: Path,
    backend: str,
    device: str | None,
    targets: tuple[str, ...],
    large: bool,
    as_json: bool,
) -> None:
    """Run the built kernels and compare with the references.

    What runs is what `shaderpack build` made, not a new compile. Every buffer is followed by a guard, and every output
    starts poisoned, so a write out of bounds and an element that was never written both fail. The evidence goes to
    OUT/<pack>/ and into capabilities.json; it counts only for exactly these bytes.

    \b
    Examples:
      shaderpack verify manifests/milady.yaml
      shaderpack verify manifests/milady.yaml --backend air-cpu --target macos
    """
    from shaderc_tool.build.report_file import record_evidence
    from shaderc_tool.manifest.load import load_manifest
    from shaderc_tool.manifest.select import select_targets
    from shaderc_tool.verify.command import evidence, jobs_for, verify_all

    whole = load_manifest(manifest)
    chosen = select_targets(whole, targets)
    folder = out / chosen.pack
    jobs = jobs_for(chosen, folder, backend)
    with _open(backend, device) as opened:
        if not as_json:
            click.echo(f"{len(jobs)} kernels on {opened.info}")
            click.echo(f"{'kernel':44} {'cases':>5} {'max abs':>9} {'max rel':>9} {'ms':>9}")
        verified = verify_all(jobs, opened, _quiet if as_json else _row, large=large)
    found = evidence(backend, verified)
    record_evidence(whole, folder, backend, found)
    if as_json:
        click.echo(json.dumps(found, indent=1))
    diagnostics = [d for v in verified for d in v.result.diagnostics()]
    show_diagnostics(diagnostics, "text")
    failed = [v for v in verified if not v.result.passed]
    if not as_json:
        click.echo(f"{len(verified) - len(failed)} of {len(verified)} kernels agree with their references")
    if failed:
        raise SystemExit(1)


def _open(backend: str, device: str | None) -> AbstractContextManager[Backend]:
    if backend == "vulkan":
        from shaderc_tool.verify.vulkan_device import open_device

        return open_device(device)
    from shaderc_tool.verify.air_cpu.backend import open_cpu

    return open_cpu()


def _row(verified: Verified) -> None:
    result = verified.result
    mark = "" if result.passed else click.style("  FAILED", fg="red")
    click.echo(
        f"{result.kernel:44} {len(result.cases):5} {result.max_abs:9.2g} {result.max_rel:9.2g} "
        f"{result.milliseconds:9.2f}{mark}"
    )


def _quiet(_: Verified) -> None:
    """With --json nothing is printed before the end."""
