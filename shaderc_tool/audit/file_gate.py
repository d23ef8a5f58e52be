"""The gate on artifacts that were made earlier or elsewhere: every rule that needs no manifest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from shaderc_tool.audit.artifacts import Description, describe_path
from shaderc_tool.audit.baseline import Snapshot, compare, load, take
from shaderc_tool.audit.command import Audited
from shaderc_tool.audit.consumers import read_uses, source_files
from shaderc_tool.audit.host_names import NameUse
from shaderc_tool.audit.kernels import Kernel, list_kernels
from shaderc_tool.audit.rules_baseline import check_baseline
from shaderc_tool.audit.rules_bundle import LEDGER, check_bundle
from shaderc_tool.audit.rules_consumers import check_consumers
from shaderc_tool.audit.rules_duplicates import check_archives, check_kernels, check_modules
from shaderc_tool.audit.rules_host import check_host, check_slices
from shaderc_tool.audit.rules_languages import check_languages
from shaderc_tool.audit.rules_paths import check_paths
from shaderc_tool.audit.rules_payloads import check_payloads
from shaderc_tool.diagnostics import Diagnostic, Place

_GROWTH = 10
"""Percent over the baseline that a file may grow, when no manifest says otherwise."""


@dataclass(frozen=True)
class FileAudit:
    """What is asked of some artifacts. `each` wants every required symbol in every artifact and every slice.
    `forbidden` are globs.

    `stds` are language versions at which embedded source is looked at; `consumers` are globs of host sources.
    """

    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    each: bool = False
    stds: tuple[str, ...] = ()
    consumers: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ("kernel_",)
    baseline: Path | None = None
    write_baseline: Path | None = None


def audit_files(files: Sequence[Path], asked: FileAudit) -> Audited:
    """Check that each artifact is whole and sound, and that together (or each) they hold every required symbol."""
    descriptions: list[Description] = []
    found: list[Diagnostic] = []
    for path in files:
        description, faults = describe_path(path)
        found += faults
        if description:
            descriptions.append(description)
            found += check_artifact(description)
    kernels = list_kernels(descriptions)
    found += [*check_kernels(kernels), *check_modules(kernels)]
    found += [*_required(files, descriptions, asked), *_forbidden(descriptions, asked.forbidden)]
    found += [d for description in descriptions for d in _languages(description, asked)]
    uses = read_uses(source_files(Path(), asked.consumers), Path(), asked.prefixes)
    found += _consumers(uses, kernels, files, asked)
    if asked.baseline or asked.write_baseline:
        root = files[0] if len(files) == 1 and files[0].is_dir() else None
        snapshot = take(descriptions, root)
        found += baseline_findings(snapshot, asked.baseline, asked.write_baseline, _GROWTH, uses)
    return found, [str(f) for f in files]


def check_artifact(description: Description) -> Iterator[Diagnostic]:
    """The rules that look at one artifact."""
    yield from check_payloads(description)
    yield from check_archives(description)
    yield from check_host(description)
    yield from check_paths(description)
    if description.kind == "folder":
        yield from _check_folder(description)


def _check_folder(description: Description) -> Iterator[Diagnostic]:
    """What bundles carry beside their binaries: a capability ledger, an xcframework's Info.plist."""
    folder = Path(description.name)
    for ledger in sorted(folder.rglob(LEDGER)):
        yield from check_bundle(str(ledger.parent), ledger.read_bytes())
    info = folder / "Info.plist"
    if folder.suffix == ".xcframework" and info.is_file():
        yield from check_slices(description, info.read_bytes())


def _required(files: Sequence[Path], descriptions: Sequence[Description], asked: FileAudit) -> Iterator[Diagnostic]:
    """Each required symbol in all artifacts together; with `each`, in every loadable part by itself."""
    if not asked.each:
        together = {name for description in descriptions for name in description.symbols}
        yield from (_missing(name, ", ".join(map(str, files))) for name in asked.required if name not in together)
        return
    for description in descriptions:
        for part in _parts(description):
            has = set(part.symbols)
            yield from (_missing(name, part.name) for name in asked.required if name not in has)


def _forbidden(descriptions: Sequence[Description], globs: Sequence[str]) -> Iterator[Diagnostic]:
    for description in descriptions:
        for name in description.symbols if globs else ():
            glob = next((glob for glob in globs if fnmatchcase(name, glob)), None)
            if glob is not None:
                yield Diagnostic(
                    "SP4006",
                    f"the forbidden symbol {name} is present",
                    Place(description.name),
                    cause=f"it matches «{glob}»",
                    fix="remove the kernel, or the rule",
                    subject=name,
                )


def _parts(description: Description) -> Iterator[Description]:
    """The parts that are used by themselves: files of a folder, slices of a fat file."""
    if description.kind in ("folder", "fat"):
        for member in description.members:
            yield from _parts(member)
    else:
        yield description


def _missing(name: str, where: str) -> Diagnostic:
    return Diagnostic(
        "SP4001",
        f"the required symbol {name} is missing from {where}",
        cause=f"{where} has no function, payload or symbol of exactly this name",
        fix="build the artifact that should have it again, and look for its first error",
        subject=name,
    )


def _languages(description: Description, asked: FileAudit) -> Iterator[Diagnostic]:
    for part in description.walk():
        for payload in part.payloads:
            if payload.kernels and asked.stds:
                names = list(dict.fromkeys(asked.required or [k.name for k in payload.kernels]))
                yield from check_languages(names, payload.kernels, asked.stds, payload.macros, part.name)


def _consumers(
    uses: Sequence[NameUse], kernels: Sequence[Kernel], files: Sequence[Path], asked: FileAudit
) -> list[Diagnostic]:
    if not asked.consumers:
        return []
    if not uses:
        return [
            Diagnostic(
                "SP1014",
                f"no kernel name was found in {', '.join(asked.consumers)}",
                Place(asked.consumers[0]),
                cause="no host source matches, or none has a string that starts with " + ", ".join(asked.prefixes),
                fix="correct --consumer, or give --prefix",
            )
        ]
    return check_consumers(uses, (), {kernel.name for kernel in kernels}, (), ", ".join(map(str, files)))


def baseline_findings(
    snapshot: Snapshot, baseline: Path | None, write: Path | None, growth: int, uses: Sequence[NameUse]
) -> list[Diagnostic]:
    """Compare with one baseline file, write another."""
    found: list[Diagnostic] = []
    if baseline:
        found += check_baseline(compare(load(baseline), snapshot), str(baseline), growth, uses)
    if write:
        from shaderc_tool.build.output import write_atomically

        write_atomically(write, snapshot.text().encode())
    return found
