"""What the last build of one output folder left behind: level 1 of the cache (design section 6).

Everything here is a shortcut. A lost or damaged state file costs time, never correctness.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shaderc_tool.build.output import PRIVATE, OutputFolder
from shaderc_tool.build.quick import stamp

STATE_FILE = f"{PRIVATE}/state.json"
_FORMAT = 1


def signature(path: Path) -> str:
    """A file's stat signature, "" when there is no file. The change time catches edits that keep the mtime."""
    return stamp(str(path))


@dataclass
class State:
    """`files`: source facts. `outputs`: what was made. `complete`: key of the last build that passed the gate."""

    files: dict[str, list[Any]] = field(default_factory=dict)
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    complete: str = ""

    @classmethod
    def load(cls, folder: OutputFolder) -> State:
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            data = json.loads(folder.path(STATE_FILE).read_text("utf-8"))
            if data["format"] == _FORMAT:
                return cls(dict(data["files"]), dict(data["outputs"]), str(data["complete"]))
        return cls()

    def save(self, folder: OutputFolder) -> None:
        data = {"format": _FORMAT, "files": self.files, "outputs": self.outputs, "complete": self.complete}
        folder.write(STATE_FILE, json.dumps(data, separators=(",", ":")).encode())
