"""`shaderpack patch`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from shaderc_tool.cli.common import format_option, manifest_argument, report_and_exit, show_diagnostics
from shaderc_tool.diagnostics import Diagnostic, ShaderpackError, UsageError

if TYPE_CHECKING:
    from shaderc_tool.patch.apply import DiskTree
    from shaderc_tool.patch.command import Pack
    from shaderc_tool.patch.plan import Change, Plan


@click.command("patch")
@manifest_argument
@click.option(
    "--tree", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Root of the checkout to patch."
)
@click.option("--check", is_flag=True, help="Say whether everything fits; write nothing.")
@click.option("--dry-run", is_flag=True, help="Print what would change as a diff; write nothing.")
@click.option("--revert", is_flag=True, help="Take everything out again, to the byte.")
@click.option("--status", is_flag=True, help="Say what is applied; write nothing.")
@format_option
def patch_command(
    manifest: Path, tree: Path, check: bool, dry_run: bool, revert: bool, status: bool, form: str
) -> None:
    """Apply the manifest's patches to a source tree, such as a llama.cpp checkout.

    All or nothing: every hunk is planned and checked before the first file is written, and all of them are reported. A
    second run changes nothing. Each hunk is one of: applied, to apply, stale (of an older pack, brought up to date),
    edited, half-applied, anchor missing, anchor ambiguous, file missing, in the way.

    \b
    Examples:
      shaderpack patch manifests/milady.yaml --tree llama.cpp --dry-run
      shaderpack patch manifests/milady.yaml --tree llama.cpp
      shaderpack patch manifests/milady.yaml --tree llama.cpp --revert

    \b
    Exit codes:
      0  fine
      1  something does not fit and nothing was written; with --status: something is stale or damaged
      2  wrong usage, manifest or patch file
    """
    from shaderc_tool.patch.command import load_pack, open_tree

    modes = [name for name, given in _named(check, dry_run, revert, status) if given]
    try:
        if len(modes) > 1:
            raise _one_mode(modes)
        pack = load_pack(manifest)
    except ShaderpackError as error:
        report_and_exit(error, form, manifest)
        return
    try:
        succeeded = _run(modes[0] if modes else "apply", pack, open_tree(tree), form)
    except ShaderpackError as error:
        show_diagnostics(error.diagnostics, form, pack.root)
        raise SystemExit(error.exit_code) from error
    if not succeeded:
        raise SystemExit(1)


def _named(check: bool, dry_run: bool, revert: bool, status: bool) -> list[tuple[str, bool]]:
    return [("check", check), ("dry-run", dry_run), ("revert", revert), ("status", status)]


def _one_mode(modes: list[str]) -> UsageError:
    return UsageError(
        Diagnostic(
            "SP1014",
            "give only one of " + " and ".join(f"--{mode}" for mode in modes),
            cause="each of them is another thing to do",
            fix="run the command once for each",
        )
    )


def _run(mode: str, pack: Pack, tree: DiskTree, form: str) -> bool:
    """Do it and print it; True when the exit code is 0."""
    from shaderc_tool.patch import command

    plan = command.survey_revert(pack, tree) if mode == "revert" else command.survey(pack, tree)
    changes: tuple[Change, ...] = ()
    if mode == "apply":
        changes = command.apply_plan(pack, tree, plan)
    elif mode == "revert":
        changes = command.revert_plan(pack, tree, plan)
    if mode == "dry-run":
        for piece in command.unified_diff(plan.changes):
            click.echo(piece, nl=False)
    elif form == "text":
        _show_items(plan, mode)
    show_diagnostics(plan.diagnostics, form, pack.root)
    if mode == "status":
        states = dict(command.patch_states(pack, plan))
        if form == "text":
            for name, state in states.items():
                click.echo(f"{name}: {state}")
        return plan.fits and not {"stale", "half-applied"} & set(states.values())
    if form == "text" and mode != "dry-run":
        click.echo(_summary(plan, mode, changes))
    return plan.fits


def _show_items(plan: Plan, mode: str) -> None:
    done = {"apply": {"to apply": "patched", "stale": "updated"}, "revert": {"applied": "reverted", "to apply": "gone"}}
    words = done.get(mode, {}) if plan.fits else {}
    for patch, version in plan.versions.items():
        if version:
            click.echo(f"{patch}: {version}")
    for item in plan.items:
        word = item.verdict.value
        click.echo(f"{words.get(word, word):<17} {item.place}  {item.name}")


def _summary(plan: Plan, mode: str, changes: tuple[Change, ...]) -> str:
    misfits = sum(not item.verdict.fits for item in plan.items)
    if not plan.fits:
        why = f"{misfits} of {len(plan.items)} do not fit" if misfits else "refused"
        return f"{why}; nothing was written"
    if mode == "check":
        return f"all {len(plan.items)} fit"
    return f"{len(changes)} files changed" if changes else "nothing to do"
