"""SP4060: kernels of embedded source that a language version leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from shaderc_tool.audit.source_kernels import SourceKernel, metal_version
from shaderc_tool.diagnostics import Diagnostic, Place, Severity


def check_languages(
    required: Iterable[str], kernels: Sequence[SourceKernel], stds: Iterable[str], macros: Mapping[str, str], file: str
) -> Iterator[Diagnostic]:
    """For each required kernel of a source text and each `-std`: an error when a guard drops it, a warning when that
    hangs on a macro that nothing here defines. Kernels that the text does not have are another rule's."""
    by_name: dict[str, list[SourceKernel]] = {}
    for kernel in kernels:
        by_name.setdefault(kernel.name, []).append(kernel)
    for name in required:
        for std in stds:
            states = {kernel.at(metal_version(std), macros) for kernel in by_name.get(name, ())}
            if not states or True in states:
                continue
            first = by_name[name][0]
            guards = " and ".join(sorted(("" if c.holds else "not ") + c.text for c in first.conditions))
            certain = states == {False}
            yield Diagnostic(
                "SP4060",
                f"{name} {'is left out' if certain else 'may be left out'} at {std}",
                Place(file, first.line),
                cause=f"it stands behind {guards}",
                fix="raise the language version, move the kernel out of the guard, or require it from that version on",
                subject=name,
                severity=Severity.ERROR if certain else Severity.WARNING,
            )
