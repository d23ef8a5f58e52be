"""The diagnostics and sources that the report tests render."""

from __future__ import annotations

from typing import Final

from shaderc_tool.diagnostics import Diagnostic, Place, Related, Severity

SOURCES: Final = {
    "vulkan/turbo3.comp": "#version 450\nvoid main() {\n\tfoo = 1.0; // hé\n}\n",
    "metal/a b/turbo3.metal": "kernel void f(device float4 *x) {\n}\n",
}


def read(file: str) -> str | None:
    return SOURCES.get(file)


FULL: Final = Diagnostic(
    "SP1002",
    "unknown key 'foo'",
    Place("vulkan/turbo3.comp", 3, 2),
    cause="'foo' is not a key,\nand 'bar' is",
    fix="rename it",
    subject="milady_turbo3",
    related=(Related(Place("vulkan/turbo3.comp", 2, 6), "the kernel"), Related(Place("x.h", 7), "50% of it")),
    detail="tool says: a,b\n  more\n",
)
PLAIN: Final = Diagnostic("SP1003", "missing key 'pack'", Place("a.yaml"), severity=Severity.WARNING)
NOWHERE: Final = Diagnostic("SP1001", "something", severity=Severity.NOTE)
ALL: Final = (FULL, PLAIN, NOWHERE)
