"""Sources of the pack as files that stand alone in another tree: includes inlined, stamped with their digest."""

from __future__ import annotations

import enum
import posixpath
import re
from collections.abc import Callable, Sequence
from typing import Final

from shaderc_tool.diagnostics import ShaderpackError, has_errors
from shaderc_tool.emit.msl_inline import Inliner
from shaderc_tool.patch.model import Copy, digest_of

_STAMP: Final = re.compile(r"// shaderpack copy of .* sha256:([0-9a-f]{16})\b")
_LINE_DIRECTIVE: Final = re.compile(r'^#line \d+ "[^"\n]*"\n', re.MULTILINE)


class Stamp(enum.Enum):
    """What the first line of a file says about the rest."""

    ABSENT = "absent"
    MATCHES = "matches"
    DIFFERS = "differs"


def stamp_of(text: str) -> Stamp:
    """Whether this is a stamped copy, and whether its content is still what the stamp was made for."""
    first, _, body = text.replace("\r\n", "\n").partition("\n")
    match = _STAMP.match(first)
    if match is None:
        return Stamp.ABSENT
    return Stamp.MATCHES if digest_of(body) == match[1] else Stamp.DIFFERS


def stamped(source: str, destination: str, pack: str, body: str) -> Copy:
    """The copy of a self-contained source text."""
    header = f"// shaderpack copy of {source}, pack {pack}, sha256:{digest_of(body)}. Do not edit it here.\n"
    return Copy(source, destination, header + body)


def self_contained(source: str, read: Callable[[str], str | None], include: Sequence[str]) -> str:
    """The text of `source` with every quoted include inlined once. Raises ShaderpackError (SP3010, SP3011, SP404x).

    Include guards stay, so several of these texts can also be concatenated into one translation unit. The inliner's
    line directives go: they name files that the other tree does not have, and GLSL wants `#version` before them.
    """
    inliner = Inliner(read, include)
    inliner.add_root(source)
    if has_errors(inliner.diagnostics):
        raise ShaderpackError(*inliner.diagnostics)
    return _LINE_DIRECTIVE.sub("", inliner.text())


def destination(template: str, source: str, symbol: str) -> str:
    """`template` with {stem} (the source's name without its suffix) and {symbol} filled in."""
    stem = posixpath.basename(source).rsplit(".", 1)[0]
    return template.replace("{stem}", stem).replace("{symbol}", symbol)
