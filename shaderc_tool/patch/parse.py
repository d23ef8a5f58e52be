"""Patch files: text to values. All faults of a file are reported, each with its line.

A line starts with a keyword. ANCHOR, INJECT and REPLACE are followed by a block of verbatim lines that ends at a line
with the one word END. Lines outside of blocks that are empty or start with `#` mean nothing.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import Final

from shaderc_tool.diagnostics import Diagnostic, Place, UsageError
from shaderc_tool.patch.model import Action, Guard, Hunk, Patch, Version

_SENTINEL: Final = re.compile(r"[A-Za-z][\w.-]*")
_BLOCKS: Final = ("ANCHOR", "INJECT", "REPLACE")


def parse_patch(text: str, file: str) -> Patch:
    """Read a patch file; `file` is its name in diagnostics. Raises UsageError (SP6001) with every fault."""
    parser = _Parser(file, [line.rstrip("\r") for line in text.removeprefix("\ufeff").split("\n")])
    patch = parser.run()
    if parser.found:
        raise UsageError(*parser.found)
    return patch


@dataclass
class _Parser:
    file: str
    lines: list[str]
    found: list[Diagnostic] = field(default_factory=list)
    at: int = 0
    name: str = ""
    target: str = ""
    marker: str = ""
    sentinel: str = ""
    anchor: tuple[tuple[str, ...], Place] | None = None
    shared: list[Hunk] = field(default_factory=list)
    versions: list[tuple[str, list[Hunk]]] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)

    def run(self) -> Patch:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            self.at += 1
            if line.strip() and not line.startswith("#"):
                keyword, _, rest = line.strip().partition(" ")
                self._directive(keyword, rest.strip())
        self._close_hunk()
        if not self.name:
            self._fault("there is no PATCH line", "start with `PATCH name`", line=1)
        self._check_sentinels()
        shared = tuple(self.shared)
        versions = [Version(name, shared + tuple(hunks)) for name, hunks in self.versions]
        return Patch(self.name, self.file, tuple(versions) or (Version("", shared),), tuple(self.guards))

    def _directive(self, keyword: str, rest: str) -> None:
        if keyword in _BLOCKS:
            self._block_directive(keyword, rest)
        elif keyword == "PATCH":
            self.name = self._word(rest, "PATCH")
        elif keyword == "VERSION":
            self._close_hunk()
            self.versions.append((rest, []))
        elif keyword == "FILE":
            self._close_hunk()
            self.target = self._tree_path(rest)
        elif keyword == "MARKER":
            self.marker = rest
            if rest.count("{}") != 1:
                self._fault("MARKER needs one {}", "write the comment with {} for its text, such as /* {} */")
        elif keyword == "SENTINEL":
            self.sentinel = self._word(rest, "SENTINEL")
        elif keyword == "FORBID":
            self._guard(rest)
        else:
            self._fault(
                f"unknown keyword «{keyword}»",
                "known are PATCH, FORBID, VERSION, FILE, ANCHOR, SENTINEL, MARKER, INJECT and REPLACE",
            )

    # --- hunks

    def _block_directive(self, keyword: str, rest: str) -> None:
        place = self._place()
        lines = self._block(keyword)
        if not lines:
            self._fault(f"the {keyword} block is empty", "put at least one line into it", line=place.line)
        if keyword == "ANCHOR":
            self._close_hunk()
            self.anchor = (lines, place)
            return
        action = self._action(keyword, rest, place.line)
        missing = [
            word
            for word, value in (("FILE", self.target), ("ANCHOR", self.anchor), ("SENTINEL", self.sentinel))
            if not value
        ]
        if missing:
            self._fault(f"{keyword} without {' and '.join(missing)}", "write them above it", line=place.line)
        elif self.anchor is not None and action is not None:
            hunk = Hunk(self.target, self.sentinel, self.anchor[0], action, lines, self.anchor[1], self.marker)
            (self.versions[-1][1] if self.versions else self.shared).append(hunk)
        self.anchor, self.sentinel, self.marker = None, "", ""

    def _action(self, keyword: str, rest: str, line: int) -> Action | None:
        if keyword == "REPLACE" and not rest:
            return "replace"
        if keyword == "INJECT" and rest == "before":
            return "before"
        if keyword == "INJECT" and rest == "after":
            return "after"
        self._fault(f"«{keyword} {rest}» is not an action", "write INJECT before, INJECT after or REPLACE", line=line)
        return None

    def _block(self, keyword: str) -> tuple[str, ...]:
        start = self.at
        while self.at < len(self.lines):
            if self.lines[self.at] == "END":
                self.at += 1
                return tuple(self.lines[start : self.at - 1])
            self.at += 1
        self._fault(f"the {keyword} block has no END", "end it with a line END", line=start)
        return tuple(self.lines[start:])

    def _close_hunk(self) -> None:
        if self.anchor is not None:
            self._fault("ANCHOR without INJECT or REPLACE", "say what to do at this anchor", line=self.anchor[1].line)
        self.anchor, self.sentinel, self.marker = None, "", ""

    # --- the rest

    def _guard(self, text: str) -> None:
        place = self._place()
        values: dict[str, str] = {}
        for keyword in ("IN", "FIX"):
            line = self.lines[self.at] if self.at < len(self.lines) else ""
            word, _, values[keyword] = line.strip().partition(" ")
            if word != keyword or not values[keyword].strip():
                self._fault(
                    f"FORBID needs a line {keyword} here", "write FORBID text, IN globs, FIX sentence", line=self.at + 1
                )
                return
            self.at += 1
        globs = tuple(self._tree_path(glob) for glob in values["IN"].split())
        self.guards.append(Guard(text, globs, values["FIX"].strip(), place))

    def _word(self, text: str, keyword: str) -> str:
        if _SENTINEL.fullmatch(text):
            return text
        self._fault(f"«{text}» is not a name for {keyword}", "use letters, digits, «_», «-» and «.»")
        return ""

    def _tree_path(self, path: str) -> str:
        if path and not is_below(path):
            self._fault(f"«{path}» is not a path below the tree", "write it relative, with / and without ..")
            return ""
        return path

    def _check_sentinels(self) -> None:
        for hunks in [self.shared + hunks for _, hunks in self.versions] or [self.shared]:
            seen: dict[str, Hunk] = {}
            for hunk in hunks:
                if hunk.sentinel in seen:
                    self._fault(
                        f"SENTINEL {hunk.sentinel} is used twice",
                        f"give each hunk its own; the other is at line {seen[hunk.sentinel].place.line}",
                        line=hunk.place.line,
                    )
                seen[hunk.sentinel] = hunk

    def _place(self) -> Place:
        return Place(self.file, self.at)

    def _fault(self, message: str, fix: str, line: int = 0) -> None:
        place = Place(self.file, line or self.at)
        self.found.append(
            Diagnostic("SP6001", message, place, cause="the patch file cannot be read", fix=fix, subject=self.file)
        )


def is_below(path: str) -> bool:
    """True for a relative path with forward slashes that does not lead out of its folder."""
    normal = posixpath.normpath(path)
    outside = normal in (".", "..") or normal.startswith(("../", "/"))
    return not outside and "\\" not in path and ":" not in path and not path.startswith("-")
