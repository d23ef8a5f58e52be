"""Conversions between number types, packed formats, and the small fixed answers (simdgroup size, uniformity)."""

from __future__ import annotations

from typing import Final

from shaderc_tool.verify.air_cpu.intrinsics.signature import Body, Shape, Signature, float_constant


def model(sig: Signature, body: Body) -> str | None:
    """The value of a conversion or constant function; None when the family is neither."""
    if sig.family == "convert" and len(sig.shapes) == 2 and len(sig.signs) == 2:
        return _convert(sig, body)
    if sig.family.startswith(("pack.", "unpack.")):
        return _packed(sig, body)
    if sig.family == "normalize_function_constant_predicate" and sig.params == ("i8",):
        return body.op(f"zext i1 {body.op('icmp ne i8 %a0, 0')} to i8")
    if sig.family in _WIDTHS and not sig.params:
        return body.op(f"add {sig.result} 0, {_WIDTHS[sig.family]}")
    if sig.family == "is_uniform" and sig.result == "i1":
        # A hint to the compiler: "every lane has this value". False is always a right answer.
        return body.op("and i1 false, false")
    return None


_WIDTHS: Final = {"get_simdgroup_size": 32, "get_quadgroup_size": 4}


def _convert(sig: Signature, body: Body) -> str | None:
    target, source = sig.shapes
    to_sign, from_sign = sig.signs
    if target.lanes != source.lanes or sig.params != (source.ir,):
        return None
    lanes = range(max(1, source.lanes))
    values = [_one(body, target, to_sign, source, from_sign, body.extract(source, "%a0", i)) for i in lanes]
    return body.collect(target, values)


def _one(body: Body, target: Shape, to_sign: str, source: Shape, from_sign: str, value: str) -> str:
    if from_sign == "f":
        wide = body.widen(source, value)
        if to_sign == "f":
            return body.narrow(target, wide)
        if target.scalar == "i1":  # C++: true for everything but zero
            return body.op(f"fcmp une float {wide}, 0.0")
        # Out of range is undefined in C++; GPUs saturate.
        return body.call(target.scalar, f"llvm.fpto{to_sign}i.sat.{target.scalar}.f32", ("float", wide))
    if to_sign == "f":
        if target.scalar == "bf16":  # by way of double, so that the value is rounded once
            return _to_bfloat(body, source, from_sign, value)
        return body.op(f"{from_sign}itofp {source.scalar} {value} to {target.element}")
    if target.scalar == "i1":
        return body.op(f"icmp ne {source.scalar} {value}, 0")
    if target.bits == source.bits:
        return value
    word = "trunc" if target.bits < source.bits else "sext" if from_sign == "s" else "zext"
    return body.op(f"{word} {source.scalar} {value} to {target.scalar}")


def _to_bfloat(body: Body, source: Shape, sign: str, value: str) -> str:
    """Round an integer to bfloat. Bits below float's precision are folded into its last bit (round to odd)."""
    exact = body.op(f"{sign}itofp {source.scalar} {value} to double")
    single = body.op(f"fptrunc double {exact} to float")
    back = body.op(f"fpext float {single} to double")
    inexact = body.op(f"fcmp one double {back}, {exact}")
    bits = body.op(f"bitcast float {single} to i32")
    magnitude = body.call("double", "llvm.fabs.f64", ("double", back))
    wanted = body.call("double", "llvm.fabs.f64", ("double", exact))
    above = body.op(f"fcmp ogt double {magnitude}, {wanted}")
    below = body.op(f"sub i32 {bits}, {body.op(f'zext i1 {above} to i32')}")
    odd = body.op(f"or i32 {below}, {body.op(f'zext i1 {inexact} to i32')}")
    return body.narrow(Shape("bf16"), body.op(f"bitcast i32 {odd} to float"))


# format → bits of each field from the least significant bit
_FIELDS: Final = {
    "snorm4x8": (8, 8, 8, 8),
    "unorm4x8": (8, 8, 8, 8),
    "snorm2x16": (16, 16),
    "unorm2x16": (16, 16),
    "unorm.rgb10a2": (10, 10, 10, 2),
    "snorm1x8": (8,),
    "unorm1x8": (8,),
    "snorm1x16": (16,),
    "unorm1x16": (16,),
}


def _packed(sig: Signature, body: Body) -> str | None:
    word, _, layout = sig.family.partition(".")
    fields = _FIELDS.get(layout)
    if not fields or len(sig.shapes) != 1 or max(1, sig.shapes[0].lanes) != len(fields):
        return None
    signed = layout.startswith("s")
    return (_pack if word == "pack" else _unpack)(sig, body, fields, signed)


def _scale(bits: int, signed: bool) -> str:
    return float_constant(float((1 << (bits - signed)) - 1))


def _pack(sig: Signature, body: Body, fields: tuple[int, ...], signed: bool) -> str:
    kind = sig.shapes[0]
    total = "0"
    shift = 0
    for lane, bits in enumerate(fields):
        x = body.widen(kind, body.extract(kind, "%a0", lane))
        low = "-1.0" if signed else "0.0"
        above = body.call("float", "llvm.maxnum.f32", ("float", x), ("float", low))
        clamped = body.call("float", "llvm.minnum.f32", ("float", above), ("float", "1.0"))
        scaled = body.op(f"fmul float {clamped}, {_scale(bits, signed)}")
        whole = body.op(f"fptosi float {body.call('float', 'llvm.rint.f32', ('float', scaled))} to i32")
        part = body.op(f"shl i32 {body.op(f'and i32 {whole}, {(1 << bits) - 1}')}, {shift}")
        total = body.op(f"or i32 {total}, {part}")
        shift += bits
    return total if sig.result == "i32" else body.op(f"trunc i32 {total} to {sig.result}")


def _unpack(sig: Signature, body: Body, fields: tuple[int, ...], signed: bool) -> str:
    kind = sig.shapes[0]
    word = "%a0" if sig.params[0] == "i32" else body.op(f"zext {sig.params[0]} %a0 to i32")
    values = []
    shift = 0
    for bits in fields:
        up = body.op(f"shl i32 {word}, {32 - bits - shift}")
        part = body.op(f"{'ashr' if signed else 'lshr'} i32 {up}, {32 - bits}")
        whole = body.op(f"{'s' if signed else 'u'}itofp i32 {part} to float")
        value = body.op(f"fdiv float {whole}, {_scale(bits, signed)}")
        if signed:  # the most negative code means -1 as well
            value = body.call("float", "llvm.maxnum.f32", ("float", value), ("float", "-1.0"))
        values.append(body.narrow(kind, value))
        shift += bits
    return body.collect(kind, values)
