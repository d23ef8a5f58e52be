"""Inlining of local includes and embed markers, with `#line` so that a compiler names the original file and
line.
"""

from __future__ import annotations

import hashlib
import itertools
import posixpath
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from shaderc_tool.diagnostics import Diagnostic, Place, Related
from shaderc_tool.emit.msl_conditions import ConditionStack, is_dead
from shaderc_tool.emit.msl_lex import COMMENT, DIRECTIVE, WORD, Token, clean_text, lex, split_directive

Reader = Callable[[str], "str | None"]
"""The text of a file by its path with `/`, or None when there is no such file."""

_QUOTED: Final = re.compile(r'"([^"\n]+)"\Z')
_MARKER: Final = re.compile(r"__embed_(\S+?)__\Z")


@dataclass(frozen=True)
class SourceFile:
    """A file as it is read: its text, tokens, and how it keeps itself from being included twice."""

    path: str
    text: str
    tokens: tuple[Token, ...]
    guard: str
    """The macro of its include guard; empty without one."""
    pragma_once: bool
    digest: str

    @property
    def once(self) -> bool:
        return self.pragma_once or bool(self.guard)

    def line(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1


def load(path: str, text: str) -> SourceFile:
    """Clean and tokenize a file."""
    plain = clean_text(text)
    tokens = tuple(lex(plain))
    once = any(t.kind == DIRECTIVE and split_directive(t.text) == ("pragma", "once") for t in tokens)
    digest = hashlib.sha256(plain.encode()).hexdigest()
    return SourceFile(path, plain, tokens, _guard(tokens), once, digest)


def _guard(tokens: Sequence[Token]) -> str:
    """The include guard: `#ifndef G`, `#define G`, and the matching `#endif` as the last token."""
    code = [t for t in tokens if t.kind != COMMENT]
    if len(code) < 3 or any(t.kind != DIRECTIVE for t in (code[0], code[1], code[-1])):
        return ""
    first = ConditionStack()
    first.feed(*split_directive(code[0].text))
    macro = "".join(literal.absent_macro for literal in first.conditions())
    if not macro or split_directive(code[1].text) != ("define", macro):
        return ""
    names = [split_directive(t.text)[0] for t in code if t.kind == DIRECTIVE]
    depths = list(itertools.accumulate(name.startswith("if") - (name == "endif") for name in names))
    whole = depths[-1] == 0 and 0 not in depths[:-1]
    branches = any(n in ("else", "elif") and depth == 1 for n, depth in zip(names, depths, strict=True))
    return macro if whole and not branches else ""


@dataclass
class Inliner:
    """One merged text in the making. `text()` is the result; `diagnostics` say what could not be inlined."""

    read: Reader
    include_dirs: Sequence[str] = ()
    substitutions: Mapping[str, str] = field(default_factory=dict)
    defined: Collection[str] = ()
    files: dict[str, SourceFile] = field(default_factory=dict)
    guards: dict[str, SourceFile] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    _parts: list[str] = field(default_factory=list)
    _done: set[str] = field(default_factory=set)
    _open: list[SourceFile] = field(default_factory=list)
    _conditions: ConditionStack = field(default_factory=ConditionStack)

    def text(self) -> str:
        return "".join(self._parts)

    def add_root(self, path: str) -> None:
        """Append a file and all that it includes."""
        source = self._load(posixpath.normpath(path))
        if source is None:
            self.diagnostics.append(Diagnostic("SP3010", f"source file not found: {path}", Place(path), subject=path))
            return
        self._append(source)

    def _load(self, path: str) -> SourceFile | None:
        if path not in self.files:
            text = self.read(path)
            if text is None:
                return None
            self.files[path] = load(path, text)
        return self.files[path]

    # --- one file

    def _append(self, source: SourceFile) -> None:
        """Append a file that has not been completed yet."""
        if source.once and not self._done.isdisjoint((source.path, source.digest)):
            return
        self._check_guard(source)
        depth = self._conditions.depth
        conditional = self._pending_conditions()
        # A copy in a conditional may not count, so that each later copy must decide by a macro.
        macro = _once_macro(source)
        if not (source.once and (conditional or macro in self.guards)):
            macro = ""
        if macro:
            self.guards[macro] = source
            self._parts.append(f"#ifndef {macro}\n#define {macro}\n")
            self._conditions.feed("ifndef", macro)
        self._parts.append(_line_directive(1, source.path))
        self._open.append(source)
        self._append_body(source)
        self._open.pop()
        if macro:
            self._parts.append("#endif\n")
            self._conditions.feed("endif", "")
        if source.once and not conditional:
            self._done.update((source.path, source.digest))
        self._check_end(source, depth)

    def _append_body(self, source: SourceFile) -> None:
        """Copy the text; each include and marker is replaced by what it names."""
        at = 0
        previous_end = 0
        for token in source.tokens:
            if token.kind == COMMENT:
                continue
            first_on_line = "\n" in source.text[previous_end : token.start] or previous_end == 0
            previous_end = token.end
            if token.kind == DIRECTIVE:
                name, operand = split_directive(token.text)
                self._conditions.feed(name, operand)
                end = self._directive(source, token, name, operand, at)
            elif token.kind == WORD and first_on_line and token.text.startswith("__embed_"):
                end = self._marker(source, token, at)
            else:
                continue
            at = end if end >= 0 else at
        self._parts.append(source.text[at:])

    def _directive(self, source: SourceFile, token: Token, name: str, operand: str, at: int) -> int:
        """The offset up to which the text is dealt with, or -1 when the directive stays."""
        if (name, operand) == ("pragma", "once"):
            return self._replace(source, at, token.start, token.end, None)
        if name not in ("include", "import") or operand.startswith("<"):
            return -1
        if is_dead(self._conditions.conditions(), self.defined):
            return self._replace(source, at, token.start, token.end, None)
        match = _QUOTED.match(operand)
        place = Place(source.path, source.line(token.start))
        if match is None:
            self._report("SP4047", f"the include of {operand} cannot be resolved", place, _COMPUTED)
            return self._replace(source, at, token.start, token.end, None)
        found = self._find(source, match[1], place)
        return self._replace(source, at, token.start, token.end, found)

    def _marker(self, source: SourceFile, token: Token, at: int) -> int:
        end = source.text.index("\n", token.start)
        match = _MARKER.match(source.text[token.start : end].split("//")[0].strip())
        place = Place(source.path, source.line(token.start))
        if match is None:
            self._report("SP4042", "embed marker is not alone on its line", place, _BAD_MARKER)
            return -1
        if is_dead(self._conditions.conditions(), self.defined):
            return self._replace(source, at, token.start, end, None)
        return self._replace(source, at, token.start, end, self._find(source, match[1], place))

    def _replace(self, source: SourceFile, at: int, start: int, end: int, found: SourceFile | None) -> int:
        """Copy up to `start`, then put `found` in place of [start, end); without it, as many empty lines."""
        self._parts.append(source.text[at:start])
        skip = found is None or (found.once and not self._done.isdisjoint((found.path, found.digest)))
        if skip or found is None:
            self._parts.append("\n" * source.text.count("\n", start, end))
            return end
        if self._parts[-1] and not self._parts[-1].endswith("\n"):
            self._parts.append("\n")
        self._append(found)
        rest = source.text.find("\n", end) + 1 or len(source.text)
        self._parts.append(_line_directive(source.line(rest - 1) + 1, source.path))
        return rest

    # --- look-up and checks

    def _find(self, source: SourceFile, name: str, place: Place) -> SourceFile | None:
        """The included file: by substitution, beside the including file, then in the include folders."""
        if name in self.substitutions:
            candidates = [self.substitutions[name]]
        else:
            folders = [posixpath.dirname(source.path), *self.include_dirs]
            candidates = [posixpath.join(folder, name) for folder in folders]
        for candidate in dict.fromkeys(map(posixpath.normpath, candidates)):
            found = self._load(candidate)
            if found is not None:
                return None if self._is_cycle(found, place) else found
        fix = "add its folder to `include`, or substitute another file for it"
        self._report("SP3011", f"include file not found: {name}", place, fix, subject=name)
        return None

    def _is_cycle(self, found: SourceFile, place: Place) -> bool:
        if found not in self._open:
            return False
        if not found.once:
            fix = f"give {found.path} an include guard or `#pragma once`"
            self._report("SP4043", f"{found.path} includes itself", place, fix, subject=found.path)
        return True

    def _check_guard(self, source: SourceFile) -> None:
        """Compiled apart, two headers with one guard both count; merged, the second would vanish without a
        word.
        """
        if not source.guard:
            return
        other = self.guards.setdefault(source.guard, source)
        if other.digest != source.digest:
            self.diagnostics.append(
                Diagnostic(
                    "SP4044",
                    f"two different headers use the include guard {source.guard}",
                    Place(source.path, 1),
                    cause="in one translation unit the second header is skipped",
                    fix="give each header a guard of its own, or `#pragma once`",
                    subject=source.guard,
                    related=(Related(Place(other.path, 1), "the other header"),),
                )
            )

    def _check_end(self, source: SourceFile, depth: int) -> None:
        last = source.tokens[-1] if source.tokens else None
        in_comment = (
            last is not None
            and last.kind == COMMENT
            and last.text.startswith("/*")
            and (len(last.text) < 4 or not last.text.endswith("*/"))
        )
        if in_comment or self._conditions.depth != depth:
            what = "a comment" if in_comment else "a conditional"
            self._report(
                "SP4045",
                f"{source.path} ends inside {what}",
                Place(source.path, source.line(len(source.text)) - 1),
                "close it in the same file: what follows in the merged source would be swallowed",
                subject=source.path,
            )

    def _pending_conditions(self) -> bool:
        """True when the current point is under a condition other than the guards of the open files."""
        mine = {guard for source in self._open for guard in (source.guard, _once_macro(source)) if guard}
        return any(literal.absent_macro not in mine for literal in self._conditions.conditions())

    def _report(self, code: str, message: str, place: Place, fix: str, subject: str = "") -> None:
        chain = tuple(Related(Place(source.path), "included from here") for source in self._open[:-1])
        self.diagnostics.append(Diagnostic(code, message, place, fix=fix, subject=subject, related=chain))


_COMPUTED: Final = "write the file name in quotes: a merged source cannot include a file that a macro names"
_BAD_MARKER: Final = "write `__embed_NAME__` alone on a line, where NAME is a file that an include would find"


def _once_macro(source: SourceFile) -> str:
    return f"SHADERPACK_ONCE_{source.digest[:16]}"


def _line_directive(line: int, path: str) -> str:
    quoted = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'#line {line} "{quoted}"\n'
