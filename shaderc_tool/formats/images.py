"""Object files and linked images through lief: architecture, sections with their place in the file, defined symbols."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from shaderc_tool.formats.errors import FormatError

KINDS: Final = ("mach-o", "elf", "pe", "coff")
_ARCHITECTURES: Final = {"amd64": "x86_64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Section:
    """`name` is `segment,section` in Mach-O. A section without bytes in the file has size 0."""

    name: str
    offset: int
    size: int


@dataclass(frozen=True)
class Image:
    """`symbols` are the external names that the image defines, in C spelling, sorted."""

    kind: str
    architecture: str
    sections: tuple[Section, ...]
    symbols: tuple[str, ...]

    def section_at(self, offset: int) -> str:
        """The name of the section that holds this byte of the file, empty for none."""
        for section in self.sections:
            if section.offset <= offset < section.offset + section.size:
                return section.name
        return ""


def read_image(data: bytes | memoryview, kind: str) -> Image:
    """Read a thin image of one of KINDS. Raises `FormatError`."""
    import lief

    lief.logging.disable()
    parser = {"mach-o": lief.MachO, "elf": lief.ELF, "pe": lief.PE, "coff": lief.COFF}[kind]
    parsed = parser.parse(bytes(data))
    if kind == "mach-o" and parsed is not None:
        parsed = parsed.at(0) if parsed.size else None
    if parsed is None:
        raise FormatError(f"the {kind} file cannot be read", 0)
    symbols = {"mach-o": _mach_o_symbols, "elf": _elf_symbols, "pe": _pe_symbols, "coff": _coff_symbols}[kind]
    return Image(
        kind=kind,
        architecture=_architecture(parsed, kind),
        sections=tuple(_sections(parsed, kind)),
        symbols=tuple(sorted({name for name in symbols(parsed) if name})),
    )


def _architecture(parsed: Any, kind: str) -> str:
    header = parsed.header
    value = {"mach-o": "cpu_type", "elf": "machine_type", "pe": "machine", "coff": "machine"}[kind]
    name = getattr(header, value).name.lower()
    return str(_ARCHITECTURES.get(name, name))


def _sections(parsed: Any, kind: str) -> Iterator[Section]:
    for section in parsed.sections:
        if kind == "mach-o":
            yield Section(
                f"{section.segment_name},{section.name}", section.offset, section.size if section.offset else 0
            )
        elif kind == "elf":
            size = 0 if section.type == type(section).TYPE.NOBITS else section.size
            yield Section(section.name, section.file_offset, size)
        else:
            yield Section(section.name, section.pointerto_raw_data, section.sizeof_raw_data)


def _mach_o_symbols(parsed: Any) -> Iterable[str]:
    for symbol in parsed.symbols:
        # N_STAB entries are debug information; N_SECT says that a section defines the symbol, N_EXT that others see it.
        raw = symbol.raw_type
        if not raw & 0xE0 and raw & 0x0E == 0x0E and raw & 0x01:
            yield str(symbol.name).removeprefix("_")


def _elf_symbols(parsed: Any) -> Iterable[str]:
    for symbol in parsed.symbols:
        if symbol.shndx and symbol.binding != type(symbol).BINDING.LOCAL:
            yield str(symbol.name)


def _pe_symbols(parsed: Any) -> Iterable[str]:
    for function in parsed.exported_functions:
        yield str(function.name)


def _coff_symbols(parsed: Any) -> Iterable[str]:
    for symbol in parsed.symbols:
        if symbol.section_idx > 0 and symbol.storage_class.name == "EXTERNAL":
            yield str(symbol.name)
