"""bfloat where AIR wants the type: in simdgroup matrix operations.

The shim keeps bfloat as 16 bits. A vector of 64 of them is a simdgroup matrix and nothing else, so its type can be
changed throughout; pointers and scalars are converted at the calls.
"""

from __future__ import annotations

import re

from shaderc_tool.msl.air.module import Function, IrModule

_MATRIX, _BFLOAT_MATRIX = "<64 x i16>", "<64 x bfloat>"
_OPERAND = re.compile(
    r"i16( addrspace\(\d+\)\*)? (?:align \d+ )?([%@][\w.$]+|-?\d+|(?:getelementptr|bitcast)[^()]*\(.*?\)\)?)(?=[,)])"
)
_PARAMETER = re.compile(r"\bi16\b")


def type_bfloat_matrices(module: IrModule) -> None:
    """Give matrices of 16 bits the element type bfloat."""
    if not any("bf16" in name for name in module.declarations):
        return
    for function in module.functions.values():
        function.body = _body(function)
        function.header = function.header.replace(_MATRIX, _BFLOAT_MATRIX)
    module.types = [t.replace(_MATRIX, _BFLOAT_MATRIX) for t in module.types]
    for name, line in module.declarations.items():
        if name.startswith("air.simdgroup_matrix") and "bf16" in name:
            module.declarations[name] = _PARAMETER.sub("bfloat", line)


def _body(function: Function) -> list[str]:
    out: list[str] = []
    for line in function.body:
        line = line.replace(_MATRIX, _BFLOAT_MATRIX)
        if "@air.simdgroup_matrix" in line and "bf16" in line:
            start = line.index("(", line.index("@air."))
            line = line[:start] + _OPERAND.sub(lambda m: _converted(m, out), line[start:])
        out.append(line)
    return out


def _converted(match: re.Match[str], out: list[str]) -> str:
    pointer, value = match[1] or "", match[2]
    name = f"%bfloat{len(out)}"
    out.append(f"  {name} = bitcast i16{pointer} {value} to bfloat{pointer}")
    return f"bfloat{pointer} {name}"
