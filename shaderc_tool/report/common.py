"""What the reports share: counting, the summary line, and text that is safe to show."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from shaderc_tool.diagnostics import Diagnostic, Severity

# Control characters would drive the terminal, bidirectional controls would reorder what the reader sees, and
# lone surrogates (undecodable bytes of a file name) cannot be encoded.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """`text` with each character that a terminal must not receive spelled out; newline and tab stay."""
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n"))


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def counts(diagnostics: Iterable[Diagnostic]) -> dict[Severity, int]:
    """Number of diagnostics of each severity, worst first; severities that do not occur count 0."""
    seen = Counter(d.severity for d in diagnostics)
    return {severity: seen[severity] for severity in sorted(Severity, reverse=True)}


def summary_line(diagnostics: Iterable[Diagnostic]) -> str:
    """`2 errors, 1 warning`, or `no findings`."""
    parts = [
        f"{number} {severity.word}{'' if number == 1 else 's'}"
        for severity, number in counts(diagnostics).items()
        if number
    ]
    return ", ".join(parts) or "no findings"


def explanation(diagnostic: Diagnostic) -> str:
    """Message, cause and fix as plain lines: the text for formats that have one text field."""
    lines = [diagnostic.message]
    if diagnostic.cause:
        lines.append(f"cause: {diagnostic.cause}")
    if diagnostic.fix:
        lines.append(f"fix: {diagnostic.fix}")
    return "\n".join(lines)


def json_text(value: object) -> str:
    """`value` as indented JSON ending in a newline. Lone surrogates are escaped: the text is valid UTF-8."""
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def codes_used(diagnostics: Sequence[Diagnostic]) -> list[str]:
    """The codes that occur, sorted, each once."""
    return sorted({d.code for d in diagnostics})
