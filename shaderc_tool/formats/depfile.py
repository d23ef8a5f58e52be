"""Make dependency files: a strict writer, and a reader for what compilers write.

A depfile is make syntax. Names that make would take for something else (a recipe, order-only prerequisites) are
refused, not written: a folder's name must never become a command.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from shaderc_tool.formats.errors import FormatError

_UNSAFE: Final = re.compile(r"[\n\r\0;|]")
_DRIVE: Final = re.compile(r"[A-Za-z]:(?=[/\\])")
_PIECE: Final = re.compile(
    r"""
      (?P<escape>\\+)(?P<escaped>[ \t\#:])
    | (?P<slashes>\\+)(?P<newline>\r?\n)
    | (?P<end>\r?\n)
    | (?P<blank>\s+?(?=\S|\r?\n|\Z))
    | (?P<colon>:)
    | (?P<dollar>\$\$)
    | (?P<text>\\+|[^\\\s:$]+|\$)
    """,
    re.VERBOSE,
)
_WORD_END: Final = re.compile(r"\s|\Z|\\\r?\n")
_PATH_MAX: Final = 4096
_NAME_MAX: Final = 255


@dataclass(frozen=True)
class Rule:
    """`targets: prerequisites`, unescaped."""

    targets: tuple[str, ...]
    prerequisites: tuple[str, ...]


def write_depfile(target: str, prerequisites: Iterable[str]) -> str:
    """One rule that make and `parse_depfile` read back as given, and ninja too but for the characters it has no
    escape for (tab, quotes, `*`, `?`, `<`, `>`, `^`).

    FormatError for a name that make cannot hold, see `escape`. Two names make misreads stay as they are, since there
    is no way to write them: `%` in the target, and `=` in a first prerequisite.
    """
    words = [escape(p) for p in prerequisites]
    return f"{escape(target)}:" + "".join(f" \\\n  {word}" for word in words) + "\n"


def escape(name: str) -> str:
    """A file name as make and ninja read it in a depfile.

    FormatError for an empty name, for a newline, NUL, `;` or `|`, and for `:` or a backslash at the end.
    """
    if not name or _UNSAFE.search(name) or name.endswith((":", "\\")):
        raise FormatError(f"a depfile cannot hold the file name {name!r}")
    drive = _DRIVE.match(name)
    start = drive.end() if drive else 0
    # Backslashes count double only in front of a character that needs an escape itself.
    rest = re.sub(r"(\\*)([ \t#:])", lambda m: m[1] * 2 + "\\" + m[2], name[start:])
    return (name[:start] + rest).replace("$", "$$")


def parse_depfile(text: str) -> tuple[Rule, ...]:
    """The rules of an escaped depfile. FormatError for a rule without a colon or without a target."""
    return tuple(_rules(text))


def _rules(text: str) -> Iterator[Rule]:
    rule = _RuleReader()
    for piece in _PIECE.finditer(text):
        kind = piece.lastgroup
        if kind == "end":
            yield from rule.finish()
            rule = _RuleReader()
        elif kind == "escaped":
            rule.escaped(len(piece["escape"]), piece["escaped"], _ends_word(text, piece.end()))
        elif kind == "newline":
            rule.continued(len(piece["slashes"]))
            if len(piece["slashes"]) % 2 == 0:
                yield from rule.finish()
                rule = _RuleReader()
        elif kind == "blank":
            rule.end_word()
        elif kind == "colon":
            rule.colon(text[piece.end() : piece.end() + 1], _ends_word(text, piece.end()))
        else:
            rule.parts.append("$" if kind == "dollar" else piece[0])
    yield from rule.finish()


def _ends_word(text: str, at: int) -> bool:
    return _WORD_END.match(text, at) is not None


@dataclass
class _RuleReader:
    """One rule as far as it has been read."""

    words: list[str] = field(default_factory=list)
    targets: list[str] | None = None
    parts: list[str] = field(default_factory=list)

    def end_word(self) -> None:
        if word := "".join(self.parts):
            self.words.append(word)
        self.parts = []

    def escaped(self, slashes: int, char: str, last: bool) -> None:
        """Backslashes before a blank, `#` or `:`: an odd run escapes it."""
        if char == ":" and self.targets is None and last:
            # `C:\out\:` names a folder of Windows; ninja reads it so, too.
            self.parts.append("\\" * slashes)
            self.colon("", last)
        elif slashes % 2:
            self.parts.append("\\" * (slashes // 2) + char)
        elif char == ":":
            self.parts.append("\\" * (slashes // 2))
            self.colon("", last)
        elif char == "#":
            self.parts.append("\\" * (slashes // 2) + char)
        else:
            # Both make and ninja keep an even run in front of a blank as it is.
            self.parts.append("\\" * slashes)
            self.end_word()

    def continued(self, slashes: int) -> None:
        """Backslashes before a newline: an odd run joins the lines, and both tools keep an even one as it is."""
        self.parts.append("\\" * (slashes - 1 if slashes % 2 else slashes))
        self.end_word()

    def colon(self, after: str, last: bool) -> None:
        drive = len(self.parts) == 1 and re.fullmatch("[A-Za-z]", self.parts[0]) and after in ("/", "\\") and not last
        if self.targets is None and last and not drive:
            self.end_word()
            self.targets, self.words = self.words, []
        else:
            self.parts.append(":")

    def finish(self) -> Iterator[Rule]:
        """The rule, nothing for a blank line."""
        self.end_word()
        if self.targets is None and not self.words:
            return
        if self.targets is None:
            raise FormatError(f"depfile rule without a colon: {' '.join(self.words)[:60]!r}")
        if not self.targets:
            raise FormatError("depfile rule without a target")
        yield Rule(tuple(self.targets), tuple(self.words))


def parse_glslc_depfile(text: str, target: str, exists: Callable[[str], bool]) -> tuple[str, ...]:
    """The prerequisites of a file that glslc wrote: one line, nothing escaped, `target` as given to `-o`.

    A name with spaces is put together again by asking `exists` for the longest run of words that is a file.
    FormatError when the line does not begin with the target.
    """
    line = text.rstrip("\n")
    head = f"{target}:"
    if not line.startswith(head) or "\n" in line:
        raise FormatError(f"not a depfile for {target!r}")
    words = line[len(head) :].split(" ")
    found: list[str] = []
    start = 0
    while start < len(words):
        if not words[start]:
            start += 1
            continue
        end = next((end for end in _ends(words, start) if exists(" ".join(words[start:end]))), start + 1)
        found.append(" ".join(words[start:end]))
        start = end
    return tuple(found)


def _ends(words: list[str], start: int) -> Iterator[int]:
    """Ends of the runs of words from `start` that a file system can hold as one name, the longest first.

    Without this limit a source of many includes costs calls by the square, and `exists` meets names for which the
    system has an error in place of an answer.
    """
    longest, total, part = start, 0, 0
    for end in range(start, len(words)):
        word = words[end].encode("utf-8", "surrogateescape")
        total += len(word) + 1
        first, *others = word.split(b"/")
        part = len(others[-1]) if others else part + 1 + len(first)
        if total > _PATH_MAX or max(part, *map(len, others or [b""])) > _NAME_MAX:
            break
        longest = end + 1
    return iter(range(longest, start, -1))
