"""The content-addressed store: level 2 of the cache, shared by all builds of one user.

One file an entry, named by key: a JSON line (digest, size, tool messages), then the payload. Entries are written by
temporary file and rename, so concurrent builds need no lock; a damaged entry is found by its digest and dropped.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from shaderc_tool.build.output import write_atomically
from shaderc_tool.diagnostics import ShaderpackError

_LAYOUT = "v1"


@dataclass(frozen=True)
class Entry:
    """A stored result and what the tool said while making it."""

    data: bytes
    sha256: str
    messages: str = ""


@dataclass(frozen=True)
class StoreStats:
    """Entries, bytes in them, and how many are damaged (only counted when asked for)."""

    entries: int
    size: int
    damaged: int = 0


@dataclass
class Store:
    """A folder of entries. With `enabled=False` every look-up misses and nothing is stored."""

    folder: Path
    enabled: bool = True
    damaged: list[str] = field(default_factory=list)

    def get(self, key: str) -> Entry | None:
        """The entry for a key; a damaged one is removed, remembered in `damaged` and counts as a miss."""
        if not self.enabled:
            return None
        path = self._path(key)
        try:
            raw = path.read_bytes()
        except OSError:
            return None
        entry = _decode(raw)
        if entry is None:
            self.damaged.append(key)
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # the time of last use is what `gc` goes by
        return entry

    def put(self, key: str, data: bytes, messages: str = "") -> None:
        """Store a result. A store that cannot be written slows later builds and fails none."""
        if not self.enabled:
            return
        head = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "messages": messages}
        with contextlib.suppress(ShaderpackError):
            write_atomically(self._path(key), json.dumps(head).encode() + b"\n" + data, durable=False)

    def stats(self, *, verify: bool = False) -> StoreStats:
        entries = size = damaged = 0
        for path in self._entries():
            with contextlib.suppress(OSError):
                entries += 1
                size += path.stat().st_size
                if verify and _decode(path.read_bytes()) is None:
                    damaged += 1
        return StoreStats(entries, size, damaged)

    def collect(self, max_bytes: int, max_age: float) -> StoreStats:
        """Remove entries unused for `max_age` seconds, then the least recently used until `max_bytes` hold."""
        oldest_first: list[tuple[float, int, Path]] = []
        for path in self._entries():
            with contextlib.suppress(OSError):
                stat = path.stat()
                oldest_first.append((stat.st_mtime, stat.st_size, path))
        oldest_first.sort()
        total = sum(size for _, size, _ in oldest_first)
        limit = time.time() - max_age
        removed = freed = 0
        for used, size, path in oldest_first:
            if used >= limit and total - freed <= max_bytes:
                break
            with contextlib.suppress(OSError):
                path.unlink()
                removed += 1
                freed += size
        return StoreStats(removed, freed)

    def clear(self) -> StoreStats:
        """Remove every entry."""
        stats = self.stats()
        shutil.rmtree(self.folder / _LAYOUT, ignore_errors=True)
        return stats

    def _path(self, key: str) -> Path:
        return self.folder / _LAYOUT / key[:2] / key[2:]

    def _entries(self) -> Iterator[Path]:
        for folder in sorted((self.folder / _LAYOUT).glob("??")):
            yield from sorted(p for p in folder.iterdir() if not p.name.startswith("."))


def _decode(raw: bytes) -> Entry | None:
    head, separator, data = raw.partition(b"\n")
    with contextlib.suppress(ValueError, KeyError, TypeError):
        facts = json.loads(head)
        digest = hashlib.sha256(data).hexdigest()
        if separator and facts["size"] == len(data) and facts["sha256"] == digest:
            return Entry(data, digest, str(facts["messages"]))
    return None
