"""What all packaging shares: files that are made together, kept while their inputs stay, and removed when unwanted."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from shaderc_tool import __version__
from shaderc_tool.build.plan import key_of
from shaderc_tool.build.records import BUILT, KEPT, ActionRecord
from shaderc_tool.build.session import Session


@dataclass(frozen=True)
class Package:
    """Files of one kind for one target, made by our own code. `parts` is everything that can change their bytes."""

    session: Session
    kind: str
    target: str
    parts: Mapping[str, str]

    @functools.cached_property
    def key(self) -> str:
        return key_of({"version": __version__, **self.parts}, self.kind)

    def kept(self) -> list[ActionRecord] | None:
        """Records of the files that the same key made before, when all of them are untouched."""
        mine = {
            path: known
            for path, known in self.session.state.outputs.items()
            if known["key"] == self.key and known["target"] == self.target and known["parts"].get("kind") == self.kind
        }
        if not mine or not self.session.request.use_cache:
            return None
        if any(self.session.output_signature(path) != known["signature"] for path, known in mine.items()):
            return None
        return [
            self._record(path, KEPT, "nothing changed", known["sha256"], known["size"]) for path, known in mine.items()
        ]

    def write(self, files: Mapping[str, bytes]) -> list[ActionRecord]:
        """Put the files in place, by path below the pack's folder. One that holds the same bytes is left alone."""
        return [self._write(path, data) for path, data in files.items()]

    def _write(self, path: str, data: bytes) -> ActionRecord:
        before = self.session.state.outputs.get(path)
        reason = "its payloads or options changed" if before else "first build of this output"
        self.session.folder.write(path, data)
        record = self._record(path, BUILT, reason, hashlib.sha256(data).hexdigest(), len(data))
        self.session.remember_output(record, self.key, {**self.parts, "kind": self.kind})
        self.session.progress.step(record)
        return record

    def _record(self, path: str, status: str, reason: str, sha256: str, size: int) -> ActionRecord:
        pack = self.session.manifest.pack
        tool = f"shaderpack {__version__}"
        return ActionRecord(path, self.kind, pack, self.target, status, reason, tool=tool, sha256=sha256, size=size)


def remove_orphans(session: Session, records: list[ActionRecord]) -> list[str]:
    """Remove files that earlier builds made for these targets and this one does not: nothing stale may ship."""
    current = {r.output for r in records}
    selected = set(session.manifest.targets)
    gone = [
        path for path, known in session.state.outputs.items() if path not in current and known["target"] in selected
    ]
    for path in gone:
        session.folder.remove(path)
        del session.state.outputs[path]
    return gone
