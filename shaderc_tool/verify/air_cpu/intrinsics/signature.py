"""What a declared `air.*` function is called and which types it takes, and a builder for the IR that models it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

_TYPE_TOKEN: Final = re.compile(r"(?:v(\d+))?(f16|f32|bf16|i1|i8|i16|i32|i64)\Z")
_POINTER_TOKEN: Final = re.compile(r"p\d+(?:f16|f32|bf16|i1|i8|i16|i32|i64)\Z")
_SIGNS: Final = ("s", "u", "f")
_IR: Final = {"f16": "half", "f32": "float", "bf16": "i16"}


@dataclass(frozen=True)
class Shape:
    """A scalar (`lanes` 0) or vector value type. bfloat is carried as i16."""

    scalar: str
    lanes: int = 0

    @property
    def is_float(self) -> bool:
        return self.scalar in _IR

    @property
    def bits(self) -> int:
        return int(self.scalar.lstrip("bfi"))

    @property
    def element(self) -> str:
        """The IR type of one element."""
        return _IR.get(self.scalar, self.scalar)

    @property
    def ir(self) -> str:
        return f"<{self.lanes} x {self.element}>" if self.lanes else self.element


def shape(token: str) -> Shape | None:
    """`v4f32` → a vector of four floats; None when the token names no type."""
    match = _TYPE_TOKEN.match(token)
    return Shape(match.group(2), int(match.group(1) or 0)) if match else None


@dataclass(frozen=True)
class Signature:
    """A declared AIR function.

    `family` is the name without `air.`, a leading `fast_` or `precise_`, signs and types; `signs` and `shapes` are
    those of the name in order. `result` and `params` are IR types as declared.
    """

    name: str
    family: str
    signs: tuple[str, ...]
    shapes: tuple[Shape, ...]
    result: str
    params: tuple[str, ...]

    @property
    def signed(self) -> bool:
        return "s" in self.signs


def signature(name: str, result: str, params: Sequence[str]) -> Signature:
    """Take an AIR function's name apart."""
    words = name.removeprefix("air.").split(".")
    family, signs, shapes = [], [], []
    for word in words:
        found = shape(word)
        if found:
            shapes.append(found)
        elif word in _SIGNS:
            signs.append(word)
        elif not _POINTER_TOKEN.match(word):
            family.append(word)
    base = ".".join(family)
    for prefix in ("fast_", "precise_"):
        base = base.removeprefix(prefix)
    return Signature(name, base, tuple(signs), tuple(shapes), result, tuple(params))


@dataclass
class Body:
    """Collects instructions. `op` returns the name of the new value."""

    lines: list[str] = field(default_factory=list)
    declares: set[str] = field(default_factory=set)

    def op(self, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def call(self, result: str, name: str, *args: tuple[str, str]) -> str:
        """Call a function of the C library or of LLVM, declaring it."""
        types = ", ".join(kind for kind, _ in args)
        self.declares.add(f"declare {result} @{name}({types})")
        return self.op(f"call {result} @{name}({', '.join(f'{kind} {value}' for kind, value in args)})")

    def widen(self, kind: Shape, value: str) -> str:
        """A scalar float value of any width as `float`."""
        if kind.scalar == "f32":
            return value
        if kind.scalar == "f16":
            return self.op(f"fpext half {value} to float")
        wide = self.op(f"zext i16 {value} to i32")
        return self.op(f"bitcast i32 {self.op(f'shl i32 {wide}, 16')} to float")

    def narrow(self, kind: Shape, value: str) -> str:
        """Round a `float` to the given width, to nearest even."""
        if kind.scalar == "f32":
            return value
        if kind.scalar == "f16":
            return self.op(f"fptrunc float {value} to half")
        return self.op(f"call i16 @spk.bf16.round(float {value})")

    def extract(self, kind: Shape, value: str, lane: int) -> str:
        if not kind.lanes:
            return value
        return self.op(f"extractelement {kind.ir} {value}, i32 {lane}")

    def collect(self, kind: Shape, values: Sequence[str]) -> str:
        """A vector of the values, or the only one."""
        if not kind.lanes:
            return values[0]
        vector = "undef"
        for lane, value in enumerate(values):
            vector = self.op(f"insertelement {kind.ir} {vector}, {kind.element} {value}, i32 {lane}")
        return vector

    def each(self, kind: Shape, operands: Sequence[str], compute: Callable[..., str]) -> str:
        """Apply `compute` to the elements of vectors of one shape."""
        lanes = range(max(1, kind.lanes))
        results = [compute(*(self.extract(kind, value, lane) for value in operands)) for lane in lanes]
        return self.collect(kind, results)


BF16_ROUND_NAME: Final = "spk.bf16.round"
BF16_ROUND: Final = f"""\
define internal i16 @{BF16_ROUND_NAME}(float %x) alwaysinline nounwind {{
  %bits = bitcast float %x to i32
  %high = lshr i32 %bits, 16
  %odd = and i32 %high, 1
  %bias = add i32 %odd, 32767
  %sum = add i32 %bits, %bias
  %rounded = lshr i32 %sum, 16
  %quiet = or i32 %high, 64
  %nan = fcmp uno float %x, 0.0
  %chosen = select i1 %nan, i32 %quiet, i32 %rounded
  %short = trunc i32 %chosen to i16
  ret i16 %short
}}"""


def float_constant(value: float) -> str:
    """A float constant in LLVM's exact hexadecimal notation."""
    import struct

    single = struct.unpack("<f", struct.pack("<f", value))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', single))[0]:016X}"
