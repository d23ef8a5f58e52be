"""Every modelled function against NumPy, Python's math module or plain integer arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.verify.air_call import call, families, from_bfloat, to_bfloat

RNG = np.random.default_rng(7)
N = 64

ANY = (-4.0, 4.0)
POSITIVE = (0.05, 8.0)
UNIT = (-0.99, 0.99)

UNARY: dict[str, tuple[tuple[float, float], Callable[[Any], Any]]] = {
    "acos": (UNIT, np.arccos),
    "acosh": ((1.05, 9.0), np.arccosh),
    "asin": (UNIT, np.arcsin),
    "asinh": (ANY, np.arcsinh),
    "atan": (ANY, np.arctan),
    "atanh": (UNIT, np.arctanh),
    "ceil": (ANY, np.ceil),
    "cos": (ANY, np.cos),
    "cosh": (ANY, np.cosh),
    "cospi": (ANY, lambda x: np.cos(np.pi * x)),
    "exp": (ANY, np.exp),
    "exp2": (ANY, np.exp2),
    "exp10": (ANY, lambda x: 10.0**x),
    "fabs": (ANY, np.abs),
    "floor": (ANY, np.floor),
    "fract": (ANY, lambda x: np.minimum(x - np.floor(x), 1 - 2.0**-24)),
    "frac": (ANY, lambda x: np.minimum(x - np.floor(x), 1 - 2.0**-24)),
    "log": (POSITIVE, np.log),
    "log2": (POSITIVE, np.log2),
    "log10": (POSITIVE, np.log10),
    "recip": (POSITIVE, lambda x: 1 / x),
    "rint": (ANY, np.rint),
    "round": (ANY, lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5)),
    "rsqrt": (POSITIVE, lambda x: 1 / np.sqrt(x)),
    "saturate": (ANY, lambda x: np.clip(x, 0, 1)),
    "sign": (ANY, np.sign),
    "sin": (ANY, np.sin),
    "sinh": (ANY, np.sinh),
    "sinpi": (ANY, lambda x: np.sin(np.pi * x)),
    "sqrt": (POSITIVE, np.sqrt),
    "tan": ((-1.4, 1.4), np.tan),
    "tanh": (ANY, np.tanh),
    "tanpi": ((-0.4, 0.4), lambda x: np.tan(np.pi * x)),
    "trunc": (ANY, np.trunc),
}


def _median(a: Any, b: Any, c: Any) -> Any:
    return np.sort(np.stack([a, b, c]), axis=0)[1]


MANY: dict[str, tuple[int, tuple[float, float], Callable[..., Any]]] = {
    "atan2": (2, ANY, np.arctan2),
    "clamp": (3, ANY, lambda x, low, high: np.minimum(np.maximum(x, low), high)),
    "copysign": (2, ANY, np.copysign),
    "divide": (2, POSITIVE, np.divide),
    "fdim": (2, ANY, lambda a, b: np.maximum(a - b, 0)),
    "fma": (3, ANY, lambda a, b, c: a * b + c),
    "fmax": (2, ANY, np.maximum),
    "fmax3": (3, ANY, lambda a, b, c: np.maximum(np.maximum(a, b), c)),
    "fmedian3": (3, ANY, _median),
    "fmin": (2, ANY, np.minimum),
    "fmin3": (3, ANY, lambda a, b, c: np.minimum(np.minimum(a, b), c)),
    "fmod": (2, POSITIVE, np.fmod),
    "mix": (3, ANY, lambda a, b, t: a + (b - a) * t),
    "nextafter": (2, ANY, lambda a, b: np.nextafter(np.float32(a), np.float32(b)).astype(np.float64)),
    "pow": (2, POSITIVE, np.power),
    "powr": (2, POSITIVE, np.power),
    "step": (2, ANY, lambda edge, x: np.where(x < edge, 0.0, 1.0)),
}


def _floats(limits: tuple[float, float], count: int = N) -> NDArray[np.float32]:
    return RNG.uniform(*limits, count).astype(np.float32)


def _check_float(name: str, args: list[NDArray[np.float32]], reference: Callable[..., Any]) -> None:
    wide = np.asarray(reference(*(arg.astype(np.float64) for arg in args)))
    out = call(f"air.{name}.f32", "float", ["float"] * len(args), list(args), np.zeros(N, np.float32))
    np.testing.assert_allclose(out, wide, rtol=3e-6, atol=2e-7)


@pytest.mark.parametrize("name", sorted(UNARY))
def test_unary_float(name: str) -> None:
    limits, reference = UNARY[name]
    _check_float(name, [_floats(limits)], reference)


@pytest.mark.parametrize("name", sorted(MANY))
def test_float_of_several(name: str) -> None:
    count, limits, reference = MANY[name]
    _check_float(name, [_floats(limits) for _ in range(count)], reference)


def test_smoothstep() -> None:
    low, high, x = np.full(N, -1, np.float32), np.full(N, 2, np.float32), _floats((-2, 3))

    def reference(a: Any, b: Any, v: Any) -> Any:
        t = np.clip((v - a) / (b - a), 0, 1)
        return t * t * (3 - 2 * t)

    _check_float("smoothstep", [low, high, x], reference)


@pytest.mark.parametrize("name", ["fast_exp", "precise_exp"])
def test_fast_and_precise_variants(name: str) -> None:
    _check_float(name, [_floats(ANY)], np.exp)


def test_half_is_computed_in_float_and_rounded_once() -> None:
    x = _floats(ANY).astype(np.float16)
    out = call("air.exp.f16", "half", ["half"], [x], np.zeros(N, np.float16))
    np.testing.assert_array_equal(out, np.exp(x.astype(np.float32)).astype(np.float16))


def test_bfloat_function() -> None:
    x = to_bfloat(_floats(POSITIVE))
    out = call("air.sqrt.bf16", "bfloat", ["bfloat"], [x], np.zeros(N, np.uint16))
    np.testing.assert_array_equal(out, to_bfloat(np.sqrt(from_bfloat(x))))


def test_vector_function_works_on_each_element() -> None:
    x = _floats(ANY, N * 4).reshape(N, 4)
    out = call("air.fast_exp.v4f32", "<4 x float>", ["<4 x float>"], [x], np.zeros((N, 4), np.float32))
    np.testing.assert_allclose(out, np.exp(x.astype(np.float64)), rtol=3e-6)


def test_dot_product() -> None:
    a, b = (_floats(ANY, N * 4).reshape(N, 4) for _ in range(2))
    out = call("air.dot.v4f32", "float", ["<4 x float>"] * 2, [a, b], np.zeros(N, np.float32))
    np.testing.assert_allclose(out, (a.astype(np.float64) * b).sum(1), rtol=1e-5, atol=1e-5)


def test_ldexp_and_ilogb() -> None:
    x, power = _floats(POSITIVE), RNG.integers(-5, 5, N).astype(np.int32)
    out = call("air.ldexp.f32", "float", ["float", "i32"], [x, power], np.zeros(N, np.float32))
    np.testing.assert_array_equal(out, np.ldexp(x, power))
    logs = call("air.ilogb.f32", "i32", ["float"], [x], np.zeros(N, np.int32))
    np.testing.assert_array_equal(logs, np.floor(np.log2(x)).astype(np.int32))


# --- integers


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _integers(bits: int, signed: bool) -> list[int]:
    edge = [0, 1, 2, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1]
    values = edge + [int(v) for v in RNG.integers(0, 1 << min(bits, 63), N - len(edge), np.uint64)]
    return [_signed(value, bits) if signed else value for value in values]


def _limits(bits: int, signed: bool) -> tuple[int, int]:
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)


def _saturated(value: int, bits: int, signed: bool) -> int:
    low, high = _limits(bits, signed)
    return max(low, min(high, value))


def _low24(value: int, signed: bool) -> int:
    return _signed(value, 24) if signed else value & 0xFFFFFF


INTEGER: dict[str, tuple[int, Callable[..., int]]] = {
    "abs": (1, lambda b, s, x: abs(x)),
    "abs_diff": (2, lambda b, s, x, y: abs(x - y)),
    "add_sat": (2, lambda b, s, x, y: _saturated(x + y, b, s)),
    "clamp": (3, lambda b, s, x, low, high: min(max(x, low), high)),
    "hadd": (2, lambda b, s, x, y: (x + y) >> 1),
    "mad24": (3, lambda b, s, x, y, z: _low24(x, s) * _low24(y, s) + z),
    "mad_hi": (3, lambda b, s, x, y, z: (x * y >> b) + z),
    "mad_sat": (3, lambda b, s, x, y, z: _saturated(x * y + z, b, s)),
    "max": (2, lambda b, s, x, y: max(x, y)),
    "max3": (3, lambda b, s, *v: max(v)),
    "median3": (3, lambda b, s, *v: sorted(v)[1]),
    "min": (2, lambda b, s, x, y: min(x, y)),
    "min3": (3, lambda b, s, *v: min(v)),
    "mul24": (2, lambda b, s, x, y: _low24(x, s) * _low24(y, s)),
    "mul_hi": (2, lambda b, s, x, y: x * y >> b),
    "rhadd": (2, lambda b, s, x, y: (x + y + 1) >> 1),
    "sub_sat": (2, lambda b, s, x, y: _saturated(x - y, b, s)),
}


@pytest.mark.parametrize("sign", ["s", "u"])
@pytest.mark.parametrize("name", sorted(INTEGER))
def test_integer_function(name: str, sign: str) -> None:
    count, reference = INTEGER[name]
    signed = sign == "s"
    for bits in (32,) if "24" in name else (8, 32):
        columns = [_integers(bits, signed) for _ in range(count)]
        for column in columns[1:]:
            RNG.shuffle(column)
        mask = (1 << bits) - 1
        raw = [np.array([v & mask for v in column], np.uint64).astype(f"u{bits // 8}") for column in columns]
        kind = f"i{bits}"
        out = call(f"air.{name}.{sign}.{kind}", kind, [kind] * count, list(raw), np.zeros(N, f"u{bits // 8}"))
        expected = [reference(bits, signed, *row) & mask for row in zip(*columns, strict=True)]
        assert out.tolist() == expected, f"{name} at {bits} bits"


BITS: dict[str, Callable[[int], int]] = {
    "bswap": lambda x: int.from_bytes(x.to_bytes(4, "little"), "big"),
    "popcount": lambda x: bin(x).count("1"),
    "reverse_bits": lambda x: int(f"{x:032b}"[::-1], 2),
}


@pytest.mark.parametrize("name", sorted(BITS))
def test_bit_function(name: str) -> None:
    values = _integers(32, False)
    out = call(f"air.{name}.i32", "i32", ["i32"], [np.array(values, np.uint32)], np.zeros(N, np.uint32))
    assert out.tolist() == [BITS[name](value) for value in values]


def test_leading_and_trailing_zeros_of_zero_are_the_width() -> None:
    values = _integers(32, False)
    flags = np.zeros(N, np.int8)
    references: dict[str, Callable[[int], int]] = {
        "clz": lambda x: 32 - x.bit_length(),
        "ctz": lambda x: (x & -x).bit_length() - 1 if x else 32,
    }
    for name, reference in references.items():
        out = call(
            f"air.{name}.i32", "i32", ["i32", "i1"], [np.array(values, np.uint32), flags], np.zeros(N, np.uint32)
        )
        assert out.tolist() == [reference(value) for value in values]


def test_rotate() -> None:
    values, by = _integers(32, False), RNG.integers(0, 64, N)
    out = call(
        "air.rotate.i32",
        "i32",
        ["i32", "i32"],
        [np.array(values, np.uint32), by.astype(np.uint32)],
        np.zeros(N, np.uint32),
    )
    for value, count, got in zip(values, (by % 32).tolist(), out.tolist(), strict=True):
        assert got == ((value << 32 | value) << count >> 32) & 0xFFFFFFFF


@pytest.mark.parametrize("sign", ["s", "u"])
def test_extract_and_insert_bits(sign: str) -> None:
    values, new = _integers(32, False), _integers(32, False)[::-1]
    offset = RNG.integers(0, 32, N)
    bits = np.array([RNG.integers(0, 33 - o) for o in offset])
    args = [np.array(values, np.uint32), offset.astype(np.uint32), bits.astype(np.uint32)]
    out = call(f"air.extract_bits.{sign}.i32", "i32", ["i32"] * 3, list(args), np.zeros(N, np.uint32))
    for value, o, b, got in zip(values, offset.tolist(), bits.tolist(), out.tolist(), strict=True):
        part = value >> o & ((1 << b) - 1)
        expected = _signed(part, b) & 0xFFFFFFFF if sign == "s" and b else part
        assert got == expected
    args.insert(1, np.array(new, np.uint32))
    out = call(f"air.insert_bits.{sign}.i32", "i32", ["i32"] * 4, list(args), np.zeros(N, np.uint32))
    for value, n, o, b, got in zip(values, new, offset.tolist(), bits.tolist(), out.tolist(), strict=True):
        mask = ((1 << b) - 1) << o
        assert got == (value & ~mask) | (n << o & mask)


# --- conversions

LLVM = {"f32": "float", "f16": "half", "bf16": "bfloat"}


def _convert(target: str, source: str, values: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """`air.convert.<target>.<source>`, both as `s.i32` or `f.f16`."""
    to, of = (word.split(".")[1] for word in (target, source))
    return call(
        f"air.convert.{target}.{source}", LLVM.get(to, to), [LLVM.get(of, of)], [values], np.zeros(len(values), dtype)
    )


def test_float_to_integer_truncates_and_saturates() -> None:
    x = np.array([0.9, -0.9, 1.5, -1.5, 300, -300, 1e10, -1e10, math.nan, 2147483520], np.float32)
    assert _convert("s.i32", "f.f32", x, np.int32).tolist() == [
        0, 0, 1, -1, 300, -300, 2**31 - 1, -(2**31), 0, 2147483520,
    ]  # fmt: skip
    assert _convert("u.i8", "f.f32", x, np.uint8).tolist() == [0, 0, 1, 0, 255, 0, 255, 0, 0, 255]


def test_float_to_bool_is_unequal_zero() -> None:
    x = np.array([0.0, -0.0, 0.25, -3, math.nan], np.float32)
    assert _convert("u.i1", "f.f32", x, np.uint8).tolist() == [0, 0, 1, 1, 1]


def test_integer_to_float() -> None:
    values = np.array(_integers(32, True), np.int64).astype(np.int32)
    np.testing.assert_array_equal(_convert("f.f32", "s.i32", values, np.float32), values.astype(np.float32))
    unsigned = values.view(np.uint32)
    np.testing.assert_array_equal(_convert("f.f32", "u.i32", unsigned, np.float32), unsigned.astype(np.float32))


def test_integer_to_bfloat_is_rounded_once() -> None:
    """0x4040_0001 lies just above a tie; by way of float it would land on the tie and go to even, downwards."""
    values = np.array([0x4040_0001, 0x4040_0000, 0x403F_FFFF, 257, -257], np.int64)
    out = from_bfloat(_convert("f.bf16", "s.i64", values, np.uint16))
    assert out.tolist() == [0x4080_0000, 0x4000_0000, 0x4000_0000, 256, -256]


def test_bfloat_to_float_and_back() -> None:
    x = _floats(ANY)
    short = _convert("f.bf16", "f.f32", x, np.uint16)
    np.testing.assert_array_equal(short, to_bfloat(x))
    np.testing.assert_array_equal(_convert("f.f32", "f.bf16", short, np.float32), from_bfloat(short))


def test_integer_widths() -> None:
    values = np.array([-1, 127, -128, 5], np.int8)
    assert _convert("s.i32", "s.i8", values, np.int32).tolist() == [-1, 127, -128, 5]
    assert _convert("u.i32", "u.i8", values.view(np.uint8), np.uint32).tolist() == [255, 127, 128, 5]
    assert _convert("u.i8", "u.i32", np.array([256, 511, 3], np.uint32), np.uint8).tolist() == [0, 255, 3]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("lanes", "bits"), [(4, 8), (2, 16)])
def test_normalised_formats(signed: bool, lanes: int, bits: int) -> None:
    scale = (1 << (bits - signed)) - 1
    layout = f"{'s' if signed else 'u'}norm{lanes}x{bits}"
    x = _floats((-1.3, 1.3), N * lanes).reshape(N, lanes)
    kind = f"<{lanes} x float>"
    packed = call(f"air.pack.{layout}.v{lanes}f32", "i32", [kind], [x], np.zeros(N, np.uint32))
    codes = np.rint(np.clip(x, -1 if signed else 0, 1) * np.float32(scale)).astype(np.int64)
    expected = sum((codes[:, i] & ((1 << bits) - 1)) << (bits * i) for i in range(lanes))
    assert packed.tolist() == np.asarray(expected).tolist()
    out = call(f"air.unpack.{layout}.v{lanes}f32", kind, ["i32"], [packed], np.zeros((N, lanes), np.float32))
    np.testing.assert_allclose(out, codes / scale, rtol=1e-6)


def test_unpack_rgb10a2() -> None:
    word = np.array([0x00000001, 0x40000000, 0xFFFFFFFF], np.uint32)
    out = call("air.unpack.unorm.rgb10a2.v4f32", "<4 x float>", ["i32"], [word], np.zeros((3, 4), np.float32))
    expected = np.array([[1 / 1023, 0, 0, 0], [0, 0, 0, 1 / 3], [1, 1, 1, 1]])
    np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_there_are_at_least_80_families() -> None:
    assert len(families()) >= 80
