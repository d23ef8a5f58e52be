"""Host sources as tokens: C, C++, Objective-C, Swift and Python, comments dropped, strings decoded enough for names."""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass
from typing import Final

from shaderc_tool.emit.msl_lex import DIRECTIVE, STRING, clean_text, code

_INTERPOLATION: Final = re.compile(r"\\\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_FIELD: Final = re.compile(r"\{([^{}:!]*)(?:![rsa])?(?::[^{}]*)?\}")


@dataclass(frozen=True)
class HostToken:
    """`text` of a string is its content, with `%{expression}` for what Swift and Python interpolate."""

    text: str
    line: int
    column: int
    is_string: bool = False


def host_tokens(text: str, suffix: str) -> list[HostToken]:
    """The tokens of one host source. `suffix` such as `.mm` tells the language; unreadable Python gives none."""
    if suffix == ".py":
        return _python(text)
    plain = clean_text(text)
    starts = [0]
    for match in re.finditer("\n", plain):
        starts.append(match.end())
    tokens, line = [], 0
    for token in code(plain):
        while line + 1 < len(starts) and starts[line + 1] <= token.start:
            line += 1
        if token.kind == DIRECTIVE:
            tokens += _macro_body(token.text, line + 1)
            continue
        is_string = token.kind == STRING and token.text.endswith('"')
        content = _content(token.text, suffix) if is_string else token.text
        tokens.append(HostToken(content, line + 1, token.start - starts[line] + 1, is_string))
    return _joined(tokens)


def _macro_body(directive: str, line: int) -> list[HostToken]:
    """Strings inside a `#define` count, as the names that a macro makes do."""
    match = re.match(r"#\s*define\s+\w+(.*)", directive, re.DOTALL)
    if not match:
        return []
    return [
        HostToken(_content(t.text, ""), line, 1, True)
        for t in code(match[1].replace("\\\n", " "))
        if t.kind == STRING and t.text.endswith('"')
    ]


def _content(text: str, suffix: str) -> str:
    raw = re.fullmatch(r'(?:u8|[uUL])?R"([^()\\\s]*)\((.*)\)\1"', text, re.DOTALL)
    if raw:
        return raw[2]
    inner = text[text.index('"') + 1 : -1]
    return _INTERPOLATION.sub(r"%{\1}", inner) if suffix == ".swift" else inner


def _joined(tokens: list[HostToken]) -> list[HostToken]:
    """Adjacent string literals are one; Objective-C's `@` before a string says nothing here."""
    found: list[HostToken] = []
    for token in tokens:
        if token.text == "@" and not token.is_string:
            continue
        last = found[-1] if found else None
        if last and last.is_string and token.is_string:
            found[-1] = HostToken(last.text + token.text, last.line, last.column, True)
        else:
            found.append(token)
    return found


def _python(text: str) -> list[HostToken]:
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
    f_start, f_middle, f_end = (getattr(tokenize, f"FSTRING_{part}", -1) for part in ("START", "MIDDLE", "END"))
    found: list[HostToken] = []
    depth, pieces, place, hole = 0, [""], (0, 0), ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            row, column = token.start
            if token.type == f_start:
                depth, pieces, place, hole = depth + 1, [""], token.start, ""
            elif token.type == f_middle:
                pieces.append(token.string)
            elif token.type == f_end:
                depth -= 1
                found.append(HostToken("".join(pieces), place[0], place[1] + 1, True))
            elif depth and token.string == "{":
                hole = ""
            elif depth and token.string == "}":
                pieces.append(f"%{{{hole}}}")
            elif depth:
                hole += token.string
            elif token.type == tokenize.STRING:
                found.append(HostToken(_python_string(token.string), row, column + 1, True))
            elif token.type not in skipped:
                found.append(HostToken(token.string, row, column + 1))
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return []
    return _joined(found)


def _python_string(literal: str) -> str:
    match = re.fullmatch(r"([a-zA-Z]*)('{3}|\"{3}|'|\")(.*)\2", literal, re.DOTALL)
    if not match:
        return ""
    return _FIELD.sub(r"%{\1}", match[3]) if "f" in match[1].lower() else match[3]
