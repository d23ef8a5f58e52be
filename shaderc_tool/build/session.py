"""The things one build works with: folder, state, sources, store, processes and tools, opened once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from shaderc_tool.build.folders import default_cache_folder
from shaderc_tool.build.output import OutputFolder, write_atomically
from shaderc_tool.build.pool import default_workers
from shaderc_tool.build.process import ProcessRunner
from shaderc_tool.build.records import ActionRecord
from shaderc_tool.build.sources import SourceIndex
from shaderc_tool.build.state import State, signature
from shaderc_tool.build.store import Store
from shaderc_tool.manifest.model import Manifest
from shaderc_tool.manifest.select import select_targets
from shaderc_tool.toolchains.discover import Finder, VersionMemory


class Progress(Protocol):
    """Where a build says what it does; the command line shows it."""

    def begin(self, total: int, what: str) -> None: ...

    def step(self, record: ActionRecord) -> None: ...

    def note(self, text: str) -> None: ...


class Quiet:
    """A Progress that says nothing."""

    def begin(self, total: int, what: str) -> None: ...

    def step(self, record: ActionRecord) -> None: ...

    def note(self, text: str) -> None: ...


@dataclass(frozen=True)
class BuildRequest:
    """What the user asked for. `targets` empty means all."""

    manifest: Path
    out: Path
    targets: tuple[str, ...] = ()
    jobs: int = 0
    use_cache: bool = True
    keep_going: bool = False
    dry_run: bool = False
    check_determinism: bool = False
    glsl_toolchain: str = "auto"
    metal_toolchain: str = "auto"

    @property
    def workers(self) -> int:
        return self.jobs or default_workers()


@dataclass
class Session:
    """One build's working set. `manifest` is `whole` narrowed to the targets that were asked for."""

    request: BuildRequest
    whole: Manifest
    manifest: Manifest
    folder: OutputFolder
    state: State
    index: SourceIndex
    store: Store
    runner: ProcessRunner
    finder: Finder
    progress: Progress = field(default_factory=Quiet)

    def output_signature(self, output: str) -> str:
        return signature(self.folder.path(output))

    def remember_output(self, record: ActionRecord, key: str, parts: Mapping[str, str]) -> None:
        """Record an output that is in place, for the next build's decision."""
        self.state.outputs[record.output] = {
            "key": key,
            "parts": dict(parts),
            "signature": self.output_signature(record.output),
            "sha256": record.sha256,
            "size": record.size,
            "target": record.target,
        }

    def save(self) -> None:
        """Keep what was learnt, whatever the build's outcome."""
        self.state.save(self.folder)
        text = self.finder.remember()
        if text is not None and self.finder.memory.file is not None and self.store.enabled:
            write_atomically(self.finder.memory.file, text.encode())


def open_session(request: BuildRequest, whole: Manifest, environment: Mapping[str, str], progress: Progress) -> Session:
    """Open everything for a build; reads the state, starts nothing. Raises UsageError for an unknown target."""
    manifest = select_targets(whole, request.targets)
    folder = OutputFolder(request.out / manifest.pack)
    state = State.load(folder)
    cache = Path(default_cache_folder(environment))
    runner = ProcessRunner(environment)

    def probe(argv: list[str], env: Mapping[str, str]) -> tuple[int, str]:
        done = runner.run(argv, cwd=Path.cwd(), env=env, timeout=30)
        return done.status, done.stdout.decode("utf-8", "replace") + done.stderr.decode("utf-8", "replace")

    return Session(
        request=request,
        whole=whole,
        manifest=manifest,
        folder=folder,
        state=state,
        index=SourceIndex(manifest.root, manifest.include, state.files),
        store=Store(cache, enabled=request.use_cache),
        runner=runner,
        finder=Finder(environment, probe, VersionMemory.load(cache / "tools.json")),
        progress=progress,
    )
