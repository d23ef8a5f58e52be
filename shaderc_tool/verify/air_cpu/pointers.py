"""Which buffer, variable or private array a pointer in a function points into."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from shaderc_tool.formats.llvm_types import TypeTable
from shaderc_tool.verify.air_cpu.irtext import GLOBAL, NAME, Function, operand, result_name, split_commas


class Root(NamedTuple):
    """`argument` (a `%name` parameter), `global` (a name without `@`), `alloca` (`%name`), or `unknown`."""

    kind: Literal["argument", "global", "alloca", "unknown"]
    name: str = ""


UNKNOWN: Final = Root("unknown")
_FAST_FLAGS: Final = ("fast ", "nnan ", "ninf ", "nsz ", "arcp ", "contract ", "afn ", "reassoc ")
_PHI_VALUE: Final = re.compile(rf"\[ (.+?), %{NAME} \]")
_INSTRUCTION: Final = re.compile(rf"^  (%{NAME}) = (\w+) (.*)$")


def constant_root(value: str) -> Root:
    """The root of a constant expression: the one global in it."""
    names = set(GLOBAL.findall(value))
    return Root("global", names.pop()) if len(names) == 1 else UNKNOWN


class Roots:
    """The roots of all pointer values of one function, by data flow over copies, offsets and joins."""

    def __init__(self, function: Function, types: TypeTable) -> None:
        self._types = types
        self._known: dict[str, Root] = {
            name: Root("argument", name) for kind, name in function.parameters if kind.endswith("*")
        }
        sources: dict[str, list[str]] = {}
        for block in function.blocks:
            for line in block.lines:
                name = result_name(line)
                if not name:
                    continue
                found = self._sources(line, name)
                if found is not None:
                    sources[name] = found
        self._solve(sources)

    def of(self, value: str) -> Root:
        """The root of a pointer operand."""
        if value.startswith("%"):
            return self._known.get(value, UNKNOWN)
        return constant_root(value)

    def _sources(self, line: str, name: str) -> list[str] | None:
        """The pointers that an instruction passes on; None when it yields a pointer from elsewhere, or no pointer."""
        match = _INSTRUCTION.match(line)
        word, rest = (match.group(2), match.group(3)) if match else ("", "")
        if word == "alloca":
            self._known[name] = Root("alloca", name)
            return None
        reader = _READERS.get(word)
        return reader(rest, self._types) if reader else None

    def _solve(self, sources: dict[str, list[str]]) -> None:
        """Optimistic fixpoint: a value not yet seen says nothing; two different roots make it unknown."""
        changed = True
        while changed:
            changed = False
            for name, values in sources.items():
                roots = {
                    self._known.get(value, UNKNOWN)
                    for value in values
                    if value in self._known or (value.startswith("%") and value not in sources)
                }
                roots |= {constant_root(value) for value in values if not value.startswith("%")}
                if not roots:
                    continue
                root = roots.pop() if len(roots) == 1 else UNKNOWN
                if self._known.get(name) != root and self._known.get(name) != UNKNOWN:
                    self._known[name] = root
                    changed = True


def _of_getelementptr(rest: str, types: TypeTable) -> list[str]:
    return [operand(split_commas(rest.removeprefix("inbounds "))[1], types)[1]]


def _of_cast(rest: str, types: TypeTable) -> list[str] | None:
    kind, value = operand(rest, types)
    return [value.rsplit(" to ", 1)[0]] if kind.endswith("*") else None


def _of_select(rest: str, types: TypeTable) -> list[str] | None:
    if rest.startswith(_FAST_FLAGS):
        return None
    parts = split_commas(rest)
    kind, first = operand(parts[1], types)
    return [first, operand(parts[2], types)[1]] if kind.endswith("*") else None


def _of_phi(rest: str, types: TypeTable) -> list[str] | None:
    if rest.startswith(_FAST_FLAGS):  # a floating-point value
        return None
    if not rest[: types.type_end(rest)].endswith("*"):
        return None
    return _PHI_VALUE.findall(rest)


_READERS: Final[dict[str, Callable[[str, TypeTable], list[str] | None]]] = {
    "getelementptr": _of_getelementptr,
    "bitcast": _of_cast,
    "addrspacecast": _of_cast,
    "select": _of_select,
    "phi": _of_phi,
    "freeze": _of_cast,
}
