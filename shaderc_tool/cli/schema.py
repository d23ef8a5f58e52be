"""`shaderpack schema`."""

from __future__ import annotations

import json

import click


@click.command("schema")
def schema_command() -> None:
    """Print the manifest's JSON Schema (draft 2020-12).

    \b
    For completion in an editor, put this line first in a manifest:
      # yaml-language-server: $schema=shaderpack.schema.json
    """
    from shaderc_tool.manifest.spec import json_schema

    click.echo(json.dumps(json_schema(), indent=2))
