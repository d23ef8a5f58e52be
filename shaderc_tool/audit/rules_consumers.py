"""SP4063 and SP4064: kernel names that host sources make against the kernels that are there, in both directions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import product
from typing import Final

from shaderc_tool.audit.host_names import Hole, NameUse, Value
from shaderc_tool.diagnostics import Diagnostic, Severity
from shaderc_tool.manifest.model import Axis

_SHOWN: Final = 8
_AGREE: Final = 2
"""Values of an argument that must agree on their rows before a third is expected to."""
_LEAST_ROWS: Final = 4
_MAX_EXPANSIONS: Final = 100_000
"""Names that one format string may expand to."""

Parts = tuple["str | Hole", ...]


@dataclass(frozen=True)
class Needed:
    """A name that the host makes. It may still have open holes; `certain` is False when their values were inferred."""

    parts: Parts
    use: NameUse
    certain: bool = True

    @property
    def is_literal(self) -> bool:
        return all(isinstance(part, str) for part in self.parts)

    @property
    def text(self) -> str:
        return "".join(part if isinstance(part, str) else f"<{part.argument}>" for part in self.parts)


def check_consumers(
    uses: Sequence[NameUse], axes: Sequence[Axis], names: Collection[str], unused: Sequence[str], where: str
) -> list[Diagnostic]:
    """SP4063 for each name that is needed and not among `names`, SP4064 for `names` that no use makes.

    `axes` have their rows filled in. `unused` are globs of kernels that no host has to name; `where` says whose
    kernels these are.
    """
    found: list[Diagnostic] = []
    owned = owned_names(uses, names)
    for use in uses:
        missing = [need for need in needs(use, axes, owned[use]) if not _is_there(need.parts, owned[use])]
        # What a more special line makes satisfies this one, too.
        missing = [need for need in missing if not need.is_literal or need.text not in names]
        found += _missing(use, missing, where)
    idle = [n for n in sorted(unnamed(uses, names)) if not any(fnmatchcase(n, glob) for glob in unused)]
    if idle and uses:
        found.append(
            Diagnostic(
                "SP4064",
                f"{where}: no host source names {_some(idle)}",
                uses[0].place,
                cause="the kernels ship without being used, or their names are made in a way that is not followed",
                fix="remove them, or list them under `unused:` of the consumer",
                subject=idle[0],
                severity=Severity.WARNING,
            )
        )
    return found


def needs(use: NameUse, axes: Sequence[Axis], names: Collection[str]) -> Iterator[Needed]:
    """What must be there for one use.

    The name itself; each value of a closed argument at least once; each row of an axis. Without an axis, inferred from
    `names`, the kernels of this use: the other values of closed arguments, and what other rows agree on.
    """
    yield Needed(use.parts, use)
    for index, part in enumerate(use.parts):
        if isinstance(part, Hole):
            for value in part.values:
                if not value.optional and _is_plain(value):
                    yield Needed((*use.parts[:index], *value.parts, *use.parts[index + 1 :]), use)
    declared = list(_on_axes(use, axes))
    yield from declared
    if not declared:
        yield from _products(use, names)
        yield from _gaps(use, names)


def owned_names(uses: Iterable[NameUse], names: Collection[str]) -> dict[NameUse, set[str]]:
    """For each use the names that it makes and no more special use does: `a_%s` does not own what `a_b_%s` makes."""
    patterns = {use: re.compile(_pattern(use.parts)) for use in uses}
    owned: dict[NameUse, set[str]] = {use: set() for use in patterns}
    for name in names:
        makers = [use for use, pattern in patterns.items() if pattern.fullmatch(name)]
        best = max(map(_weight, makers), default=0)
        for use in makers:
            if _weight(use) == best:
                owned[use].add(name)
    return owned


def _weight(use: NameUse) -> int:
    """Literal characters of a use: the more, the more special."""
    return sum(len(part) for part in use.parts if isinstance(part, str))


def unnamed(uses: Iterable[NameUse], names: Iterable[str]) -> set[str]:
    """The names that no use makes."""
    left = set(names)
    for use in uses:
        pattern = re.compile(_pattern(use.parts))
        left = {name for name in left if not pattern.fullmatch(name)}
    return left


def users(name: str, uses: Iterable[NameUse]) -> list[NameUse]:
    """The uses that make this name, most specific first."""
    found = [use for use in uses if re.fullmatch(_pattern(use.parts), name)]
    return sorted(found, key=_weight, reverse=True)


def fill_axes(axes: Iterable[Axis], sources: Mapping[str, str]) -> tuple[Axis, ...]:
    """Axes with a pattern get their rows from `sources` (file → text)."""
    filled = []
    for axis in axes:
        rows = axis.rows
        if axis.pattern:
            matches = re.finditer(axis.pattern, sources.get(axis.file, ""))
            rows = tuple(dict.fromkeys(tuple(g or "" for g in match.groups()) for match in matches))
        if axis.lower:
            rows = tuple(tuple(value.lower() for value in row) for row in rows)
        filled.append(Axis(axis.arguments, rows, axis.file, axis.pattern))
    return tuple(filled)


def _is_plain(value: Value) -> bool:
    return all(isinstance(part, str) for part in value.parts)


# --- patterns


def _is_there(parts: Parts, names: Collection[str]) -> bool:
    if all(isinstance(part, str) for part in parts):
        return "".join(map(str, parts)) in names
    pattern = re.compile(_pattern(parts))
    return any(pattern.fullmatch(name) for name in names)


def _pattern(parts: Parts, groups: bool = False) -> str:
    text = ""
    for index, part in enumerate(parts):
        if isinstance(part, str):
            text += re.escape(part)
            continue
        values = "|".join(_pattern(value.parts) for value in part.values)
        body = values if part.values else r"-?\d+" if part.number else r"\w*?"
        text += f"(?P<h{index}>{body})" if groups else f"(?:{body})"
    return text


def _products(use: NameUse, names: Collection[str]) -> Iterator[Needed]:
    """For each kernel of the format string, the same name with the other values of its freely closed arguments."""
    free = [i for i, p in enumerate(use.parts) if isinstance(p, Hole) and p.free and all(map(_is_plain, p.values))]
    if not free:
        return
    pattern = re.compile(_pattern(use.parts, groups=True))
    inferred = any(isinstance(part, Hole) and not part.values for part in use.parts)
    seen: set[Parts] = set()
    for match in filter(None, map(pattern.fullmatch, sorted(names))):
        choices: list[list[Parts]] = []
        for index, part in enumerate(use.parts):
            if isinstance(part, str):
                choices.append([(part,)])
            elif index in free:
                choices.append([value.parts for value in part.values])
            else:
                choices.append([(match[f"h{index}"],)])
        for combination in product(*choices):
            parts = ("".join(str(p) for piece in combination for p in piece),)
            if parts not in seen:
                seen.add(parts)
                yield Needed(parts, use, certain=not inferred)


def _gaps(use: NameUse, names: Collection[str]) -> Iterator[Needed]:
    """Kernels that one value of an argument lacks while others agree: all of q4_0, q5_0, q8_0 come in the same sizes,
    q4_1 in all of them but one."""
    holes = [index for index, part in enumerate(use.parts) if isinstance(part, Hole)]
    if len(holes) < 2:
        return
    pattern = re.compile(_pattern(use.parts, groups=True))
    rows = [tuple(match[f"h{i}"] for i in holes) for match in filter(None, map(pattern.fullmatch, sorted(names)))]
    for axis in range(len(holes)):
        groups: dict[str, set[tuple[str, ...]]] = {}
        for row in rows:
            groups.setdefault(row[axis], set()).add((*row[:axis], *row[axis + 1 :]))
        agreed, count = Counter(map(frozenset, groups.values())).most_common(1)[0] if groups else (frozenset(), 0)
        if count < _AGREE or len(agreed) < _LEAST_ROWS:
            continue
        for value, rest in groups.items():
            lacks = agreed - rest
            if rest < agreed and len(lacks) <= max(1, len(agreed) // 8):
                for row in sorted(lacks):
                    yield Needed((_fill(use, holes, (*row[:axis], value, *row[axis:])),), use, certain=False)


def _fill(use: NameUse, holes: Sequence[int], row: Sequence[str]) -> str:
    values = dict(zip(holes, row, strict=True))
    return "".join(part if isinstance(part, str) else values[index] for index, part in enumerate(use.parts))


# --- axes


def _on_axes(use: NameUse, axes: Sequence[Axis]) -> Iterator[Needed]:
    """All names over the axes whose arguments the format string has; empty when there is none.

    Values that still hold an open argument are left out: which of them exist is not declared.
    """
    variants: list[Parts] = list(_resolved(use.parts))
    applied = False
    for axis in axes:
        expanded: list[Parts] = []
        for parts in variants:
            at = [_position(parts, argument) for argument in axis.arguments]
            if -1 in at:
                expanded.append(parts)
                continue
            applied = True
            for row in axis.rows:
                filled: list[str | Hole] = list(parts)
                for position, value in zip(at, row, strict=True):
                    filled[position] = value
                expanded.append(tuple(filled))
        variants = expanded[:_MAX_EXPANSIONS]
    if applied:
        yield from (
            Needed(parts, use) for parts in dict.fromkeys(variants) if all(isinstance(part, str) for part in parts)
        )


def _resolved(parts: Parts) -> Iterator[Parts]:
    """The parts with every closed argument replaced by each of its values."""
    choices: list[list[Parts]] = []
    for part in parts:
        if isinstance(part, Hole) and part.values:
            choices.append([inner for value in part.values if not value.optional for inner in _resolved(value.parts)])
        else:
            choices.append([(part,)])
    for combination in product(*choices):
        yield tuple(part for piece in combination for part in piece)


def _position(parts: Parts, argument: str) -> int:
    wanted = "".join(argument.split())
    for index, part in enumerate(parts):
        if isinstance(part, Hole) and any(_matches(text, wanted) for text in (part.argument, part.origin)):
            return index
    return -1


def _matches(text: str, wanted: str) -> bool:
    # Brackets of C expressions are no character classes: only * and ? are special.
    return fnmatchcase(text, re.sub(r"\[", "[[]", wanted))


# --- diagnostics


def _missing(use: NameUse, missing: Sequence[Needed], where: str) -> Iterator[Diagnostic]:
    for certain in (True, False):
        texts = list(dict.fromkeys(need.text for need in missing if need.certain is certain))
        if not texts:
            continue
        # What was inferred says nothing more where something is surely missing.
        missing = [need for need in missing if need.certain]
        how = "" if use.is_literal else f"; the host makes it from «{use.text}»"
        yield Diagnostic(
            "SP4063",
            f"{where} has no {_some(texts)}",
            use.place,
            cause=("this line needs it" if certain else "the other variants of these kernels are there") + how,
            fix="add the kernel or its instantiation, or correct the name in the host source",
            subject=texts[0],
            severity=Severity.ERROR if certain else Severity.WARNING,
        )


def _some(names: Sequence[str]) -> str:
    rest = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
