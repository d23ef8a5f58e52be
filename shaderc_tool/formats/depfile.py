"""Make dependency files: a strict writer, and a reader for what compilers write (peers.md 2g).

Names with a newline are refused: make would read the rest as commands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from shaderc_tool.formats.errors import FormatError

_UNSAFE = re.compile(r"[\n\r\0]")


@dataclass(frozen=True)
class Rule:
    """`targets: prerequisites`, unescaped."""

    targets: tuple[str, ...]
    prerequisites: tuple[str, ...]


def write_depfile(target: str, prerequisites: Iterable[str]) -> str:
    """One rule that make and ninja read back as given. FormatError for a name with a newline or NUL."""
    words = [escape(p) for p in prerequisites]
    return f"{escape(target)}:" + "".join(f" \\\n  {word}" for word in words) + "\n"


def escape(name: str) -> str:
    """A file name as make and ninja read it in a depfile."""
    if not name or _UNSAFE.search(name):
        raise FormatError(f"a depfile cannot hold the file name {name!r}")
    # Make halves backslashes only in front of a character that it unescapes, and so does ninja.
    name = re.sub(r"(\\*)([ \t#])", lambda m: m[1] * 2 + "\\" + m[2], name)
    name = re.sub(r"(\\+)$", lambda m: m[1] * 2, name)
    return name.replace("$", "$$")


def parse_depfile(text: str) -> tuple[Rule, ...]:
    """The rules of an escaped depfile. FormatError when a rule has no target."""
    rules: list[Rule] = []
    for line in _rule_lines(text):
        words = _words(line)
        if not words:
            continue
        targets: list[str] = []
        for position, (word, is_target_end) in enumerate(words):
            targets.append(word)
            if is_target_end:
                rest = tuple(w for w, _ in words[position + 1 :])
                rules.append(Rule(tuple(t for t in targets if t), rest))
                break
        else:
            raise FormatError(f"depfile rule without a colon: {line[:60]!r}")
    if any(not rule.targets for rule in rules):
        raise FormatError("depfile rule without a target")
    return tuple(rules)


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
        for end in range(len(words), start, -1):
            name = " ".join(words[start:end])
            if exists(name):
                break
        else:
            end, name = start + 1, words[start]
        found.append(name)
        start = end
    return tuple(found)


def _rule_lines(text: str) -> list[str]:
    return [line for line in re.split(r"(?<!\\)\r?\n", text) if line.strip()]


def _words(line: str) -> list[tuple[str, bool]]:
    """Words with whether a rule's colon ends them. A drive letter's colon and `\\:` belong to the word."""
    words: list[tuple[str, bool]] = []
    current = ""
    i = 0
    ended = False

    def flush(colon: bool = False) -> None:
        nonlocal current
        if current or colon:
            words.append((current, colon))
        current = ""

    while i < len(line):
        char = line[i]
        if char == "\\":
            run = len(line) - i - len(line[i:].lstrip("\\"))
            after = line[i + run : i + run + 1]
            if after in (" ", "\t", "#") and after:
                current += "\\" * (run // 2)
                i += run
                if run % 2:
                    current += after
                    i += 1
                continue
            if after in ("\n", "\r"):
                current += "\\" * ((run - 1) // 2)
                flush()
                i += run
                continue
            current += "\\" * (run // 2 if not after and run % 2 == 0 else run)
            i += run
        elif char == "$" and line[i + 1 : i + 2] == "$":
            current += "$"
            i += 2
        elif char.isspace():
            flush()
            i += 1
        elif char == ":" and not ended and _ends_target(line, i, current):
            flush(colon=True)
            ended = True
            i += 1
        else:
            current += char
            i += 1
    flush()
    return words


def _ends_target(line: str, at: int, current: str) -> bool:
    after = line[at + 1 : at + 2]
    if len(current) == 1 and current.isalpha() and after in ("/", "\\"):
        return False
    continued = after == "\\" and line[at + 2 : at + 3] in ("\n", "\r")
    return not after or after.isspace() or continued
