"""Rules of the Metal specification that clang cannot know: attributes, argument tables, program scope."""

from __future__ import annotations

from collections.abc import Callable

from shaderc_tool.diagnostics import Diagnostic, Place
from shaderc_tool.msl.checks.arguments import entry_points
from shaderc_tool.msl.checks.attributes import unknown_attributes
from shaderc_tool.msl.checks.variables import (
    program_scope,
    threadgroup_initializers,
    unqualified_pointers,
    words_of_cpp,
)
from shaderc_tool.msl.rewrite import Rewritten
from shaderc_tool.msl.tokens import Token

_CHECKS = (
    unknown_attributes,
    entry_points,
    program_scope,
    threadgroup_initializers,
    unqualified_pointers,
    words_of_cpp,
)


def check(unit: Rewritten, place: Callable[[Token], Place]) -> list[Diagnostic]:
    """All findings; `place` maps a token to the user's place."""

    def at(index: int) -> Place:
        return place(unit.stream.tokens[index])

    return [diagnostic for rule in _CHECKS for diagnostic in rule(unit, at)]
