"""Kernel names of Metal source text, from its declarations: comments, strings and uninstantiated templates do not
count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from shaderc_tool.audit.source_macros import expand_kernel_macros
from shaderc_tool.emit.msl_conditions import Conditions, Literal
from shaderc_tool.emit.msl_declarations import MACRO, Declaration, declarations
from shaderc_tool.emit.msl_lex import clean_text

_COMPARISON: Final = re.compile(r"\(*__METAL_VERSION__(>=|<=|==|!=|>|<)(\d+)\)*")
_DEFINED: Final = re.compile(r"defined\(?(\w+)\)?")
_PREDEFINED: Final = ("__METAL_VERSION__", "__METAL__", "__cplusplus")
_MARK: Final = re.compile(rb"\b(?:kernel|host_name)\b")


@dataclass(frozen=True)
class SourceKernel:
    """One entry point that host code can look up, its place, and what must hold for it to be compiled."""

    name: str
    offset: int
    line: int
    conditions: Conditions = frozenset()

    def at(self, metal_version: int, macros: Mapping[str, str]) -> bool | None:
        """Whether it is compiled for `__METAL_VERSION__` = `metal_version` (310 for 3.1), None when that hangs on
        something else than the version and `macros`."""
        holds: bool | None = True
        for literal in self.conditions:
            value = _evaluate(literal, metal_version, macros)
            if value is False:
                return False
            if value is None:
                holds = None
        return holds


def looks_like_source(data: bytes | memoryview) -> bool:
    """True for text that mentions kernels; a payload with zeros in it is no text."""
    raw = bytes(data).rstrip(b"\0")
    return bool(raw) and b"\0" not in raw and _MARK.search(raw) is not None


def source_kernels(text: str) -> tuple[SourceKernel, ...]:
    """The entry points of one translation unit in order, `host_name` before the function's own name."""
    return read_source(text)[0]


def source_macros(text: str) -> dict[str, str]:
    """The object-like macros that the text itself defines: name → body."""
    return read_source(text)[1]


def read_source(text: str) -> tuple[tuple[SourceKernel, ...], dict[str, str]]:
    """Entry points and macros at once: lexing is what costs."""
    plain = expand_kernel_macros(clean_text(text))
    kernels: list[SourceKernel] = []
    macros: dict[str, str] = {}
    line, at = 1, 0
    for declaration in declarations(plain):
        name = _entry_name(declaration)
        if name:
            start = declaration.start
            line, at = line + plain.count("\n", at, start) if start >= at else plain.count("\n", 0, start) + 1, start
            kernels.append(SourceKernel(name, start, line, declaration.conditions))
        elif not declaration.undefines:
            macros.update((key.name, " ".join(declaration.tokens)) for key in declaration.keys if key.kind == MACRO)
    return tuple(kernels), macros


def compiled_names(kernels: Iterable[SourceKernel], std: str, macros: Mapping[str, str]) -> set[str]:
    """Names that a compile with `-std` `std` (such as `metal3.1`) gives; undecided ones count as there."""
    version = metal_version(std)
    return {kernel.name for kernel in kernels if kernel.at(version, macros) is not False}


def metal_version(std: str) -> int:
    """`metal3.1` → 310, the value of `__METAL_VERSION__`."""
    major, _, minor = std.rpartition("metal")[2].partition(".")
    return int(major) * 100 + int(minor or 0) * 10


def _entry_name(declaration: Declaration) -> str:
    """The name that the library gives the function, empty for what is no entry point."""
    keys = {key.kind for key in declaration.keys}
    named = _host_name(declaration.tokens)
    if named and keys & {"host_name", "kernel", "function"}:
        return named
    return next((key.name.rpartition("::")[2] for key in declaration.keys if key.kind == "kernel"), "")


def _host_name(tokens: tuple[str, ...]) -> str:
    """The operand of `host_name` in the head; adjacent literals are one string."""
    for index, token in enumerate(tokens):
        if token == "{":
            break
        if token == "host_name" and tokens[index + 1 : index + 2] == ("(",):
            parts = []
            for word in tokens[index + 2 :]:
                if not word.startswith('"'):
                    break
                parts.append(word.strip('"'))
            return "".join(parts)
    return ""


def _evaluate(literal: Literal, version: int, macros: Mapping[str, str]) -> bool | None:
    value = _value(literal.text, version, macros)
    return value if value is None or literal.holds else not value


def _value(text: str, version: int, macros: Mapping[str, str]) -> bool | None:
    """A condition without blanks; None for what is not known here."""
    for operator, decisive in (("||", True), ("&&", False)):
        parts = text.split(operator)
        if len(parts) > 1 and all(part.count("(") == part.count(")") for part in parts):
            values = [_value(part, version, macros) for part in parts]
            return decisive if decisive in values else None if None in values else not decisive
    if text.startswith("!") and not text.startswith("!="):
        inner = _value(text[1:], version, macros)
        return None if inner is None else not inner
    if match := _COMPARISON.fullmatch(text):
        return _compare(version, match[1], int(match[2]))
    if match := _DEFINED.fullmatch(text):
        return True if match[1] in macros or match[1] in _PREDEFINED else None
    body = macros.get(text, text).strip()
    return int(body) != 0 if re.fullmatch(r"\d+", body) else None


def _compare(left: int, operator: str, right: int) -> bool:
    return {
        ">=": left >= right,
        "<=": left <= right,
        "==": left == right,
        "!=": left != right,
        ">": left > right,
        "<": left < right,
    }[operator]
