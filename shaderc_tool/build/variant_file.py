"""Variant files: one source plus its macros in one file, so that one glslc process can take many of them.

`#version` must come first in GLSL, so the file is: the version line, the macros, then the source with that line blank.
Quoted includes that lie beside the source are rewritten to their full path, since the variant file lies elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shaderc_tool.formats.glsl import scan_includes, split_version
from shaderc_tool.manifest.model import Defines


@dataclass(frozen=True)
class VariantFile:
    """The text and how many lines stand before the source's line 1."""

    text: str
    shift: int

    def source_line(self, line: int) -> int:
        """The source's line for a line of this file; at least 1."""
        return max(1, line - self.shift)


@dataclass(frozen=True)
class VariantTemplate:
    """What all variants of one source have in common: the version line, if any, and the text after the macros."""

    version: str | None
    body: str

    def variant(self, defines: Defines) -> VariantFile:
        """The file with these macros."""
        head = [self.version] if self.version else []
        head += [f"#define {name} {value}".rstrip() for name, value in defines]
        return VariantFile("\n".join([*head, self.body]), len(head))


def make_template(source: str, place_of: Callable[[str], str | None]) -> VariantTemplate:
    """Prepare a source. `place_of` gives the full path of an include that lies beside it, else None."""
    version, rest, _ = split_version(source)
    lines = rest.split("\n")
    for include in scan_includes(rest):
        if include.angled:
            continue
        full = place_of(include.path)
        if full is not None:
            at = include.line - 1
            lines[at] = lines[at].replace(f'"{include.path}"', f'"{full}"', 1)
    return VariantTemplate(version, "\n".join(lines))
