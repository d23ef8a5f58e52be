"""One Metal source from many: includes inlined, true duplicates removed, conflicting declarations reported.

The result is compiled as one translation unit, by `newLibraryWithSource:` at run time or by a Metal compiler
at build time. Files that compile apart need not compile together; what would clash is found here, before any
compiler runs.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from shaderc_tool.diagnostics import Diagnostic, Place, Related, Severity
from shaderc_tool.emit.msl_conditions import exclusive, implied
from shaderc_tool.emit.msl_declarations import MACRO, Declaration, Key, declarations
from shaderc_tool.emit.msl_inline import Inliner, Reader
from shaderc_tool.emit.msl_lex import DIRECTIVE, lex, split_directive


@dataclass(frozen=True)
class Duplicate:
    """One name declared at two places. `identical` says that the tokens are the same, `removed` that the
    second is gone.

    `kind` is macro, type, alias, function, kernel, value or host_name.
    """

    kind: str
    name: str
    first: Place
    second: Place
    identical: bool
    removed: bool


@dataclass(frozen=True)
class MergedSource:
    """The merged text, the files it was made from (in the order of first use), and what was found on the
    way.
    """

    text: str
    files: tuple[str, ...]
    duplicates: tuple[Duplicate, ...]
    diagnostics: tuple[Diagnostic, ...]


def merge_msl(
    roots: Iterable[str],
    read: Reader,
    include_dirs: Sequence[str] = (),
    substitutions: Mapping[str, str] | None = None,
    defined: Collection[str] = (),
) -> MergedSource:
    """Merge the files `roots` and everything that they include with quotes.

    `read` gives a file's text by path, or None. An include or an `__embed_NAME__` marker is looked up by
    `substitutions` (name → path), beside the including file, then in `include_dirs`. `defined` are macros that the
    compiler of the result always defines: branches that need their absence are not filled in. `#line`
    directives carry the original places. Includes in angle brackets stay.

    Faults are diagnostics: SP3010, SP3011, SP4040 to SP4047. The text is complete only when none is an error.
    """
    inliner = Inliner(read, include_dirs, substitutions or {}, defined)
    for root in roots:
        inliner.add_root(root)
    text, duplicates, found = remove_duplicates(inliner.text(), inliner.guards)
    return MergedSource(text, tuple(inliner.files), duplicates, (*inliner.diagnostics, *found))


def remove_duplicates(
    text: str, guards: Collection[str] = ()
) -> tuple[str, tuple[Duplicate, ...], tuple[Diagnostic, ...]]:
    """`text` with each repeated identical declaration blanked, the list of all duplicates, and the
    diagnostics.

    `guards` are the macros of include guards, whose conditions do not make a declaration conditional.
    """
    finder = _Finder(text, guards)
    for declaration in declarations(text):
        finder.add(declaration)
    for start, end in reversed(finder.removed):
        text = text[:start] + re.sub(r"[^\n]", "", text[start:end]) + text[end:]
    return text, tuple(finder.duplicates), tuple(finder.diagnostics)


def find_duplicates(text: str) -> tuple[Duplicate, ...]:
    """Every clash in a text as it is: what a compiler would refuse in one translation unit."""
    return tuple(d for d in remove_duplicates(text)[1] if d.kind != MACRO)


# --- places


_LINE: Final = re.compile(r'(\d+)(?:\s+"((?:[^"\\]|\\.)*)")?')


def line_places(text: str) -> list[Place]:
    """For each line of `text` the place that its `#line` directives name."""
    markers = {}
    for token in lex(text):
        if token.kind == DIRECTIVE:
            name, operand = split_directive(token.text)
            if name == "line" and (match := _LINE.match(operand)):
                markers[text.count("\n", 0, token.end)] = match
    places, file, line = [], "", 1
    for number in range(text.count("\n") + 1):
        places.append(Place(file, line))
        line += 1
        if number in markers:
            match = markers[number]
            line = int(match[1])
            file = re.sub(r"\\(.)", r"\1", match[2]) if match[2] is not None else file
    return places


# --- duplicates


class _Finder:
    """Compares each declaration with the earlier ones of the same key."""

    def __init__(self, text: str, guards: Collection[str]) -> None:
        self._text = text
        self._guards = guards
        self._places = line_places(text)
        self._seen: dict[Key, list[Declaration]] = {}
        self.removed: list[tuple[int, int]] = []
        self.duplicates: list[Duplicate] = []
        self.diagnostics: list[Diagnostic] = []

    def add(self, later: Declaration) -> None:
        if later.undefines:
            self._seen.pop(later.keys[0], None)
            return
        clashes = [(key, earlier) for key in later.keys for earlier in self._clashes(key, later)]
        if clashes and self._removable(later, clashes):
            self.removed.append((later.start, later.end))
            self._note(clashes[0], later, identical=True, removed=True)
            return
        if clashes:
            self._report(*clashes[0], later)
        for key in later.keys:
            self._seen.setdefault(key, []).append(later)

    def _clashes(self, key: Key, later: Declaration) -> list[Declaration]:
        """Earlier declarations of the same key that may be compiled together with this one."""
        if key.kind == MACRO and any(c.absent_macro == key.name for c in later.conditions):
            return []
        return [
            earlier
            for earlier in self._seen.get(key, [])
            if not exclusive(earlier.conditions, later.conditions, self._guards)
            and not (earlier.repeatable and later.repeatable and earlier.tokens == later.tokens)
        ]

    def _removable(self, later: Declaration, clashes: list[tuple[Key, Declaration]]) -> bool:
        """True when one earlier declaration, compiled whenever this is, declares exactly the same."""
        return later.balanced and any(
            earlier.tokens == later.tokens
            and earlier.keys == later.keys
            and implied(earlier.conditions, later.conditions, self._guards)
            for _, earlier in clashes
        )

    def _place(self, declaration: Declaration) -> Place:
        return self._places[self._text.count("\n", 0, declaration.start)]

    def _note(self, clash: tuple[Key, Declaration], later: Declaration, identical: bool, removed: bool) -> None:
        key, earlier = clash
        self.duplicates.append(
            Duplicate(key.kind, key.name, self._place(earlier), self._place(later), identical, removed)
        )

    def _report(self, key: Key, earlier: Declaration, later: Declaration) -> None:
        identical = earlier.tokens == later.tokens
        self._note((key, earlier), later, identical, removed=False)
        first, second = self._place(earlier), self._place(later)
        code, message, cause, fix = _wording(key, identical)
        self.diagnostics.append(
            Diagnostic(
                code,
                message,
                second,
                cause=cause,
                fix=fix,
                subject=key.name,
                severity=Severity.WARNING if key.kind == MACRO else Severity.ERROR,
                related=(Related(first, f"first declaration of {key.name}"),),
                detail="" if identical else self._diff(earlier, later, first, second),
            )
        )

    def _diff(self, earlier: Declaration, later: Declaration, first: Place, second: Place) -> str:
        before, after = (self._text[d.start : d.end].splitlines() for d in (earlier, later))
        lines = difflib.unified_diff(before, after, str(first), str(second), lineterm="")
        return "\n".join(lines)


def _wording(key: Key, identical: bool) -> tuple[str, str, str, str]:
    """Code, message, cause and fix for a clash that stays."""
    if key.kind == MACRO:
        return (
            "SP4046",
            f"macro {key.name} is defined again with another body",
            "in one translation unit the second definition holds for all that follows",
            "use `#undef` before it, or another name",
        )
    word = {"host_name": "kernel", "value": "name", "alias": "type"}.get(key.kind, key.kind)
    if identical:
        return (
            "SP4041",
            f"{word} {key.name} is declared twice, and the second declaration cannot be removed",
            "the first is compiled under a condition that the second does not have",
            "declare it once, outside of the conditional, in a header that both files include",
        )
    return (
        "SP4040",
        f"{word} {key.name} is declared twice with different content",
        "one translation unit admits one definition of a name",
        "rename one of the two, or make both files include one definition",
    )
