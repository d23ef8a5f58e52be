"""Source facts and include closures: which files a compile can read, and a digest of what matters in each.

The closure comes from the text alone and is the union over all variants: every `#include` counts, whatever `#if`
surrounds it. That is a superset of any one variant's dependencies, so no variant can miss an edit (vulkan-facts.md
0.4). The digest is over normalised text, so that an edited comment recompiles nothing.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shaderc_tool.build.state import signature


@dataclass(frozen=True, slots=True)
class FileFacts:
    """One source file. `code` is the digest of its normalised text; `includes` are (path as written, line, angled)."""

    signature: str
    exact: str
    code: str
    includes: tuple[tuple[str, int, bool], ...]
    line_sensitive: bool
    computed_include: bool


@dataclass(frozen=True)
class MissingInclude:
    """An include that no folder has; only an error when a compile really reaches it."""

    file: str
    line: int
    path: str


@dataclass(frozen=True)
class Closure:
    """All files that compiling one source can read, the source first."""

    files: tuple[str, ...]
    digest: str
    missing: tuple[MissingInclude, ...] = ()
    line_sensitive: bool = False
    computed_include: bool = False


@dataclass
class SourceIndex:
    """Facts by path relative to `root`, remembered from build to build through `known` (State.files)."""

    root: Path
    include: Sequence[str]
    known: dict[str, list[Any]]
    old: dict[str, list[Any]] = field(init=False)
    _facts: dict[str, FileFacts | None] = field(default_factory=dict)
    _closures: dict[str, Closure] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.old = dict(self.known)

    def facts(self, path: str) -> FileFacts | None:
        """The facts of a file, None when it is not there. Reads the file only when its stat signature is new."""
        if path not in self._facts:
            self._facts[path] = self._read(path)
        return self._facts[path]

    def closure(self, path: str) -> Closure:
        """The include closure of a source; its digest is "" when the source itself is missing."""
        if path not in self._closures:
            self._closures[path] = self._close(path)
        return self._closures[path]

    def changed(self, path: str) -> str:
        """How a file differs from the last build: "", "code", "comments", "new" or "gone"."""
        now, before = self.facts(path), self.old.get(path)
        if now is None:
            return "gone" if before else ""
        if before is None:
            return "new"
        if before[2] != now.code:
            return "code"
        return "comments" if before[1] != now.exact else ""

    def resolve(self, includer: str, written: str, angled: bool) -> str | None:
        """The file that an include names: beside the includer (quotes only), then the include folders in order."""
        folders = list(self.include) if angled else [posixpath.dirname(includer), *self.include]
        for folder in folders:
            candidate = posixpath.normpath(posixpath.join(folder, written))
            if self.facts(candidate) is not None:
                return candidate
        return None

    def _read(self, path: str) -> FileFacts | None:
        full = self.root / path
        stamp = signature(full)
        if not stamp:
            self.known.pop(path, None)
            return None
        before = self.known.get(path)
        if before is not None and before[0] == stamp:
            includes = tuple((str(i[0]), int(i[1]), bool(i[2])) for i in before[3])
            return FileFacts(stamp, before[1], before[2], includes, bool(before[4]), bool(before[5]))
        facts = _facts_of(stamp, full)
        if facts is not None:
            self.known[path] = [
                stamp,
                facts.exact,
                facts.code,
                [list(i) for i in facts.includes],
                facts.line_sensitive,
                facts.computed_include,
            ]
        return facts

    def _close(self, path: str) -> Closure:
        order: list[str] = []
        missing: list[MissingInclude] = []
        waiting = [path]
        seen = {path}
        line_sensitive = computed = False
        digest = hashlib.sha256()
        while waiting:
            current = waiting.pop(0)
            facts = self.facts(current)
            if facts is None:
                return Closure((current,), "")
            order.append(current)
            line_sensitive |= facts.line_sensitive
            computed |= facts.computed_include
            for written, line, angled in facts.includes:
                found = self.resolve(current, written, angled)
                digest.update(f"{current}>{written}>{found}\n".encode())
                if found is None:
                    missing.append(MissingInclude(current, line, written))
                elif found not in seen:
                    seen.add(found)
                    waiting.append(found)
        for name in order:
            facts = self.facts(name)
            assert facts is not None  # it was read above
            digest.update(f"{name}={facts.exact if line_sensitive else facts.code}\n".encode())
        return Closure(tuple(order), digest.hexdigest(), tuple(missing), line_sensitive, computed)


def _facts_of(stamp: str, full: Path) -> FileFacts | None:
    # Imported here: a build with nothing to do never reads a source.
    from shaderc_tool.formats.glsl import normalise, scan_includes, uses_line_numbers

    try:
        data = full.read_bytes()
    except OSError:
        return None
    text = data.decode("utf-8", "replace")
    includes = scan_includes(text)
    return FileFacts(
        stamp,
        hashlib.sha256(data).hexdigest(),
        hashlib.sha256(normalise(text).encode()).hexdigest(),
        tuple((i.path, i.line, i.angled) for i in includes if i.path),
        uses_line_numbers(text),
        _has_computed_include(text),
    )


def _has_computed_include(text: str) -> bool:
    for line in text.splitlines():
        words = line.strip().lstrip("#").split(None, 1)
        if line.lstrip().startswith("#") and len(words) == 2 and words[0] == "include" and words[1][0] not in '"<':
            return True
    return False
