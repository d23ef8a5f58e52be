"""Floating-point functions of Metal (MSL specification, chapter "Math Functions"), elementwise on any vector.

half and bfloat are computed in float and rounded once. `fast_` and `precise_` variants share one model: the C
library's function, which is at least as accurate as Metal asks for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from shaderc_tool.verify.air_cpu.intrinsics.signature import Body, Shape, Signature, float_constant

Model = Callable[..., str]
F32: Final = Shape("f32")


def _libm(name: str) -> Model:
    return lambda body, *args: body.call("float", name, *(("float", arg) for arg in args))


def _op(text: str) -> Model:
    return lambda body, *args: body.op(text.format(*args))


def _scaled(name: str, factor: float) -> Model:
    """`name(x · factor)` with the product in double, for sinpi and its kin."""

    def model(body: Body, x: str) -> str:
        wide = body.op(f"fpext float {x} to double")
        product = body.op(f"fmul double {wide}, {_double(factor)}")
        return body.op(f"fptrunc double {body.call('double', name, ('double', product))} to float")

    return model


def _double(value: float) -> str:
    import struct

    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def _rsqrt(body: Body, x: str) -> str:
    return body.op(f"fdiv float 1.0, {body.call('float', 'llvm.sqrt.f32', ('float', x))}")


def _fract(body: Body, x: str) -> str:
    floor = body.call("float", "llvm.floor.f32", ("float", x))
    part = body.op(f"fsub float {x}, {floor}")
    return _minimum(body, part, float_constant(1.0 - 2.0**-24))


def _minimum(body: Body, a: str, b: str) -> str:
    return body.call("float", "llvm.minnum.f32", ("float", a), ("float", b))


def _maximum(body: Body, a: str, b: str) -> str:
    return body.call("float", "llvm.maxnum.f32", ("float", a), ("float", b))


def _clamp(body: Body, x: str, low: str, high: str) -> str:
    return _minimum(body, _maximum(body, x, low), high)


def _saturate(body: Body, x: str) -> str:
    return _clamp(body, x, "0.0", "1.0")


def _median(body: Body, a: str, b: str, c: str) -> str:
    low, high = _minimum(body, a, b), _maximum(body, a, b)
    return _maximum(body, low, _minimum(body, high, c))


def _mix(body: Body, a: str, b: str, t: str) -> str:
    rise = body.op(f"fmul float {body.op(f'fsub float {b}, {a}')}, {t}")
    return body.op(f"fadd float {a}, {rise}")


def _step(body: Body, edge: str, x: str) -> str:
    less = body.op(f"fcmp olt float {x}, {edge}")
    return body.op(f"select i1 {less}, float 0.0, float 1.0")


def _smoothstep(body: Body, low: str, high: str, x: str) -> str:
    span = body.op(f"fsub float {high}, {low}")
    t = _saturate(body, body.op(f"fdiv float {body.op(f'fsub float {x}, {low}')}, {span}"))
    weight = body.op(f"fsub float 3.0, {body.op(f'fmul float 2.0, {t}')}")
    return body.op(f"fmul float {body.op(f'fmul float {t}, {t}')}, {weight}")


def _sign(body: Body, x: str) -> str:
    one = body.call("float", "llvm.copysign.f32", ("float", "1.0"), ("float", x))
    ordered = body.op(f"fcmp one float {x}, 0.0")
    zero = body.op(f"fcmp oeq float {x}, 0.0")
    kept = body.op(f"select i1 {zero}, float {x}, float 0.0")
    return body.op(f"select i1 {ordered}, float {one}, float {kept}")


def _exp10(body: Body, x: str) -> str:
    return body.call("float", "powf", ("float", "10.0"), ("float", x))


# family → (number of operands, model on floats)
ELEMENTWISE: Final[dict[str, tuple[int, Model]]] = {
    **{
        name: (1, _libm(f"{name}f"))
        for name in (
            "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "exp2",
            "log", "log2", "log10", "sin", "sinh", "tan", "tanh",
        )
    },
    **{
        name: (1, _libm(f"llvm.{llvm}.f32"))
        for name, llvm in (
            ("ceil", "ceil"), ("fabs", "fabs"), ("floor", "floor"), ("rint", "rint"),
            ("round", "round"), ("sqrt", "sqrt"), ("trunc", "trunc"),
        )
    },
    "atan2": (2, _libm("atan2f")),
    "copysign": (2, _libm("llvm.copysign.f32")),
    "cospi": (1, _scaled("cos", math.pi)),
    "divide": (2, _op("fdiv float {0}, {1}")),
    "exp10": (1, _exp10),
    "fdim": (2, _libm("fdimf")),
    "fma": (3, _libm("llvm.fma.f32")),
    "fmax": (2, _maximum),
    "fmax3": (3, lambda body, a, b, c: _maximum(body, _maximum(body, a, b), c)),
    "fmedian3": (3, _median),
    "fmin": (2, _minimum),
    "fmin3": (3, lambda body, a, b, c: _minimum(body, _minimum(body, a, b), c)),
    "fmod": (2, _op("frem float {0}, {1}")),
    "frac": (1, _fract),
    "fract": (1, _fract),
    "mix": (3, _mix),
    "nextafter": (2, _libm("nextafterf")),
    "pow": (2, _libm("powf")),
    "powr": (2, _libm("powf")),
    "recip": (1, _op("fdiv float 1.0, {0}")),
    "rsqrt": (1, _rsqrt),
    "saturate": (1, _saturate),
    "sign": (1, _sign),
    "sinpi": (1, _scaled("sin", math.pi)),
    "smoothstep": (3, _smoothstep),
    "step": (2, _step),
    "tanpi": (1, _scaled("tan", math.pi)),
}  # fmt: skip


def model(sig: Signature, body: Body) -> str | None:
    """The value of a floating-point function of `%0`, `%1`, …; None when the family is not one."""
    if not sig.shapes or not sig.shapes[0].is_float:
        return None
    kind = sig.shapes[0]
    names = [f"%a{index}" for index in range(len(sig.params))]
    if sig.family == "clamp" and len(names) == 3:
        return _elementwise(body, kind, names, _clamp)
    known = ELEMENTWISE.get(sig.family)
    if known and known[0] == len(names) and all(param == kind.ir for param in sig.params):
        return _elementwise(body, kind, names, known[1])
    special = _SPECIAL.get(sig.family)
    return special(sig, body, kind, names) if special else None


def _elementwise(body: Body, kind: Shape, names: list[str], compute: Model) -> str:
    def one(*values: str) -> str:
        return body.narrow(kind, compute(body, *(body.widen(kind, value) for value in values)))

    return body.each(kind, names, one)


def _ldexp(sig: Signature, body: Body, kind: Shape, names: list[str]) -> str:
    powers = Shape("i32", kind.lanes)

    def one(lane: int) -> str:
        x = body.widen(kind, body.extract(kind, names[0], lane))
        power = body.extract(powers, names[1], lane)
        return body.narrow(kind, body.call("float", "ldexpf", ("float", x), ("i32", power)))

    return body.collect(kind, [one(lane) for lane in range(max(1, kind.lanes))])


def _second_result(function: str, stored: str) -> Callable[[Signature, Body, Shape, list[str]], str]:
    """frexp and modf: the C function with a pointer to a local, whose value goes through the AIR pointer."""

    def build(sig: Signature, body: Body, kind: Shape, names: list[str]) -> str:
        extra = Shape("i32", kind.lanes) if stored == "i32" else kind
        first, second = [], []
        for lane in range(max(1, kind.lanes)):
            place = body.op(f"alloca {stored}")
            x = body.widen(kind, body.extract(kind, names[0], lane))
            first.append(body.narrow(kind, body.call("float", function, ("float", x), (f"{stored}*", place))))
            value = body.op(f"load {stored}, {stored}* {place}")
            second.append(value if stored == "i32" else body.narrow(kind, value))
        body.do(f"store {extra.ir} {body.collect(extra, second)}, {sig.params[1]} {names[1]}")
        return body.collect(kind, first)

    return build


def _sincos(sig: Signature, body: Body, kind: Shape, names: list[str]) -> str:
    cosine = _elementwise(body, kind, names[:1], _libm("cosf"))
    body.do(f"store {kind.ir} {cosine}, {sig.params[1]} {names[1]}")
    return _elementwise(body, kind, names[:1], _libm("sinf"))


def _ilogb(sig: Signature, body: Body, kind: Shape, names: list[str]) -> str:
    lanes = range(max(1, kind.lanes))
    values = [
        body.call("i32", "ilogbf", ("float", body.widen(kind, body.extract(kind, names[0], lane)))) for lane in lanes
    ]
    return body.collect(Shape("i32", kind.lanes), values)


def _dot(sig: Signature, body: Body, kind: Shape, names: list[str]) -> str:
    total = ""
    for lane in range(kind.lanes):
        a, b = (body.widen(kind, body.extract(kind, name, lane)) for name in names)
        product = body.op(f"fmul float {a}, {b}")
        total = body.op(f"fadd float {total}, {product}") if total else product
    return body.narrow(kind, total)


_SPECIAL: Final = {
    "dot": _dot,
    "frexp": _second_result("frexpf", "i32"),
    "ilogb": _ilogb,
    "ldexp": _ldexp,
    "modf": _second_result("modff", "float"),
    "sincos": _sincos,
}
