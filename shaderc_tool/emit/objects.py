"""Object files without a compiler: Mach-O, ELF and COFF through llvmlite.

LLVM gets a module of a few lines, in which a marker and a run of zero bytes stand for each payload; the
bytes are put into the finished object. A payload of 100 MB then costs its own size in memory and no parsing.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from typing import Final

from shaderc_tool.emit.assembler import MACHO_SECTION
from shaderc_tool.emit.payload import ALIGNMENT, Naming, Payload, require_distinct
from shaderc_tool.emit.targets import ObjectTarget, packed_version


def object_symbols(target: ObjectTarget, payloads: Iterable[Payload], naming: Naming) -> tuple[str, ...]:
    """The global symbols of `write_object`'s result, spelled as in its symbol table."""
    prefix = "_" if target.is_apple else ""
    return tuple(prefix + name for payload in payloads for name in naming.names(payload.symbol))


def write_object(
    target: ObjectTarget,
    payloads: Iterable[Payload],
    naming: Naming = Naming.START_END,
    section: str = "",
    private_extern: bool = False,
) -> bytes:
    """A relocatable object that defines each payload, aligned to 16 bytes and followed by a zero byte.

    `section` is `SEGMENT,section` for Mach-O and a section name otherwise; the default is the read-only data
    of the format. `private_extern` hides the symbols outside the linked image (Mach-O private extern, ELF
    hidden; COFF has no such thing and exports nothing by itself). The same arguments give the same bytes.
    Needs the extra `metal`. Raises ValueError for a section name that the format cannot hold and for two
    payloads with one symbol.
    """
    ordered = tuple(payloads)
    require_distinct(ordered)
    where = section or (MACHO_SECTION if target.is_apple else _READ_ONLY[target.platform])
    _require_section(target, where)
    text = _module(target, ordered, naming, where, private_extern)
    image = bytearray(_assemble(text, _triple(target)))
    for payload in ordered:
        _splice(image, payload)
    if target.is_apple:
        _stamp_build_version(image, target)
    return bytes(image)


_READ_ONLY: Final = {"linux": ".rodata", "windows": ".rdata"}


def _require_section(target: ObjectTarget, section: str) -> None:
    parts = section.split(",") if target.is_apple else [section]
    valid = len(parts) == (2 if target.is_apple else 1)
    limit = 16 if target.is_apple else 64
    if not valid or not all(p.isascii() and p.isprintable() and 0 < len(p) <= limit for p in parts):
        raise ValueError(f"{target.platform}: not a section name: {section!r}")
    if '"' in section or "\\" in section:
        raise ValueError(f"section name cannot be quoted: {section!r}")


# --- the module


_FLAGS: Final = {
    # A linker turns control-flow protection off for the whole image when one object does not declare it.
    ("linux", "x86_64"): ("cf-protection-branch", "cf-protection-return"),
    ("linux", "arm64"): ("branch-target-enforcement", "sign-return-address"),
}


def _triple(target: ObjectTarget) -> str:
    arch = "aarch64" if target.arch == "arm64" and not target.is_apple else target.arch
    return f"{arch}-{target.facts.triple}"


def _module(
    target: ObjectTarget, payloads: tuple[Payload, ...], naming: Naming, section: str, private_extern: bool
) -> str:
    """The LLVM assembly; opaque names only, so that no path or time gets into the object."""
    visibility = "hidden " if private_extern and target.platform != "windows" else ""
    lines = [f'source_filename = "{payloads[0].symbol}"'] if payloads else []
    for payload in payloads:
        lines += _definitions(payload, naming, section, visibility)
    flags = _FLAGS.get((target.platform, target.arch), ())
    lines.append(f"!llvm.module.flags = !{{{', '.join(f'!{i}' for i in range(len(flags)))}}}")
    lines += [f'!{i} = !{{i32 8, !"{flag}", i32 1}}' for i, flag in enumerate(flags)]
    return "\n".join(lines) + "\n"


def _definitions(payload: Payload, naming: Naming, section: str, visibility: str) -> list[str]:
    """Start and size are objects. The end is an address inside the first: its zero byte keeps the label
    there.
    """
    size = len(payload.data)
    head = _placeholder(payload)
    kind = f"<{{ [{len(head)} x i8], [{size - len(head)} x i8], i8 }}>"
    value = f'[{len(head)} x i8] c"{_escaped(head)}", [{size - len(head)} x i8] zeroinitializer, i8 0'
    place = f'section "{section}"'
    names = naming.names(payload.symbol)
    lines = [
        f"@{names[0]} = {visibility}constant {kind} <{{ {value} }}>, {place}, align {ALIGNMENT}",
        f"@{names[-1]} = {visibility}constant i64 {size}, {place}, align 8",
    ]
    if naming is Naming.START_END:
        address = f"i8* getelementptr (i8, i8* bitcast ({kind}* @{names[0]} to i8*), i64 {size})"
        lines.append(f"@{names[1]} = {visibility}alias i8, {address}")
    return lines


def _escaped(data: bytes) -> str:
    return "".join(f"\\{byte:02x}" for byte in data)


def _assemble(text: str, triple: str) -> bytes:
    from llvmlite import binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(reloc="pic")
    with llvm.parse_assembly(text) as module:
        module.triple = triple
        return bytes(machine.emit_object(module))


# --- what LLVM does not know


_MARKER_SIZE: Final = 32


def _placeholder(payload: Payload) -> bytes:
    """The first bytes of the payload's place: a digest that nothing else in the object holds, or a short
    payload.
    """
    if len(payload.data) <= _MARKER_SIZE:
        return payload.data
    return hashlib.sha256(f"place of {payload.symbol} {payload.digest}".encode()).digest()


def _splice(image: bytearray, payload: Payload) -> None:
    """Put the payload over its placeholder."""
    size = len(payload.data)
    if size <= _MARKER_SIZE:
        return
    place = _placeholder(payload)
    if image.count(place) != 1:
        raise AssertionError(f"payload {payload.symbol} has no unique place in the object")
    at = image.index(place)
    image[at : at + size] = payload.data


_LC_BUILD_VERSION: Final = 0x32


def _stamp_build_version(image: bytearray, target: ObjectTarget) -> None:
    """Write platform, lowest OS and SDK into LC_BUILD_VERSION (`<mach-o/loader.h>`,
    build_version_command).
    """
    magic, _, _, _, count = struct.unpack_from("<5I", image)
    at = 32 if magic == 0xFEEDFACF else 28
    for _ in range(count):
        command, size = struct.unpack_from("<2I", image, at)
        if command == _LC_BUILD_VERSION:
            versions = packed_version(target.min_os), packed_version(target.sdk or "0")
            struct.pack_into("<3I", image, at + 8, target.facts.macho, *versions)
            return
        at += size
    raise AssertionError(f"LLVM wrote no LC_BUILD_VERSION for {target.platform}")
