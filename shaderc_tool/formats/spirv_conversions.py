"""A quick scan for conversions of constants, which the full reader also finds but at many times the cost.

glslang may leave the converted constant uninitialised (`float16_t(0)` with only 16-bit storage enabled), so that a
module with such an instruction is worth a second look. A chance match of bytes costs that look, nothing else.
"""

from __future__ import annotations

import re
from typing import Final

# Little-endian first words: OpConstant (43) of four or, for 64 bits, five words; OpUConvert, OpSConvert, OpFConvert.
_CONSTANT: Final = re.compile(rb"\x2b\x00[\x04\x05]\x00(?=.{4}(.{4}))", re.DOTALL)
_CONVERSION: Final = re.compile(rb"[\x71-\x73]\x00\x04\x00(?=.{8}(.{4}))", re.DOTALL)


def may_convert_constant(module: bytes) -> bool:
    """True when an instruction of the module may convert an OpConstant to another width; never a false «no»."""
    converted = set(_CONVERSION.findall(module))
    return bool(converted) and not converted.isdisjoint(_CONSTANT.findall(module))
