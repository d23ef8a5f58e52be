"""`shaderpack record`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from shaderc_tool.cli.common import show_diagnostics


@click.command("record", context_settings={"ignore_unknown_options": True})
@click.option(
    "-o",
    "--output",
    "manifest",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("shaderpack.yaml"),
    show_default=True,
    help="The manifest to write; an existing one is replaced.",
)
@click.option("--pack", default="recorded", show_default=True, help="The bundle's name in the manifest.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def record_command(command: tuple[str, ...], manifest: Path, pack: str) -> None:
    """Run COMMAND, an existing shader build, and write the manifest that makes the same modules.

    glslc, glslangValidator and xcrun are recorded when the build finds them on PATH. The build runs as always; start
    from a clean build folder, so that it compiles everything.

    \b
    Examples:
      shaderpack record -- make shaders
      shaderpack record -o ggml.yaml --pack ggml -- cmake --build build --target ggml-vulkan
    """
    from shaderc_tool.record.command import record

    recorded = record(command, manifest, pack, dict(os.environ))
    show_diagnostics(recorded.diagnostics, "text")
    click.echo(f"wrote {manifest}: {recorded.modules} modules in {recorded.lines} lines")
    click.echo(f"next: shaderpack build {manifest}")
