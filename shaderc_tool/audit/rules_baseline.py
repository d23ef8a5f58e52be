"""SP4069, SP4070 and SP4073: what changed against a baseline and has to be looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shaderc_tool.audit.baseline import Difference
from shaderc_tool.audit.host_names import NameUse
from shaderc_tool.audit.rules_consumers import users
from shaderc_tool.diagnostics import Diagnostic, Place, Related, Severity


def check_baseline(
    difference: Difference, baseline: str, growth: int, uses: Sequence[NameUse] = ()
) -> Iterator[Diagnostic]:
    """Errors for kernels that are gone and interfaces that changed, a warning for files that grew by more than
    `growth` percent. `uses` are host sources' names: they say who needs a kernel that is gone."""
    for kernel in difference.removed:
        needed = users(kernel.name, uses)
        yield Diagnostic(
            "SP4070",
            f"{kernel.name} was in {kernel.artifact} and is gone",
            needed[0].place if needed else Place(kernel.artifact),
            cause=f"the baseline {baseline} has it"
            + (f"; this line makes the name from «{needed[0].text}»" if needed else ""),
            fix="bring it back; if it is meant to go, write the baseline again",
            subject=kernel.name,
            related=tuple(Related(use.place, "needed here, too") for use in needed[1:]),
        )
    for change in difference.changed:
        for part in change.what:
            yield Diagnostic(
                "SP4069",
                f"{change.name}: {part.replace('_', ' ')} changed",
                Place(change.artifact),
                cause=f"it was {change.before.interface.get(part)}, it is {change.after.interface.get(part)}",
                fix="change the host code with it and write the baseline again, or restore the interface",
                subject=change.name,
            )
    for name, before, after in difference.sizes:
        if before and after * 100 > before * (100 + growth):
            yield Diagnostic(
                "SP4073",
                f"{name} grew from {before:,} to {after:,} bytes",
                Place(name),
                cause=f"more than {growth} % over {baseline}",
                fix="look for debug information and unwanted variants; if it is meant, write the baseline again",
                subject=name,
                severity=Severity.WARNING,
            )
