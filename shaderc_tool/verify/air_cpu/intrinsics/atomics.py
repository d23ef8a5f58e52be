"""Atomic functions. All fibers share one operating-system thread, so plain memory operations are atomic.

They are volatile, so that a loop that waits for another thread really reads again, and each ends in
`@spk.atomic.done`, which lets other threads run from time to time.
"""

from __future__ import annotations

import re
from typing import Final

from shaderc_tool.verify.air_cpu.intrinsics.signature import Body, Shape, Signature

_NAME: Final = re.compile(r"atomic\.(?:global|local)\.([a-z.]+)\Z")
_INTEGER: Final = {"add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor"}


def model(sig: Signature) -> tuple[list[str], str] | None:
    """(body, helper text) of an atomic function; None when the family is not one."""
    if sig.family == "atomic.fence":
        return ["  ret void"], ""
    name = _NAME.match(sig.family)
    if not name or len(sig.shapes) != 1 or sig.shapes[0].lanes:
        return None
    kind, word = sig.shapes[0], name.group(1)
    body = Body()
    pointer = f"{sig.params[0]} %a0"
    if word == "load" and sig.params[1:] == ("i32", "i32", "i1"):
        old = body.op(f"load volatile {kind.ir}, {pointer}")
        changed = "false"
    elif word == "cmpxchg.weak" and len(sig.params) == 7:
        old, changed = _compare_exchange(body, kind, sig)
    elif sig.params[1:2] == (kind.ir,) and len(sig.params) == 5:
        old = body.op(f"load volatile {kind.ir}, {pointer}")
        new = _update(body, kind, word, sig.signed, old)
        if not new:
            return None
        body.do(f"store volatile {kind.ir} {new}, {pointer}")
        changed = _differs(body, kind, old, new)
    else:
        return None
    body.do(f"call void @spk.atomic.done(i1 {changed}, i32 %site)")
    body.do("ret void" if sig.result == "void" else f"ret {kind.ir} {old}")
    return body.lines, "\n".join(sorted(body.declares))


def _update(body: Body, kind: Shape, word: str, signed: bool, old: str) -> str:
    if word in ("store", "xchg"):
        return "%a1"
    if word in ("min", "max"):
        name = f"llvm.{word}num" if kind.is_float else f"llvm.{'s' if signed else 'u'}{word}"
        return body.call(kind.ir, f"{name}.{kind.scalar}", (kind.ir, old), (kind.ir, "%a1"))
    if kind.is_float:
        return body.op(f"f{word} {kind.ir} {old}, %a1") if word in ("add", "sub") else ""
    return body.op(f"{_INTEGER[word]} {kind.ir} {old}, %a1") if word in _INTEGER else ""


def _differs(body: Body, kind: Shape, a: str, b: str) -> str:
    if not kind.is_float:
        return body.op(f"icmp ne {kind.ir} {a}, {b}")
    bits = f"i{kind.bits}"
    left, right = (body.op(f"bitcast {kind.ir} {value} to {bits}") for value in (a, b))
    return body.op(f"icmp ne {bits} {left}, {right}")


def _compare_exchange(body: Body, kind: Shape, sig: Signature) -> tuple[str, str]:
    """`old = *p; if (old == *expected) *p = desired; *expected = old`, compared bit by bit."""
    old = body.op(f"load volatile {kind.ir}, {sig.params[0]} %a0")
    expected = body.op(f"load {kind.ir}, {sig.params[1]} %a1")
    failed = _differs(body, kind, old, expected)
    new = body.op(f"select i1 {failed}, {kind.ir} {old}, {kind.ir} %a2")
    body.do(f"store volatile {kind.ir} {new}, {sig.params[0]} %a0")
    body.do(f"store {kind.ir} {old}, {sig.params[1]} %a1")
    return old, _differs(body, kind, old, new)
