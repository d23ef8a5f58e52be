"""`shaderpack cache`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from shaderc_tool.build.folders import default_cache_folder
from shaderc_tool.build.store import Store

_MIB = 1024 * 1024
_DAY = 86400.0


def _store() -> Store:
    return Store(Path(default_cache_folder(os.environ)))


@click.group("cache")
def cache_command() -> None:
    """Show, trim or clear the compile cache.

    The cache is at SHADERPACK_CACHE, or in the platform's cache folder. Its entries are named by content, so any number
    of builds and projects may share it.
    """


@cache_command.command("stats")
@click.option("--verify", is_flag=True, help="Read every entry and count the damaged ones.")
def stats(verify: bool) -> None:
    """Print where the cache is and how much it holds."""
    store = _store()
    found = store.stats(verify=verify)
    click.echo(f"folder   {store.folder}")
    click.echo(f"entries  {found.entries}")
    click.echo(f"size     {found.size / _MIB:.1f} MiB")
    if verify:
        click.echo(f"damaged  {found.damaged}")


@cache_command.command("gc")
@click.option("--max-mib", type=click.IntRange(min=0), default=2048, show_default=True, help="Keep at most this much.")
@click.option(
    "--max-days", type=click.IntRange(min=0), default=60, show_default=True, help="Drop what is unused longer."
)
def gc(max_mib: int, max_days: int) -> None:
    """Remove what was not used for long, then the least recently used."""
    removed = _store().collect(max_mib * _MIB, max_days * _DAY)
    click.echo(f"removed {removed.entries} entries, {removed.size / _MIB:.1f} MiB")


@cache_command.command("clear")
def clear() -> None:
    """Remove every entry."""
    removed = _store().clear()
    click.echo(f"removed {removed.entries} entries, {removed.size / _MIB:.1f} MiB")
