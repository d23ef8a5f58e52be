"""The Metal stage: one `.air` a source and target, then one `default.metallib` a target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from shaderc_tool.build import place
from shaderc_tool.build.plan import KEEP, Action
from shaderc_tool.build.pool import run_pool
from shaderc_tool.build.records import FAILED, PLANNED, SKIPPED, ActionRecord
from shaderc_tool.build.session import Session
from shaderc_tool.build.sources import Closure
from shaderc_tool.diagnostics import Diagnostic
from shaderc_tool.manifest.model import MetalUnit, Target

LIBRARY = "default.metallib"


@dataclass(frozen=True)
class Made:
    """What a toolchain made: bytes, or None with the diagnostics that say why not."""

    data: bytes | None
    diagnostics: tuple[Diagnostic, ...] = ()
    seconds: float = 0.0


class MetalToolchain(Protocol):
    """One way to compile and link Metal. `identity` goes into every cache key."""

    @property
    def family(self) -> str: ...

    def identity(self, target: Target) -> str: ...

    def compile_argv(self, unit: MetalUnit, target: Target) -> tuple[str, ...]: ...

    def compile(self, unit: MetalUnit, target: Target, text: str | None = None) -> Made:
        """Compile the unit's file, or `text` in its place."""
        ...

    def link(self, target: Target, airs: Sequence[tuple[str, bytes]]) -> Made: ...


@dataclass
class MetalStage:
    """Plans and runs all units and links of a session's manifest."""

    session: Session
    toolchain: MetalToolchain

    def run(self) -> tuple[list[ActionRecord], list[Diagnostic]]:
        """Bring every AIR file and library into place; records in the manifest's order."""
        records, found = self._compile_all()
        if self.session.request.dry_run:
            return records, found
        for target in self.session.manifest.targets.values():
            units = [u for u in self.session.manifest.metal if u.target == target.name]
            if units:
                record, faults = self._link(target, units, {r.output: r for r in records})
                records.append(record)
                found += faults
        return records, found

    def skip(self, reason: str) -> list[ActionRecord]:
        """Records of everything that `run` would bring into place, when it does not run."""
        manifest = self.session.manifest
        outputs = {unit.output: ("air", unit.target) for unit in manifest.metal}
        outputs |= {f"{unit.target}/{LIBRARY}": ("metallib", unit.target) for unit in manifest.metal}
        return [
            ActionRecord(output, kind, manifest.pack, target, SKIPPED, reason)
            for output, (kind, target) in outputs.items()
        ]

    # --- compile

    def _compile_all(self) -> tuple[list[ActionRecord], list[Diagnostic]]:
        records: list[ActionRecord] = []
        found: list[Diagnostic] = []
        misses: list[tuple[MetalUnit, Action, ActionRecord]] = []
        for unit in self.session.manifest.metal:
            action = self._plan(unit)
            record = self._record(unit, action)
            records.append(record)
            if not action.closure.digest:
                record.status = FAILED
                found.append(_no_source(unit))
            elif action.verdict == KEEP:
                place.keep(self.session, record)
            elif self.session.request.dry_run:
                record.status = PLANNED
            elif not place.restore(self.session, record, action):
                misses.append((unit, action, record))
        if misses:
            self.session.progress.begin(len(misses), "compile")
            found += self._compile(misses)
        return records, found

    def _compile(self, misses: list[tuple[MetalUnit, Action, ActionRecord]]) -> list[Diagnostic]:
        found: list[Diagnostic] = []
        targets = self.session.manifest.targets
        tasks: list[Callable[[], tuple[int, Made]]] = [
            lambda i=i, unit=unit: (i, self.toolchain.compile(unit, targets[unit.target]))  # type: ignore[misc]
            for i, (unit, _, _) in enumerate(misses)
        ]
        for index, made in run_pool(tasks, self.session.request.workers, self.session.runner):
            _, action, record = misses[index]
            self._finish(record, action, made)
            found += made.diagnostics
            if made.data is None and not self.session.request.keep_going:
                break
        return found

    def _finish(self, record: ActionRecord, action: Action, made: Made) -> None:
        record.seconds = made.seconds
        if made.data is None:
            record.status = FAILED
        else:
            place.put(self.session, record, action, made.data)
        self.session.progress.step(record)

    def _plan(self, unit: MetalUnit) -> Action:
        target = self.session.manifest.targets[unit.target]
        closure = self.session.index.closure(unit.file)
        parts = {
            **target_parts(self.toolchain, target),
            "math": unit.math,
            "optimize": unit.optimize,
            "debug": str(unit.debug),
            "include": ":".join(self.session.manifest.include),
            "defines": "\n".join(f"{name}={value}" for name, value in unit.defines),
            "sources": closure.digest,
        }
        return place.plan(self.session, unit.output, "air", unit.kernel, parts, closure)

    def _record(self, unit: MetalUnit, action: Action) -> ActionRecord:
        target = self.session.manifest.targets[unit.target]
        return ActionRecord(
            output=action.output,
            kind="air",
            subject=unit.kernel,
            target=unit.target,
            status=SKIPPED,
            reason=action.reason,
            tool=self.toolchain.identity(target),
            argv=self.toolchain.compile_argv(unit, target),
            inputs=action.closure.files,
        )

    # --- link

    def _link(
        self, target: Target, units: list[MetalUnit], airs: dict[str, ActionRecord]
    ) -> tuple[ActionRecord, list[Diagnostic]]:
        output = f"{target.name}/{LIBRARY}"
        inputs = tuple(u.output for u in units)
        # The order is part of the result: a library's floor comes from the first AIR file (peers.md row 30).
        parts = {**target_parts(self.toolchain, target), "airs": "\n".join(f"{o}={airs[o].sha256}" for o in inputs)}
        action = place.plan(self.session, output, "metallib", self.session.manifest.pack, parts, Closure((), ""))
        record = ActionRecord(
            output=output,
            kind="metallib",
            subject=self.session.manifest.pack,
            target=target.name,
            status=SKIPPED,
            reason=action.reason,
            tool=self.toolchain.identity(target),
            inputs=inputs,
        )
        if any(not airs[o].sha256 for o in inputs):
            record.reason = "a source of it failed"
            return record, []
        if action.verdict == KEEP:
            place.keep(self.session, record)
            return record, []
        if place.restore(self.session, record, action):
            return record, []
        made = self.toolchain.link(target, [(o, self.session.folder.path(o).read_bytes()) for o in inputs])
        self._finish(record, action, made)
        return record, list(made.diagnostics)


def target_parts(toolchain: MetalToolchain, target: Target) -> dict[str, str]:
    """What of the toolchain and the target goes into every key."""
    return {
        "tool": toolchain.identity(target),
        "sdk": target.sdk,
        "min_os": target.min_os,
        "std": target.std,
    }


def _no_source(unit: MetalUnit) -> Diagnostic:
    return Diagnostic(
        "SP3010",
        f"{unit.kernel}: the source {unit.file} is not there",
        unit.place,
        cause="the manifest names a file that does not exist",
        fix="restore the file or remove the kernel from the manifest",
        subject=unit.kernel,
    )
