"""The `shaderpack` command. Each subcommand lives in its own module and is imported only when it is used."""

from __future__ import annotations

import importlib

import click

from shaderc_tool import __version__
from shaderc_tool.diagnostics import ShaderpackError

# name → (module, attribute, one line for --help); a table, so that --help imports none of the commands.
_COMMANDS: dict[str, tuple[str, str, str]] = {
    "build": ("build", "build_command", "Compile, package and gate everything a manifest declares."),
    "audit": ("audit", "audit_command", "Run the gate alone, on artifacts made earlier or elsewhere."),
    "inspect": ("inspect", "inspect_command", "Show what is in a metallib, AIR, SPIR-V or object file."),
    "diff": ("diff", "diff_command", "Compare the kernels of two artifacts, builds or baselines."),
    "verify": ("verify", "verify_command", "Run the built kernels and compare with the references."),
    "patch": ("patch", "patch_command", "Apply the manifest's patches to a source tree, or take them out."),
    "explain": ("explain", "explain_command", "Say where a kernel stands, or what a diagnostic code means."),
    "doctor": ("doctor", "doctor_command", "Check every toolchain and name the fix for what is missing."),
    "record": ("record", "record_command", "Run an existing build and write the manifest that makes the same modules."),
    "compile-commands": (
        "compile_commands",
        "compile_commands_command",
        "Write compile_commands.json, for editors.",
    ),
    "init": ("init", "init_command", "Write a small working manifest and shader to start from."),
    "schema": ("schema", "schema_command", "Print the manifest's JSON Schema, for editors."),
    "cache": ("cache", "cache_command", "Show, trim or clear the compile cache."),
}


class _ReportedError(click.ClickException):
    """A ShaderpackError on its way to the terminal; keeps its exit code."""

    def __init__(self, error: ShaderpackError) -> None:
        super().__init__(str(error))
        self.error = error
        # click reads the code from the instance, as for its own exceptions.
        self.exit_code = error.exit_code  # type: ignore[misc]

    def show(self, file: object = None) -> None:
        from shaderc_tool.cli.common import show_diagnostics

        show_diagnostics(self.error.diagnostics, "text")


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = _COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module = importlib.import_module(f"shaderc_tool.cli.{entry[0]}")
        command: click.Command = getattr(module, entry[1])
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            from shaderc_tool.manifest.shapes import did_you_mean

            ctx.fail(f"no such command «{args[0]}»; {did_you_mean(args[0], _COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry[2]) for name, entry in _COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except ShaderpackError as error:
            raise _ReportedError(error) from error


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="shaderpack")
def cli() -> None:
    """One YAML manifest in; compiled, embedded, verified and audited GPU shader bundles out.

    \b
    Start here:
      shaderpack init demo            write a small working manifest
      shaderpack build demo/demo.yaml
      shaderpack doctor               what is installed, what is missing

    \b
    Exit codes:
      0  fine
      1  build, audit or verification failed
      2  wrong usage or manifest
      3  a needed tool is missing
      130  interrupted
    """


def main() -> None:
    """Entry point of the console script."""
    cli.main(prog_name="shaderpack")
