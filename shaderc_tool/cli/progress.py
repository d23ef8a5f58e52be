"""Progress: one line that changes on a terminal, plain lines otherwise."""

from __future__ import annotations

import shutil
import sys

import click

from shaderc_tool.build.records import BUILT, CACHED, FAILED, ActionRecord


class TerminalProgress:
    """A Progress on standard error. `verbose` adds the notes; `quiet` leaves only failures."""

    def __init__(self, *, verbose: bool = False, quiet: bool = False) -> None:
        self.verbose = verbose
        self.quiet = quiet
        self.live = sys.stderr.isatty() and not quiet
        self.done = self.total = 0
        self.shown = False

    def begin(self, total: int, what: str) -> None:
        self.done, self.total = 0, total

    def step(self, record: ActionRecord) -> None:
        self.done += 1
        if self.quiet:
            return
        count = f"[{min(self.done, self.total)}/{self.total}] " if self.total else ""
        line = f"{count}{record.status} {record.output}"
        if record.status == FAILED or not self.live:
            if record.status in (BUILT, FAILED, CACHED):
                self.clear()
                click.echo(line, err=True)
        else:
            width = shutil.get_terminal_size().columns - 1
            click.echo("\r\x1b[K" + line[:width], nl=False, err=True)
            self.shown = True

    def note(self, text: str) -> None:
        if self.verbose and not self.quiet:
            self.clear()
            click.echo(text, err=True)

    def clear(self) -> None:
        """Remove the changing line, if one is shown."""
        if self.shown:
            click.echo("\r\x1b[K", nl=False, err=True)
            self.shown = False
