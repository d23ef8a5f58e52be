"""Print the catalogue of diagnostic codes as Markdown: `python -m shaderc_tool.report.catalogue`."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Final

from shaderc_tool.codes import CODES

FAMILIES: Final[dict[str, str]] = {
    "1": "Manifest and usage",
    "2": "Toolchains and devices",
    "3": "Compile and run",
    "4": "Audit rules",
    "5": "Verification",
    "6": "Patches",
    "7": "Cache and file system",
    "8": "Metal front end",
}


def catalogue(codes: Mapping[str, str]) -> str:
    """One table for each family that has codes, sorted by code. `codes` maps `SPxxxx` to its meaning."""
    parts = ["# Diagnostics\n\nA code never changes its meaning and is never used again for another one.\n"]
    for family, group in groupby(sorted(codes), key=lambda code: code[2]):
        rows = "".join(f"| {code} | {_cell(codes[code])} |\n" for code in group)
        parts.append(f"## {FAMILIES[family]} (SP{family}xxx)\n\n| code | meaning |\n| --- | --- |\n{rows}")
    return "\n".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(catalogue(CODES), end="")
