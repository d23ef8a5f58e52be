"""`shaderpack inspect`."""

from __future__ import annotations

import json
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shaderc_tool.cli.common import show_diagnostics
from shaderc_tool.diagnostics import Diagnostic, ShaderpackError, ToolMissingError, has_errors

if TYPE_CHECKING:
    from shaderc_tool.audit.artifact_json import Modules
    from shaderc_tool.audit.artifacts import Description


@click.command("inspect")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--function", "patterns", multiple=True, metavar="NAME", help="Only these functions; * and ? match.")
@click.option("--arguments", is_flag=True, help="Read the bitcode too: argument tables and the lints that need them.")
@click.option("--disassemble", is_flag=True, help="Print the LLVM IR of each function.")
@click.option(
    "--extract",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write each function as a library of its own, and recorded sources.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON; docs/inspect.md lists the keys.")
def inspect_command(
    files: tuple[Path, ...],
    patterns: tuple[str, ...],
    arguments: bool,
    disassemble: bool,
    folder: Path | None,
    as_json: bool,
) -> None:
    """Show what is in a metallib, AIR, SPIR-V, Mach-O, ELF, PE/COFF, static archive, zip or wheel.

    Metal libraries and SPIR-V modules are found wherever they are embedded.

    \b
    Examples:
      shaderpack inspect default.metallib
      shaderpack inspect libggml-metal.dylib --function 'kernel_mul_*' --arguments
      shaderpack inspect default.metallib --function softmax --disassemble
      shaderpack inspect mlx_metal-0.32.4-py3-none-macosx_14_0_arm64.whl --json
    """
    from shaderc_tool.audit.artifacts import describe_file, fault_diagnostics

    select = _selector(patterns)
    documents: list[object] = []
    found: list[Diagnostic] = []
    for path in files:
        try:
            description = describe_file(path)
        except ShaderpackError as error:
            found += error.diagnostics
            continue
        found += fault_diagnostics(description)
        found += _unmatched(description, patterns)
        if arguments:
            _require_llvm()
        description, modules = _read_bitcode(description, select) if arguments else (description, {})
        if as_json:
            documents.append(_document(description, select, modules, disassemble))
        else:
            _print(description, select, modules, disassemble)
        if folder:
            _extract(description, select, folder)
    if as_json:
        click.echo(json.dumps({"schema": 1, "files": documents}, indent=2, ensure_ascii=False))
    show_diagnostics(found, "text")
    if has_errors(found):
        raise SystemExit(1)


def _selector(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    if not patterns:
        return lambda name: True
    return lambda name: any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)


def _unmatched(description: Description, patterns: tuple[str, ...]) -> list[Diagnostic]:
    names = [f.name for part in description.walk() for r in part.libraries for f in r.library.functions]
    return [
        Diagnostic(
            "SP4001",
            f"{description.name} has no function {pattern}",
            cause=f"none of its {len(names)} functions matches",
            fix="list them without --function",
            subject=pattern,
        )
        for pattern in patterns
        if not any(name == pattern or fnmatchcase(name, pattern) for name in names)
    ]


def _require_llvm() -> None:
    try:
        import llvmlite  # noqa: F401
    except ImportError as error:
        raise ToolMissingError(
            Diagnostic(
                "SP2005",
                "bitcode cannot be read: llvmlite is not installed",
                cause=str(error),
                fix="pip install 'shaderpack[metal]'",
            )
        ) from error


def _read_bitcode(description: Description, select: Callable[[str], bool]) -> tuple[Description, dict[int, Modules]]:
    """The description with bitcode lints, and the parsed modules by `id` of the library report."""
    from dataclasses import replace

    from shaderc_tool.audit.artifacts import with_air

    modules: dict[int, Modules] = {}
    reports = []
    for report in description.libraries:
        only = frozenset(f.name for f in report.library.functions if select(f.name))
        filled, parsed = with_air(report, only)
        modules[id(filled)] = parsed
        reports.append(filled)
    members = []
    for member in description.members:
        described, inner = _read_bitcode(member, select)
        members.append(described)
        modules |= inner
    return replace(description, libraries=tuple(reports), members=tuple(members)), modules


def _document(
    description: Description, select: Callable[[str], bool], modules: dict[int, Modules], disassemble: bool
) -> object:
    from shaderc_tool.audit.artifact_json import description_json

    document = description_json(description, select, modules)
    if disassemble:
        texts = _disassembly(description, select)
        document["disassembly"] = [{"function": name, "text": text} for name, text in texts]
    return document


def _print(
    description: Description, select: Callable[[str], bool], modules: dict[int, Modules], disassemble: bool
) -> None:
    from shaderc_tool.cli.inspect_text import render

    click.echo("\n".join(render(description, select, modules)))
    if disassemble:
        for name, text in _disassembly(description, select):
            click.echo(f"\n; {name}\n{text}")


def _disassembly(description: Description, select: Callable[[str], bool]) -> list[tuple[str, str]]:
    """(function, LLVM IR) for every function whose hash is right, and for AIR files."""
    _require_llvm()
    from shaderc_tool.formats.bitcode import disassemble
    from shaderc_tool.formats.errors import FormatError

    texts = []
    for part in description.walk():
        if part.air:
            texts.append((part.name, disassemble(bytes(part.bitcode))))
        for report in part.libraries:
            for function in report.library.functions:
                if not select(function.name):
                    continue
                try:
                    text = disassemble(bytes(function.bitcode)) if function.hash_matches() else "; wrong hash"
                except FormatError as error:
                    text = f"; {error}"
                texts.append((function.name, text))
    return texts


def _extract(description: Description, select: Callable[[str], bool], folder: Path) -> None:
    from shaderc_tool.audit.extract import extract
    from shaderc_tool.build.output import write_atomically

    count = 0
    for relative, data in extract(description, select):
        write_atomically(folder / relative, data)
        count += 1
    click.echo(f"{count} files written to {folder}", err=True)
