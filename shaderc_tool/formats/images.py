"""Object files and linked images: architecture, sections with their place in the file, defined symbols.

The readers are small and bounded by the file's size: an audit looks at files from elsewhere, which must not be able to
crash it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from shaderc_tool.formats.elf import read_elf
from shaderc_tool.formats.image_model import Image, Section, Symbol
from shaderc_tool.formats.macho import read_macho
from shaderc_tool.formats.pe import read_coff, read_pe

__all__ = ["KINDS", "Image", "Section", "Symbol", "read_image"]

_READERS: Final[dict[str, Callable[[memoryview], Image]]] = {
    "mach-o": read_macho,
    "elf": read_elf,
    "pe": read_pe,
    "coff": read_coff,
}
KINDS: Final = tuple(_READERS)


def read_image(data: bytes | memoryview, kind: str) -> Image:
    """Read a thin image of one of KINDS. Raises `FormatError`. Symbols have a place only inside the file."""
    view = memoryview(data).cast("B")
    image = _READERS[kind](view)
    return replace(image, places=tuple(_inside(symbol, len(view)) for symbol in image.places))


def _inside(symbol: Symbol, length: int) -> Symbol:
    return symbol if symbol.offset + symbol.size <= length else replace(symbol, offset=-1, size=0)
