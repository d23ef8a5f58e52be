"""Diagnostics: the one model that every stage returns and every report renders.

A stage never prints and seldom raises: it returns values plus a list of `Diagnostic`. A stage that cannot go on raises
a `ShaderpackError`, which carries its diagnostics and the process exit code (design section 2).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

from shaderc_tool.codes import CODES


class Severity(enum.IntEnum):
    """How bad it is; errors fail the build."""

    NOTE = 0
    WARNING = 1
    ERROR = 2

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class Place:
    """A position in a text file. `line` and `column` count from 1; 0 means unknown."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        parts = [self.file]
        if self.line:
            parts.append(str(self.line))
            if self.column:
                parts.append(str(self.column))
        return ":".join(parts)


@dataclass(frozen=True)
class Related:
    """A second place that explains a diagnostic: the other declaration, the header included from."""

    place: Place
    message: str


@dataclass(frozen=True)
class Diagnostic:
    """One finding: a stable code, a place, what happened, why, and what to do.

    `subject` is the kernel, symbol or file that the finding is about. `detail` is verbatim tool text or a diff.
    """

    code: str
    message: str
    place: Place | None = None
    cause: str = ""
    fix: str = ""
    subject: str = ""
    severity: Severity = Severity.ERROR
    related: tuple[Related, ...] = ()
    detail: str = ""

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise KeyError(f"diagnostic code {self.code} is not in shaderc_tool/codes.py")


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """True when at least one of the diagnostics is an error."""
    return any(d.severity is Severity.ERROR for d in diagnostics)


class ShaderpackError(Exception):
    """A stage cannot go on. Exit code 1: build, audit or verification failed."""

    exit_code = 1

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("; ".join(f"{d.code}: {d.message}" for d in diagnostics))
        self.diagnostics = diagnostics


class UsageError(ShaderpackError):
    """Wrong usage or a faulty manifest."""

    exit_code = 2


class ToolMissingError(ShaderpackError):
    """A needed tool, library or device is not there."""

    exit_code = 3


class InterruptedBuildError(ShaderpackError):
    """The user pressed Ctrl-C."""

    exit_code = 130
