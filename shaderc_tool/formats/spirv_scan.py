"""SPIR-V modules inside other files: found by header at 4-byte alignment, ended by the last function's end.

A module does not record its length (SPIR-V specification, section 2.3). A compute or graphics module ends with an
OpFunctionEnd, so the walk goes on while instructions are well formed and the last such end closes the module.
"""

from __future__ import annotations

import mmap
import struct
from typing import Final

from shaderc_tool.formats import spirv_tables as t
from shaderc_tool.formats.views import searchable

_MAGIC: Final = struct.pack("<I", t.MAGIC)
_MAX_BOUND: Final = 4_194_303
_LAST_OPCODE: Final = 0x7FFF
_BETWEEN_FUNCTIONS: Final = (8, 12, 317)
"""OpLine, OpExtInst (debug information without semantics) and OpNoLine."""


def find_modules(data: bytes | memoryview) -> list[tuple[int, int]]:
    """(offset, size) of every module, in file order."""
    raw = searchable(memoryview(data).cast("B"))
    found = []
    at = raw.find(_MAGIC)
    while at >= 0:
        size = _module_size(raw, at) if at % 4 == 0 else 0
        if size:
            found.append((at, size))
        at = raw.find(_MAGIC, at + max(size, 1))
    return found


def _module_size(raw: bytes | mmap.mmap, start: int) -> int:
    """Bytes of the module at `start`, 0 when there is none."""
    if start + 20 > len(raw):
        return 0
    _, version, _, bound, schema = struct.unpack_from("<5I", raw, start)
    if version & 0xFF0000FF or version >> 16 != 1 or not 0 < bound <= _MAX_BOUND or schema:
        return 0
    end, at, inside = 0, start + 20, False
    while at + 4 <= len(raw):
        opcode, count = struct.unpack_from("<HH", raw, at)
        following = at + 4 * count
        if count == 0 or opcode > _LAST_OPCODE or following > len(raw) or raw[at : at + 4] == _MAGIC:
            break
        if opcode == t.OP_FUNCTION:
            if inside:
                break
            inside = True
        elif opcode == t.OP_FUNCTION_END:
            if not inside or count != 1:
                break
            inside, end = False, following
        elif end and not inside and opcode not in _BETWEEN_FUNCTIONS:
            break
        at = following
    return end - start if end else 0
