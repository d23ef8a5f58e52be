"""The merged source of each embed bundle: written before any compiler runs, then compiled at each language version.

A merge reads files that only its own rules find. Every path that it asks for, found or not, goes into its key, so that
a new file that would now be found first makes the text again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from shaderc_tool.build import place
from shaderc_tool.build.metal import Made, MetalToolchain, target_parts
from shaderc_tool.build.packaging import Package
from shaderc_tool.build.plan import KEEP, Action
from shaderc_tool.build.pool import run_pool
from shaderc_tool.build.records import FAILED, SKIPPED, ActionRecord
from shaderc_tool.build.session import Session
from shaderc_tool.build.sources import Closure
from shaderc_tool.diagnostics import Diagnostic, Severity, has_errors
from shaderc_tool.manifest.embeds import Embed, embeds
from shaderc_tool.manifest.model import MetalUnit

Outcome = tuple[list[ActionRecord], list[Diagnostic]]


def merge_sources(session: Session) -> Outcome:
    """Write the merged source of every bundle of this session's targets.

    Where the bundle embeds the library, the text is a by-product: what is wrong with it is a warning.
    """
    records: list[ActionRecord] = []
    found: list[Diagnostic] = []
    for embed in embeds(session.manifest):
        made, faults = _merge(session, embed)
        records += made
        found += faults if embed.is_source else map(_as_warning, faults)
    return records, _once(found)


def _merge(session: Session, embed: Embed) -> Outcome:
    if not all(session.index.closure(unit.file).digest for unit in embed.units):
        return [], []  # a source is missing, which the compile stage reports
    before = session.state.outputs.get(embed.merged)
    asked = [line.partition("=")[0] for line in before["parts"].get("sources", "").splitlines()] if before else []
    kept = _package(session, embed, asked).kept()
    if kept is not None:
        return kept, []
    # Imported here: a build with nothing to do merges nothing.
    from shaderc_tool.emit.msl_merge import merge_msl

    seen: dict[str, None] = {}

    def read(path: str) -> str | None:
        seen[path] = None
        if session.index.facts(path) is None:
            return None
        return (session.manifest.root / path).read_bytes().decode("utf-8", "replace")

    macros = [name for name, _ in embed.units[0].defines]
    roots = [unit.file for unit in embed.units]
    merged = merge_msl(roots, read, session.manifest.include, dict(embed.output.substitutions), macros)
    found = [*_differences(embed), *merged.diagnostics]
    if not has_errors(found):
        package = _package(session, embed, seen, found)
        return package.write({embed.merged: merged.text.encode()}), found
    record = ActionRecord(embed.merged, "merged", embed.pack, embed.target.name, FAILED, "its sources do not merge")
    return [record] if embed.is_source else [], found


def _package(session: Session, embed: Embed, asked: Iterable[str], found: Iterable[Diagnostic] = ()) -> Package:
    """`asked` are the paths that a merge looks for; with findings the key is one that no later build asks for, so that
    they are reported again."""
    facts = {path: session.index.facts(path) for path in asked}
    parts = {
        "roots": "\n".join(unit.file for unit in embed.units),
        "options": "\n".join(map(_options, embed.units)),
        "include": ":".join(session.manifest.include),
        "substitutions": "\n".join(map("=".join, embed.output.substitutions)),
        "sources": "\n".join(f"{path}={known.exact if known else ''}" for path, known in facts.items()),
        "findings": "\n".join(d.code for d in found),
    }
    return Package(session, "merged", embed.target.name, parts)


def _options(unit: MetalUnit) -> str:
    return f"{unit.math} {unit.debug} {unit.defines}"


def _differences(embed: Embed) -> list[Diagnostic]:
    """One translation unit has one set of macros and one math mode."""
    first = embed.units[0]
    return [
        Diagnostic(
            "SP4048",
            f"{unit.file} is compiled with other options than {first.file}, so the two cannot be one source",
            unit.place,
            cause=f"{first.kernel} has {_readable(first)}; {unit.kernel} has {_readable(unit)}",
            fix="give both the same `defines` and `math`, or embed the library: `payload: metallib`",
            subject=unit.kernel,
        )
        for unit in embed.units
        if _options(unit) != _options(first)
    ]


def _readable(unit: MetalUnit) -> str:
    macros = ", ".join(f"{name}={value}" for name, value in unit.defines)
    return f"{unit.math} math and {'the macros ' + macros if macros else 'no macros'}"


# --- compile it


@dataclass(frozen=True)
class _Check:
    """One compile of a merged source."""

    embed: Embed
    std: str
    action: Action
    record: ActionRecord


def check_merged(session: Session, toolchain: MetalToolchain, digests: dict[str, str]) -> Outcome:
    """Compile every merged source that is in place at its language versions, and list the kernels that each gives.

    The unit's own compiles have reported warnings already, so only errors count here.
    """
    checks = [
        _plan(session, toolchain, embed, std, digests[embed.merged])
        for embed in embeds(session.manifest)
        if embed.merged in digests
        for std in embed.stds
    ]
    misses = []
    for check in checks:
        if check.action.verdict == KEEP:
            place.keep(session, check.record)
        elif not place.restore(session, check.record, check.action):
            misses.append(check)
    found = _compile(session, toolchain, misses) if misses else []
    return [c.record for c in checks if c.embed.is_source or c.record.status != FAILED], _once(found)


def _plan(session: Session, toolchain: MetalToolchain, embed: Embed, std: str, digest: str) -> _Check:
    target = replace(embed.target, std=std)
    first = embed.units[0]
    parts = {**target_parts(toolchain, target), "options": _options(first), "optimize": first.optimize, "text": digest}
    output = embed.listing(std)
    action = place.plan(session, output, "kernels", embed.pack, parts, Closure((), ""))
    tool = toolchain.identity(target)
    record = ActionRecord(output, "kernels", embed.pack, target.name, SKIPPED, action.reason, tool, (), (embed.merged,))
    return _Check(embed, std, action, record)


def _compile(session: Session, toolchain: MetalToolchain, misses: list[_Check]) -> list[Diagnostic]:
    session.progress.begin(len(misses), "compile merged sources")
    tasks: list[Callable[[], tuple[int, Made]]] = [
        lambda i=i, check=check: (i, _kernels(session, toolchain, check))  # type: ignore[misc]
        for i, check in enumerate(misses)
    ]
    found: list[Diagnostic] = []
    for index, made in run_pool(tasks, session.request.workers, session.runner):
        check = misses[index]
        check.record.seconds = made.seconds
        if made.data is None:
            check.record.status = FAILED
            errors = [_at(check.std, d) for d in made.diagnostics if d.severity is Severity.ERROR]
            found += errors if check.embed.is_source else map(_as_warning, errors)
        else:
            place.put(session, check.record, check.action, made.data)
        session.progress.step(check.record)
    return found


def _kernels(session: Session, toolchain: MetalToolchain, check: _Check) -> Made:
    """The names of the functions that the merged source gives, a line each."""
    from shaderc_tool.formats.metallib import read_library

    target = replace(check.embed.target, std=check.std)
    unit = replace(check.embed.units[0], kernel=check.embed.pack, file=f"{check.embed.pack}.metal")
    text = session.folder.path(check.embed.merged).read_text("utf-8")
    compiled = toolchain.compile(unit, target, text)
    if compiled.data is None:
        return compiled
    linked = toolchain.link(target, [(unit.output, compiled.data)])
    if linked.data is None:
        return linked
    names = "".join(f"{function.name}\n" for function in read_library(linked.data).functions)
    return Made(names.encode(), (), compiled.seconds + linked.seconds)


def _at(std: str, diagnostic: Diagnostic) -> Diagnostic:
    return replace(diagnostic, message=f"merged source at {std}: {diagnostic.message}")


def _as_warning(diagnostic: Diagnostic) -> Diagnostic:
    return replace(diagnostic, severity=min(diagnostic.severity, Severity.WARNING))


def _once(found: list[Diagnostic]) -> list[Diagnostic]:
    """Targets that are made of the same files have the same faults."""
    return list(dict.fromkeys(found))
