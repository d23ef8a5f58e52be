"""A file as lines that keep their ends, and what can be found in it: anchors, marked blocks, the nearest match."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from shaderc_tool.patch.model import BEGIN, END, digest_of

_MARK: Final = re.compile(rf"({re.escape(BEGIN)}|{re.escape(END)}) ([A-Za-z][\w.-]*)(?: sha256:([0-9a-f]+))?")


def decode(data: bytes) -> str:
    """Bytes to text such that `encode` gives back every byte, valid UTF-8 or not."""
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """The inverse of `decode`."""
    return text.encode("utf-8", "surrogateescape")


@dataclass(frozen=True)
class Lines:
    """The lines of a file with their ends. `eol` is the end of its first line, the one that new lines get."""

    items: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Lines:
        # Not splitlines(): a form feed or U+2028 does not end a line for a compiler.
        return cls(tuple(re.findall(r"[^\n]*\n|[^\n]+", text)))

    @property
    def text(self) -> str:
        return "".join(self.items)

    @property
    def eol(self) -> str:
        return "\r\n" if self.items and self.items[0].endswith("\r\n") else "\n"

    def bare(self) -> list[str]:
        """The lines without their ends."""
        return [item.rstrip("\r\n") for item in self.items]


@dataclass(frozen=True)
class Block:
    """What one sentinel's markers enclose: lines `start` to `end` (exclusive), markers included, counted from 0.

    `digest` is the one that the marker declares, `actual` the one of the lines between the markers.
    """

    start: int
    end: int
    digest: str
    actual: str

    @property
    def intact(self) -> bool:
        return self.digest == self.actual


def blocks(lines: Lines) -> tuple[dict[str, Block], set[str]]:
    """The marked blocks by sentinel, and the sentinels whose markers are not exactly one pair."""
    begins: dict[str, list[tuple[int, str]]] = {}
    ends: dict[str, list[int]] = {}
    bare = lines.bare()
    for number, line in enumerate(bare):
        if "shaderpack" in line and (mark := _MARK.search(line)):
            if mark[1] == BEGIN:
                begins.setdefault(mark[2], []).append((number, mark[3] or ""))
            else:
                ends.setdefault(mark[2], []).append(number)
    whole: dict[str, Block] = {}
    broken: set[str] = set()
    for sentinel in begins.keys() | ends.keys():
        starts, stops = begins.get(sentinel, []), ends.get(sentinel, [])
        if len(starts) == len(stops) == 1 and starts[0][0] < stops[0]:
            start, digest = starts[0]
            actual = digest_of("\n".join(bare[start + 1 : stops[0]]))
            whole[sentinel] = Block(start, stops[0] + 1, digest, actual)
        else:
            broken.add(sentinel)
    return whole, broken


def find(lines: Lines, wanted: Sequence[str], outside: Iterable[Block] = ()) -> list[int]:
    """The numbers (from 0) of the lines where `wanted` starts, none of them inside one of the blocks `outside`."""
    bare = lines.bare()
    masked = {number for block in outside for number in range(block.start, block.end)}
    size = len(wanted)
    return [
        at
        for at in range(len(bare) - size + 1)
        if bare[at] == wanted[0] and bare[at : at + size] == list(wanted) and masked.isdisjoint(range(at, at + size))
    ]


@dataclass(frozen=True)
class Near:
    """The lines that are most like an anchor: from line `start` (from 0), `likeness` from 0 to 1."""

    start: int
    likeness: float
    lines: tuple[str, ...]


def nearest(lines: Lines, wanted: Sequence[str]) -> Near | None:
    """The run of as many lines that is most like `wanted`, None in an empty file."""
    bare = lines.bare()
    size = min(len(wanted), len(bare))
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2("\n".join(wanted))
    best: Near | None = None
    for at in range(len(bare) - size + 1) if size else ():
        matcher.set_seq1("\n".join(bare[at : at + size]))
        bar = best.likeness if best else -1.0
        # The two quick ratios are upper bounds and spare the quadratic one for most lines.
        if matcher.real_quick_ratio() > bar and matcher.quick_ratio() > bar and (ratio := matcher.ratio()) > bar:
            best = Near(at, ratio, tuple(bare[at : at + size]))
    return best
