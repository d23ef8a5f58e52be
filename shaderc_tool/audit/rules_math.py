"""SP4071: the math mode that the bitcode records against the manifest's `math:`."""

from __future__ import annotations

from shaderc_tool.diagnostics import Diagnostic, Place
from shaderc_tool.formats.air import AirModule
from shaderc_tool.manifest.model import MetalFunction, MetalUnit


def check_math(function: MetalFunction, unit: MetalUnit, module: AirModule) -> list[Diagnostic]:
    """An error when fast math is on and was not asked for. Bitcode that does not say is not judged."""
    if unit.math == "fast" or not module.fast_math:
        return []
    return [
        Diagnostic(
            "SP4071",
            f"{function.name} is compiled with fast math, the manifest says math: {unit.math}",
            Place(unit.file),
            cause="fast math drops NaN, infinity and signed zero, and changes results between compilers",
            fix="compile with -fno-fast-math; if fast math is meant, write `math: fast`",
            subject=function.name,
        )
    ]
