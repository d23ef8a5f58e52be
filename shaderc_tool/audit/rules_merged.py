"""SP4001 and SP4060: kernels of the merged sources of embed bundles, from the compiles at each language version."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from shaderc_tool.audit.rules_languages import check_languages
from shaderc_tool.audit.source_kernels import SourceKernel, source_kernels, source_macros
from shaderc_tool.diagnostics import Diagnostic
from shaderc_tool.manifest.embeds import Embed, embeds
from shaderc_tool.manifest.model import Manifest, MetalFunction


def check_merged_sources(manifest: Manifest, folder: Path) -> list[Diagnostic]:
    """Every function that a version must give is in what its compile gave, or in the text where none was possible.

    Targets that are made of the same files have the same faults: each is reported once.
    """
    found: dict[Diagnostic, None] = {}
    for embed in embeds(manifest):
        path = folder / embed.merged
        if path.is_file():
            found.update(dict.fromkeys(_check(embed, folder, path.read_text("utf-8", "replace"))))
    return list(found)


def _check(embed: Embed, folder: Path, text: str) -> Iterator[Diagnostic]:
    kernels = source_kernels(text)
    listings = {std: folder / embed.listing(std) for std in embed.stds}
    given = {std: set(path.read_text("utf-8").splitlines()) for std, path in listings.items() if path.is_file()}
    # A kernel that a macro declares is only seen once compiled.
    present = {kernel.name for kernel in kernels}.union(*given.values())
    for std in embed.stds:
        wanted = [function for function in embed.required(std) if function.name in present]
        if std in given:
            yield from (_left_out(f, std, kernels) for f in wanted if f.name not in given[std])
        else:
            macros = {**source_macros(text), **dict(embed.units[0].defines)}
            yield from check_languages([f.name for f in wanted], kernels, [std], macros, embed.merged)
    wanted = [function for std in embed.stds for function in embed.required(std)]
    yield from (_absent(f, embed.merged) for f in dict.fromkeys(wanted) if f.name not in present)


def _left_out(function: MetalFunction, std: str, kernels: tuple[SourceKernel, ...]) -> Diagnostic:
    """The kernel is in the text, but not in what the compile gave."""
    conditions = (kernel.conditions for kernel in kernels if kernel.name == function.name)
    guards = " and ".join(sorted(("" if c.holds else "not ") + c.text for c in next(conditions, ())))
    return Diagnostic(
        "SP4060",
        f"{function.name} is left out of the merged source at {std}",
        function.place,
        cause=f"it stands behind {guards}" if guards else "the compile at this version does not give it",
        fix="move the kernel out of the guard, or declare from which version on it is there: `requires_std`",
        subject=function.name,
    )


def _absent(function: MetalFunction, file: str) -> Diagnostic:
    return Diagnostic(
        "SP4001",
        f"required kernel {function.name} is missing from {Path(file).name}",
        function.place,
        cause="the merged source does not define it; a comment or a template alone does not count",
        fix="check the source that should define it, and the merge's markers",
        subject=function.name,
    )
