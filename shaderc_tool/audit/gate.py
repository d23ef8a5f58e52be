"""The gate over SPIR-V modules: every declared kernel is there, whole, and has the declared interface."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from shaderc_tool.diagnostics import Diagnostic, Place
from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.spirv import EntryPoint, Module, read_module
from shaderc_tool.manifest.model import AuditRules, ShaderJob

Read = Callable[[str], "bytes | None"]
"""Gives an output's bytes by its path, None when it is not there."""


@dataclass(frozen=True)
class ShaderAudit:
    """The findings, and the modules that could be read by output."""

    found: list[Diagnostic]
    modules: dict[str, Module]


def audit_shaders(jobs: Iterable[ShaderJob], read: Read, digests: Mapping[str, str]) -> ShaderAudit:
    """Check every job's module. `digests` are the SHA-256 that the build recorded; a missing one is not compared."""
    found: list[Diagnostic] = []
    modules: dict[str, Module] = {}
    for job in jobs:
        data = read(job.output)
        if data is None:
            found.append(_missing(job))
            continue
        try:
            module = read_module(data)
        except FormatError as error:
            found.append(_damaged(job, str(error)))
            continue
        modules[job.output] = module
        found += _check_interface(job, module)
        recorded = digests.get(job.output)
        if recorded and recorded != hashlib.sha256(data).hexdigest():
            found.append(_stale(job))
    return ShaderAudit(found, modules)


def audit_rules(rules: AuditRules, symbols: Mapping[str, str], sizes: Mapping[str, int]) -> list[Diagnostic]:
    """The manifest's own rules. `symbols` gives the output of each symbol, `sizes` the bytes of each output."""
    found: list[Diagnostic] = []
    for name in rules.require:
        if name not in symbols:
            found.append(
                Diagnostic(
                    "SP4001",
                    f"the required symbol {name} is missing",
                    rules.place,
                    cause="no kernel of this build makes it",
                    fix="declare the kernel that makes it, or remove it from audit.require",
                    subject=name,
                )
            )
    for name, output in symbols.items():
        for glob in rules.forbid:
            if fnmatchcase(name, glob):
                found.append(
                    Diagnostic(
                        "SP4006",
                        f"the forbidden symbol {name} is present",
                        rules.place,
                        cause=f"audit.forbid has «{glob}»; it is in {output}",
                        fix="remove the kernel, or the rule",
                        subject=name,
                    )
                )
    return found + _check_sizes(rules, sizes)


def _check_sizes(rules: AuditRules, sizes: Mapping[str, int]) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    for glob, budget in rules.size_budget:
        over: Sequence[tuple[str, int]]
        if glob == "total":
            over = [("all outputs together", sum(sizes.values()))]
        else:
            over = [(output, size) for output, size in sizes.items() if fnmatchcase(output, glob)]
        for name, size in over:
            if size > budget:
                found.append(
                    Diagnostic(
                        "SP4007",
                        f"{name}: {size:,} bytes, the budget is {budget:,}",
                        rules.place,
                        cause=f"audit.size_budget «{glob}»",
                        fix="make it smaller, or raise the budget on purpose",
                        subject=name,
                    )
                )
    return found


def _check_interface(job: ShaderJob, module: Module) -> list[Diagnostic]:
    wanted = job.interface
    entry = next((e for e in module.entry_points if e.name == wanted.entry), None)
    if entry is None:
        return [_entry(job, f"the module has {', '.join(e.name for e in module.entry_points) or 'none'}")]
    found: list[Diagnostic] = []
    if entry.execution_model != "GLCompute":
        found.append(_entry(job, f"its execution model is {entry.execution_model}"))
    if wanted.local_size is not None and entry.local_size != wanted.local_size:
        found.append(_drift(job, "local size", str(wanted.local_size), _size_text(entry)))
    if wanted.bindings is not None:
        has = sorted((b.set, b.binding) for b in module.bindings)
        declared = [(0, index) for index in range(len(wanted.bindings))]
        if has != declared:
            found.append(_drift(job, "bindings (set, binding)", str(declared), str(has)))
    if wanted.push_constants is not None:
        declared_members = [(4 * i, m.type) for i, m in enumerate(wanted.push_constants)]
        block = module.push_constants
        members = [(m.offset, m.type) for m in block.members] if block else []
        if members != declared_members:
            found.append(_drift(job, "push constants (offset, type)", str(declared_members), str(members)))
    return found


def _size_text(entry: EntryPoint) -> str:
    return str(entry.local_size) if entry.local_size else "set by a specialization constant"


def _missing(job: ShaderJob) -> Diagnostic:
    return Diagnostic(
        "SP4001",
        f"required kernel {job.symbol} is missing: {job.output} is not there",
        job.place,
        cause="the module was not made, or was removed after the build",
        fix="build again; see the errors above if the compile failed",
        subject=job.symbol,
    )


def _damaged(job: ShaderJob, why: str) -> Diagnostic:
    return Diagnostic(
        "SP4002",
        f"{job.symbol}: {job.output} is not a whole SPIR-V module",
        job.place,
        cause=why,
        fix="build again; something else wrote to the output folder",
        subject=job.symbol,
    )


def _stale(job: ShaderJob) -> Diagnostic:
    return Diagnostic(
        "SP4008",
        f"{job.symbol}: {job.output} is not what the last build made",
        job.place,
        cause="its SHA-256 differs from report.json",
        fix="build again",
        subject=job.symbol,
    )


def _entry(job: ShaderJob, why: str) -> Diagnostic:
    return Diagnostic(
        "SP4003",
        f"{job.symbol}: no compute entry point «{job.interface.entry}»",
        Place(job.file),
        cause=why,
        fix="name the function as the host expects it, or set `entry:` in the manifest",
        subject=job.symbol,
    )


def _drift(job: ShaderJob, what: str, declared: str, has: str) -> Diagnostic:
    return Diagnostic(
        "SP4005",
        f"{job.symbol}: {what} differ from the manifest",
        Place(job.file),
        cause=f"declared {declared}, the module has {has}",
        fix="correct the shader; if the change is meant, change the manifest and the host code with it",
        subject=job.symbol,
    )
