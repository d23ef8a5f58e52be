"""Syntax highlighting for source excerpts. Imports pygments: import this module only when colour is on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import PurePosixPath
from typing import Any, ClassVar

from pygments import format as pygments_format
from pygments.formatters import TerminalFormatter
from pygments.lexer import Lexer
from pygments.lexers import CppLexer, GLShaderLexer, JsonLexer, YamlLexer
from pygments.token import Keyword, Name, Text, Whitespace, _TokenType

# Metal Shading Language Specification, sections 2 (types), 4 (address spaces) and 5 (functions).
_KEYWORD = re.compile(
    "kernel|vertex|fragment|mesh|object|visible|intersection|device|constant|thread|threadgroup"
    "|threadgroup_imageblock|ray_data|object_data|access|as_type"
)
_TYPE = re.compile(
    "half|bfloat|uchar|ushort|uint|ulong|sampler|texture[123]d(_array)?|atomic_(int|uint)"
    "|(packed_)?(bool|u?char|u?short|u?int|u?long|half|float|bfloat)[234]|(half|float)[234]x[234]"
    "|simdgroup_(float|half|bfloat)8x8"
)


class MetalLexer(CppLexer):  # type: ignore[misc]  # the stubs do not know the lazily loaded lexers
    """C++ with the words that Metal adds."""

    name = "Metal"
    aliases: ClassVar[list[str]] = ["metal"]
    filenames: ClassVar[list[str]] = ["*.metal"]

    def get_tokens_unprocessed(
        self, text: str, stack: Sequence[str] = ("root",)
    ) -> Iterator[tuple[int, _TokenType, str]]:
        for position, token, value in super().get_tokens_unprocessed(text, stack):
            if token in Name and _KEYWORD.fullmatch(value):
                yield position, Keyword, value
            elif token in Name and _TYPE.fullmatch(value):
                yield position, Keyword.Type, value
            else:
                yield position, token, value


# Named here because pygments knows neither `.comp` nor `.metal`; headers are shared with C++.
_LEXERS: dict[str, type[Any]] = {
    **dict.fromkeys((".comp", ".glsl", ".vert", ".frag", ".geom", ".tesc", ".tese"), GLShaderLexer),
    **dict.fromkeys((".metal", ".h", ".hpp", ".c", ".cpp", ".m", ".mm"), MetalLexer),
    **dict.fromkeys((".yaml", ".yml"), YamlLexer),
    ".json": JsonLexer,
}


@cache
def _lexer(suffix: str) -> Lexer | None:
    lexer = _LEXERS.get(suffix)
    # stripnl and ensurenl would move the lines.
    return None if lexer is None else lexer(stripnl=False, ensurenl=False)


def highlight(lines: Sequence[str], file: str) -> list[str]:
    """`lines` with ANSI colours by the language of `file`; unchanged when there is no lexer for it here."""
    lexer = _lexer(PurePosixPath(file).suffix.lower())
    if lexer is None:
        return list(lines)
    tokens = lexer.get_tokens("\n".join(lines))
    # Coloured spaces only make the output longer.
    visible = ((Text if token is Whitespace else token, value) for token, value in tokens)
    text: str = pygments_format(visible, TerminalFormatter(bg="dark"))
    return text.split("\n")
