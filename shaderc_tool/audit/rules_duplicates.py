"""SP4061: one kernel or symbol in several places, so that link order or load order decides which one runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from shaderc_tool.audit.artifacts import Description
from shaderc_tool.audit.kernels import Kernel
from shaderc_tool.diagnostics import Diagnostic, Place, Severity

_SHOWN = 5


def check_archives(description: Description) -> Iterator[Diagnostic]:
    """Members of one archive that define the same strong symbol: one of them is dropped, or the link fails."""
    for part in description.walk():
        if part.kind != "archive":
            continue
        homes: dict[str, list[str]] = defaultdict(list)
        for member in part.members:
            for name in member.strong:
                homes[name].append(_short(member.name, part.name))
        groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for name, owners in homes.items():
            if len(owners) > 1:
                groups[tuple(owners)].append(name)
        for members, names in groups.items():
            yield Diagnostic(
                "SP4061",
                f"{part.name}: {', '.join(members)} all define {_some(names)}",
                Place(description.name),
                cause="the archive holds two copies of one object, or two libraries were merged",
                fix="put each object into the archive once",
                subject=names[0],
            )


def check_kernels(kernels: Sequence[Kernel]) -> Iterator[Diagnostic]:
    """Kernels of one name and target with different bytes in several artifacts, and units that are there twice."""
    yield from _twice(kernels)
    homes: dict[tuple[str, str, str], dict[str, str]] = defaultdict(dict)
    for kernel in kernels:
        if kernel.sha256 and kernel.form in ("metallib", "spirv"):
            homes[kernel.name, kernel.form, kernel.target].setdefault(kernel.sha256, kernel.artifact)
    clashes: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for (name, _, _), places in homes.items():
        artifacts = tuple(dict.fromkeys(places.values()))
        if len(artifacts) > 1:
            clashes[artifacts].append(name)
    for artifacts, names in clashes.items():
        yield Diagnostic(
            "SP4061",
            f"{_some(sorted(names))}: different bytes in {', '.join(artifacts)}",
            Place(artifacts[0]),
            cause="which of them runs depends on which is linked or loaded first",
            fix="ship one of them, or rename the kernels of the other",
            subject=names[0],
            severity=Severity.WARNING,
        )


def _twice(kernels: Sequence[Kernel]) -> Iterator[Diagnostic]:
    """Whole units (libraries, source payloads) whose kernels are all in another unit of the same artifact, too."""
    units: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for kernel in kernels:
        if kernel.form in ("metallib", "msl") and kernel.unit:
            units[kernel.artifact, kernel.unit].append((kernel.name, kernel.sha256))
    same: dict[tuple[str, frozenset[tuple[str, str]]], list[str]] = defaultdict(list)
    for (artifact, unit), rows in units.items():
        same[artifact, frozenset(rows)].append(unit)
    for (artifact, content), places in same.items():
        if len(places) > 1:
            names = sorted(name for name, _ in content)
            yield Diagnostic(
                "SP4061",
                f"{artifact} holds {_some(names)} {len(places)} times",
                Place(artifact.partition("(")[0]),
                cause="the same shaders are embedded at " + ", ".join(p.rpartition("@")[2] for p in places),
                fix="link the object that embeds them once",
                subject=names[0],
                severity=Severity.WARNING,
            )


def check_modules(kernels: Iterable[Kernel]) -> Iterator[Diagnostic]:
    """SPIR-V files of different names with the same bytes: one was copied over the other."""
    names: dict[str, list[Kernel]] = defaultdict(list)
    for kernel in kernels:
        if kernel.form == "spirv" and kernel.artifact.endswith(".spv"):
            names[kernel.sha256].append(kernel)
    for same in names.values():
        if len({kernel.name for kernel in same}) > 1:
            yield Diagnostic(
                "SP4061",
                f"{', '.join(k.artifact for k in same)} are the same module",
                Place(same[0].artifact),
                cause="a file was copied under another name, or two variants do not differ",
                fix="build them again; if the variants are meant to be equal, keep one",
                subject=same[0].name,
                severity=Severity.WARNING,
            )


def _short(member: str, archive: str) -> str:
    return member.removeprefix(archive).strip("()") or member


def _some(names: Sequence[str]) -> str:
    rest = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
