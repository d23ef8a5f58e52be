"""LLVM bitcode containers: the Darwin wrapper and the outer bitstream blocks, and disassembly through llvmlite.

Source: LLVM Bitcode File Format, "Bitcode Wrapper Format" and "Blocks".
"""

from __future__ import annotations

import struct
from typing import Final

from shaderc_tool.formats.errors import FormatError

_WRAPPER_MAGIC: Final = 0x0B17C0DE
_RAW_MAGIC: Final = b"BC\xc0\xde"
_MODULE_BLOCK: Final = 8


def unwrap(data: bytes) -> bytes:
    """The raw bitcode (`BC 0xC0DE …`) inside an optional Darwin wrapper.

    The outer block structure is walked: each top-level block must lie inside the data and one must be a module.
    Raises `FormatError`.
    """
    raw = data
    if len(data) >= 20 and struct.unpack_from("<I", data)[0] == _WRAPPER_MAGIC:
        _, offset, size = struct.unpack_from("<III", data, 4)
        if offset < 20 or offset + size > len(data):
            raise FormatError(f"bitcode wrapper points at {offset}+{size} of {len(data)} bytes", 8)
        raw = data[offset : offset + size]
    if raw[:4] != _RAW_MAGIC:
        raise FormatError("no LLVM bitcode", len(data) - len(raw))
    if _MODULE_BLOCK not in _top_level_blocks(raw):
        raise FormatError("bitcode holds no module")
    return raw


def _top_level_blocks(raw: bytes) -> list[int]:
    """Block identifiers at the outermost level, where the abbreviation width is 2 and blocks are 32-bit aligned."""
    found = []
    pos = 4
    while pos + 8 <= len(raw):
        word = int.from_bytes(raw[pos : pos + 4], "little")
        if word & 3 != 1:  # not ENTER_SUBBLOCK: padding, as the writers add up to 16 bytes
            if any(raw[pos:]):
                raise FormatError("no bitstream block where one must start", pos)
            break
        block, shift = _vbr(word, 2, 8)
        _, shift = _vbr(word, shift, 4)
        if shift > 32:
            raise FormatError("block header of unknown shape", pos)
        words = int.from_bytes(raw[pos + 4 : pos + 8], "little")
        end = pos + 8 + 4 * words
        if end > len(raw):
            raise FormatError(f"block {block} runs past the end of the bitcode", pos)
        found.append(block)
        pos = end
    return found


def _vbr(word: int, shift: int, width: int) -> tuple[int, int]:
    """A variable-bit-rate number: (value, next bit)."""
    value = step = 0
    low = (1 << (width - 1)) - 1
    while True:
        chunk = (word >> shift) & ((1 << width) - 1)
        value |= (chunk & low) << step
        shift += width
        step += width - 1
        if chunk <= low or shift >= 32:
            return value, shift


def disassemble(data: bytes) -> str:
    """The textual IR of some bitcode, typed pointers kept (LLVM 15).

    Raises `FormatError` for everything that LLVM reports. LLVM's reader does not promise to survive hostile bytes:
    damage inside a well-formed module block can still end the process, so check the container's hash first.
    """
    import llvmlite.binding as llvm

    raw = unwrap(data)
    if llvm.llvm_version_info[0] > 16:
        raise FormatError(f"LLVM {llvm.llvm_version_info[0]} drops pointer types; llvmlite 0.44 is needed")
    context = llvm.create_context()
    try:
        module = llvm.parse_bitcode(raw, context=context)
        try:
            return str(module)
        finally:
            module.close()  # before its context, which garbage collection does not promise
    except (RuntimeError, UnicodeDecodeError) as error:
        raise FormatError(f"LLVM cannot read the bitcode: {str(error).strip()}") from error
    finally:
        context.close()
