"""`shaderpack compile-commands`."""

from __future__ import annotations

from pathlib import Path

import click

from shaderc_tool.cli.common import manifest_argument


@click.command("compile-commands")
@manifest_argument
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("compile_commands.json"),
    show_default=True,
    help="The file to write.",
)
def compile_commands_command(manifest: Path, output: Path) -> None:
    """Write the compile command of every module of MANIFEST, for editors and language servers.

    The commands are those that would make each module alone; nothing is compiled.
    """
    from shaderc_tool.build.output import write_atomically
    from shaderc_tool.manifest.load import load_manifest
    from shaderc_tool.record.compile_commands import compile_commands

    loaded = load_manifest(manifest)
    write_atomically(output, compile_commands(loaded).encode())
    click.echo(f"wrote {output}: {len(loaded.shaders) + len(loaded.metal)} commands")
