"""Models of the `air.*` functions that kernels call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from shaderc_tool.verify.air_cpu.intrinsics import (
    atomics,
    conversions,
    floats,
    integers,
    lanes,
    matrices,
)
from shaderc_tool.verify.air_cpu.intrinsics.signature import BF16_ROUND, BF16_ROUND_NAME, Body, Signature, signature

__all__ = ["BARRIER", "BF16_ROUND", "BF16_ROUND_NAME", "Definition", "define", "signature"]

BARRIER: Final = "wg.barrier"


@dataclass(frozen=True)
class Definition:
    """The IR that stands in for one `air.*` function.

    A `pure` one replaces the declaration. The others take the call site's number first, and when `pointer` is not -1
    the low and high bound of the buffer that operand `pointer` belongs to; calls must be rewritten to `symbol`.
    """

    signature: Signature
    symbol: str
    text: str
    pure: bool = False
    pointer: int = -1


def define(sig: Signature) -> Definition | None:
    """The definition of one AIR function, or None when it is not modelled."""
    body = Body()
    value = floats.model(sig, body) or integers.model(sig, body) or conversions.model(sig, body)
    if value is not None:
        head = f"define internal {sig.result} @{sig.name}({_parameters(sig)}) alwaysinline nounwind {{"
        lines = [*sorted(body.declares), head, *body.lines, f"  ret {sig.result} {value}", "}"]
        return Definition(sig, sig.name, "\n".join(lines), pure=True)
    if sig.family == BARRIER and sig.result == "void":
        built: tuple[list[str], str] | None = _BARRIER_BODY, ""
    else:
        built = lanes.model(sig) or atomics.model(sig) or matrices.model(sig)
    if built is None:
        return None
    lines, helper = built
    pointer = matrices.pointer_position(sig) if matrices.is_memory(sig) else -1
    extra = "i32 %site, i64 %low, i64 %high" if pointer >= 0 else "i32 %site"
    symbol = f"spk.site.{sig.name}"
    params = f"{extra}, {_parameters(sig)}" if sig.params else extra
    head = f"define internal {sig.result} @{symbol}({params}) noinline convergent nomerge nounwind {{"
    return Definition(sig, symbol, "\n".join([helper, head, *lines, "}"]), pointer=pointer)


_BARRIER_BODY: Final = [
    "  call void @spk.block(i32 2, i32 %site, i8* null, i8* null) convergent",
    "  ret void",
]


def _parameters(sig: Signature) -> str:
    return ", ".join(f"{kind} %a{index}" for index, kind in enumerate(sig.params))
