"""Integer functions of Metal (MSL specification, chapter "Integer Functions"), elementwise on any vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from shaderc_tool.verify.air_cpu.intrinsics.signature import Body, Shape, Signature

Model = Callable[..., str]


def _intrinsic(name: str, tail: str = "") -> Model:
    """An `llvm.*` intrinsic; `{s}` is s or u after the signedness."""

    def model(body: Body, kind: Shape, signed: bool, *args: str) -> str:
        full = f"llvm.{name.format(s='s' if signed else 'u')}.{kind.scalar}"
        extra = [("i1", tail)] if tail else []
        return body.call(kind.scalar, full, *((kind.scalar, arg) for arg in args), *extra)

    return model


_MIN: Final = _intrinsic("{s}min")
_MAX: Final = _intrinsic("{s}max")


def _abs(body: Body, kind: Shape, signed: bool, x: str) -> str:
    return _intrinsic("abs", "false")(body, kind, signed, x) if signed else x


def _abs_diff(body: Body, kind: Shape, signed: bool, a: str, b: str) -> str:
    high, low = _MAX(body, kind, signed, a, b), _MIN(body, kind, signed, a, b)
    return body.op(f"sub {kind.scalar} {high}, {low}")


def _clamp(body: Body, kind: Shape, signed: bool, x: str, low: str, high: str) -> str:
    return _MIN(body, kind, signed, _MAX(body, kind, signed, x, low), high)


def _three(pick: Model) -> Model:
    return lambda body, kind, signed, a, b, c: pick(body, kind, signed, pick(body, kind, signed, a, b), c)


def _median(body: Body, kind: Shape, signed: bool, a: str, b: str, c: str) -> str:
    low, high = _MIN(body, kind, signed, a, b), _MAX(body, kind, signed, a, b)
    return _MAX(body, kind, signed, low, _MIN(body, kind, signed, high, c))


def _wide(body: Body, kind: Shape, signed: bool, value: str) -> str:
    return body.op(f"{'sext' if signed else 'zext'} {kind.scalar} {value} to i{kind.bits * 2}")


def _mul_hi(body: Body, kind: Shape, signed: bool, a: str, b: str) -> str:
    wide = f"i{kind.bits * 2}"
    left, right = _wide(body, kind, signed, a), _wide(body, kind, signed, b)
    product = body.op(f"mul {wide} {left}, {right}")
    return body.op(f"trunc {wide} {body.op(f'lshr {wide} {product}, {kind.bits}')} to {kind.scalar}")


def _mad_hi(body: Body, kind: Shape, signed: bool, a: str, b: str, c: str) -> str:
    return body.op(f"add {kind.scalar} {_mul_hi(body, kind, signed, a, b)}, {c}")


def _mad_sat(body: Body, kind: Shape, signed: bool, a: str, b: str, c: str) -> str:
    wide = Shape(f"i{kind.bits * 2}")
    left, right, plus = (_wide(body, kind, signed, value) for value in (a, b, c))
    product = body.op(f"mul {wide.scalar} {left}, {right}")
    total = body.op(f"add {wide.scalar} {product}, {plus}")
    low = -(1 << (kind.bits - 1)) if signed else 0
    high = (1 << (kind.bits - 1)) - 1 if signed else (1 << kind.bits) - 1
    return body.op(f"trunc {wide.scalar} {_clamp(body, wide, signed, total, str(low), str(high))} to {kind.scalar}")


def _average(up: int) -> Model:
    """hadd and rhadd: (a + b + up) / 2 without overflow."""

    def model(body: Body, kind: Shape, signed: bool, a: str, b: str) -> str:
        wide = f"i{kind.bits * 2}"
        left, right = _wide(body, kind, signed, a), _wide(body, kind, signed, b)
        total = body.op(f"add {wide} {body.op(f'add {wide} {left}, {right}')}, {up}")
        return body.op(f"trunc {wide} {body.op(f'lshr {wide} {total}, 1')} to {kind.scalar}")

    return model


def _low24(body: Body, kind: Shape, signed: bool, value: str) -> str:
    up = body.op(f"shl {kind.scalar} {value}, 8")
    return body.op(f"{'ashr' if signed else 'lshr'} {kind.scalar} {up}, 8")


def _mul24(body: Body, kind: Shape, signed: bool, a: str, b: str) -> str:
    left, right = _low24(body, kind, signed, a), _low24(body, kind, signed, b)
    return body.op(f"mul {kind.scalar} {left}, {right}")


def _mad24(body: Body, kind: Shape, signed: bool, a: str, b: str, c: str) -> str:
    return body.op(f"add {kind.scalar} {_mul24(body, kind, signed, a, b)}, {c}")


def _rotate(body: Body, kind: Shape, signed: bool, x: str, by: str) -> str:
    args = ((kind.scalar, x), (kind.scalar, x), (kind.scalar, by))
    return body.call(kind.scalar, f"llvm.fshl.{kind.scalar}", *args)


# family → (number of operands of the value's own type, model)
ELEMENTWISE: Final[dict[str, tuple[int, Model]]] = {
    "abs": (1, _abs),
    "abs_diff": (2, _abs_diff),
    "add_sat": (2, _intrinsic("{s}add.sat")),
    "bswap": (1, _intrinsic("bswap")),
    "clamp": (3, _clamp),
    "hadd": (2, _average(0)),
    "mad24": (3, _mad24),
    "mad_hi": (3, _mad_hi),
    "mad_sat": (3, _mad_sat),
    "max": (2, _MAX),
    "max3": (3, _three(_MAX)),
    "median3": (3, _median),
    "min": (2, _MIN),
    "min3": (3, _three(_MIN)),
    "mul24": (2, _mul24),
    "mul_hi": (2, _mul_hi),
    "popcount": (1, _intrinsic("ctpop")),
    "reverse_bits": (1, _intrinsic("bitreverse")),
    "rhadd": (2, _average(1)),
    "rotate": (2, _rotate),
    "sub_sat": (2, _intrinsic("{s}sub.sat")),
}


def model(sig: Signature, body: Body) -> str | None:
    """The value of an integer function of `%a0`, `%a1`, …; None when the family is not one."""
    if not sig.shapes or sig.shapes[0].is_float:
        return None
    kind = sig.shapes[0]
    names = [f"%a{index}" for index in range(len(sig.params))]
    known = ELEMENTWISE.get(sig.family)
    if known and known[0] == len(names) and all(param == kind.ir for param in sig.params):
        return body.each(kind, names, lambda *values: known[1](body, kind, sig.signed, *values))
    if sig.family in ("clz", "ctz") and sig.params == (kind.ir, "i1"):
        count = _intrinsic("ctlz" if sig.family == "clz" else "cttz", "false")
        return body.each(kind, names[:1], lambda value: count(body, kind, False, value))
    if sig.family == "extract_bits" and sig.params == (kind.ir, "i32", "i32"):
        return body.each(kind, names[:1], lambda value: _extract_bits(sig, body, kind, value))
    if sig.family == "insert_bits" and sig.params == (kind.ir, kind.ir, "i32", "i32"):
        return body.each(kind, names[:2], lambda base, new: _insert_bits(body, kind, base, new))
    return None


def _to_width(body: Body, kind: Shape, value: str) -> str:
    if kind.bits == 32:
        return value
    return body.op(f"{'trunc' if kind.bits < 32 else 'zext'} i32 {value} to {kind.scalar}")


def _extract_bits(sig: Signature, body: Body, kind: Shape, value: str) -> str:
    """`bits` bits from `offset`, sign-extended for signed types; no bits give 0."""
    offset, bits = _to_width(body, kind, "%a1"), _to_width(body, kind, "%a2")
    unused = body.op(f"sub {kind.scalar} {kind.bits}, {bits}")
    lead = body.op(f"sub {kind.scalar} {unused}, {offset}")
    up = body.op(f"shl {kind.scalar} {value}, {lead}")
    down = body.op(f"{'ashr' if sig.signed else 'lshr'} {kind.scalar} {up}, {unused}")
    none = body.op(f"icmp eq {kind.scalar} {bits}, 0")
    return body.op(f"select i1 {none}, {kind.scalar} 0, {kind.scalar} {down}")


def _insert_bits(body: Body, kind: Shape, base: str, new: str) -> str:
    offset, bits = _to_width(body, kind, "%a2"), _to_width(body, kind, "%a3")
    unused = body.op(f"sub {kind.scalar} {kind.bits}, {bits}")
    ones = body.op(f"lshr {kind.scalar} -1, {unused}")
    mask = body.op(f"shl {kind.scalar} {ones}, {offset}")
    placed = body.op(f"and {kind.scalar} {body.op(f'shl {kind.scalar} {new}, {offset}')}, {mask}")
    kept = body.op(f"and {kind.scalar} {base}, {body.op(f'xor {kind.scalar} {mask}, -1')}")
    merged = body.op(f"or {kind.scalar} {kept}, {placed}")
    none = body.op(f"icmp eq {kind.scalar} {bits}, 0")
    return body.op(f"select i1 {none}, {kind.scalar} {base}, {kind.scalar} {merged}")
