"""bfloat as 16-bit integers.

LLVM 15 has no bfloat arithmetic on the targets that kernels run on here, so every bfloat value becomes an i16 and every
operation a call that widens to float, computes, and rounds to nearest even.
"""

from __future__ import annotations

import re
from typing import Final

from shaderc_tool.verify.air_cpu.irtext import split_commas

_FLAGS: Final = r"(?:(?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) )*"
_TYPE: Final = r"(bfloat|<(\d+) x bfloat>)"
_BINARY: Final = re.compile(rf"= (fadd|fsub|fmul|fdiv|frem) {_FLAGS}{_TYPE} (.+)$")
_NEGATE: Final = re.compile(rf"= fneg {_FLAGS}{_TYPE} (.+)$")
_COMPARE: Final = re.compile(rf"= fcmp {_FLAGS}(\w+) {_TYPE} (.+)$")
_EXTEND: Final = re.compile(rf"= fpext {_TYPE} (.+) to (.+)$")
_TRUNCATE: Final = re.compile(rf"= fptrunc (.+?) (%\S+|\S+) to {_TYPE}$")
_TO_INTEGER: Final = re.compile(rf"= fpto(s|u)i {_TYPE} (.+) to (.+)$")
_FROM_INTEGER: Final = re.compile(rf"= (s|u)itofp (.+?) (%\S+|\S+) to {_TYPE}$")
_INTRINSIC: Final = re.compile(rf"= call {_FLAGS}{_TYPE} @llvm\.(\w+)\.(?:v\d+)?bf16\((.*)\)$")
_SOFT: Final = re.compile(rf"= (phi|select|call) {_FLAGS}(?=.*bfloat)")
_WORD: Final = re.compile(r"(?<![\w.$-])bfloat(?![\w.$-])")
_CONSTANT: Final = re.compile(r"0xR([0-9A-Fa-f]{4})")


class Bfloat:
    """Rewrites lines and collects the helpers they need."""

    def __init__(self) -> None:
        self._helpers: dict[str, str] = {}

    def line(self, text: str) -> str:
        """One line of IR without bfloat."""
        if "bfloat" not in text and "0xR" not in text:
            return text
        text = _CONSTANT.sub(lambda match: str(int(match.group(1), 16)), text)
        for pattern, rewrite in (
            (_BINARY, self._binary),
            (_NEGATE, self._negate),
            (_COMPARE, self._compare),
            (_EXTEND, self._extend),
            (_TRUNCATE, self._truncate),
            (_TO_INTEGER, self._to_integer),
            (_FROM_INTEGER, self._from_integer),
            (_INTRINSIC, self._intrinsic),
        ):
            match = pattern.search(text)
            if match:
                text = text[: match.start()] + "= " + rewrite(match)
                break
        else:
            text = _SOFT.sub(r"= \1 ", text)
        return _WORD.sub("i16", text)

    def helpers(self) -> list[str]:
        """The functions that the rewritten lines call."""
        return list(self._helpers.values())

    def _helper(self, name: str, lanes: str | None, result: str, params: list[str], body: list[str]) -> str:
        """Register a helper; gives its symbol. Body lines see %0, %1, … widened to %w0, %w1, … where they are i16."""
        symbol = f"spk.bf16.{name}{f'.v{lanes}' if lanes else ''}"
        floats, shorts, ints = (_vector(kind, lanes) for kind in ("float", "i16", "i32"))
        lines = []
        for index, kind in enumerate(params):
            if kind == shorts:
                sixteen = _splat("i32", "16", lanes)
                lines += [
                    f"  %z{index} = zext {shorts} %a{index} to {ints}",
                    f"  %s{index} = shl {ints} %z{index}, {sixteen}",
                    f"  %w{index} = bitcast {ints} %s{index} to {floats}",
                ]
        lines += body
        args = ", ".join(f"{kind} %a{index}" for index, kind in enumerate(params))
        head = f"define internal {result} @{symbol}({args}) alwaysinline nounwind {{"
        self._helpers[symbol] = "\n".join([head, *lines, "}"])
        return symbol

    def _rounding(self, lanes: str | None, source: str = "%r") -> list[str]:
        """Lines that round the float(s) in `%r` and return them as i16."""
        if not lanes:
            return [f"  %o = call i16 @spk.bf16.round(float {source})", "  ret i16 %o"]
        lines, vector = [], "undef"
        for lane in range(int(lanes)):
            lines += [
                f"  %e{lane} = extractelement <{lanes} x float> {source}, i32 {lane}",
                f"  %o{lane} = call i16 @spk.bf16.round(float %e{lane})",
                f"  %p{lane} = insertelement <{lanes} x i16> {vector}, i16 %o{lane}, i32 {lane}",
            ]
            vector = f"%p{lane}"
        return [*lines, f"  ret <{lanes} x i16> {vector}"]

    def _binary(self, match: re.Match[str]) -> str:
        op, _, lanes, operands = match.groups()
        a, b = split_commas(operands)
        short, wide = _vector("i16", lanes), _vector("float", lanes)
        body = [f"  %r = {op} {wide} %w0, %w1", *self._rounding(lanes)]
        symbol = self._helper(op, lanes, short, [short, short], body)
        return f"call {short} @{symbol}({short} {a}, {short} {b})"

    def _negate(self, match: re.Match[str]) -> str:
        _, lanes, a = match.groups()
        return f"xor {_vector('i16', lanes)} {a}, {_splat('i16', '-32768', lanes)}"

    def _compare(self, match: re.Match[str]) -> str:
        how, _, lanes, operands = match.groups()
        a, b = split_commas(operands)
        short, wide, bits = _vector("i16", lanes), _vector("float", lanes), _vector("i1", lanes)
        body = [f"  %r = fcmp {how} {wide} %w0, %w1", f"  ret {bits} %r"]
        symbol = self._helper(f"fcmp.{how}", lanes, bits, [short, short], body)
        return f"call {bits} @{symbol}({short} {a}, {short} {b})"

    def _extend(self, match: re.Match[str]) -> str:
        _, lanes, a, target = match.groups()
        short, wide = _vector("i16", lanes), _vector("float", lanes)
        body = [f"  ret {wide} %w0"]
        if target != wide:
            body = [f"  %r = fpext {wide} %w0 to {target}", f"  ret {target} %r"]
        symbol = self._helper(f"fpext.{'float' if target == wide else 'double'}", lanes, target, [short], body)
        return f"call {target} @{symbol}({short} {a})"

    def _truncate(self, match: re.Match[str]) -> str:
        source, a, _, lanes = match.groups()
        short = _vector("i16", lanes)
        symbol = self._helper("fptrunc", lanes, short, [source], self._rounding(lanes, "%a0"))
        return f"call {short} @{symbol}({source} {a})"

    def _to_integer(self, match: re.Match[str]) -> str:
        sign, _, lanes, a, target = match.groups()
        short, wide = _vector("i16", lanes), _vector("float", lanes)
        body = [f"  %r = fpto{sign}i {wide} %w0 to {target}", f"  ret {target} %r"]
        name = f"fpto{sign}i.{target.strip('<>').split()[-1]}"
        return f"call {target} @{self._helper(name, lanes, target, [short], body)}({short} {a})"

    def _from_integer(self, match: re.Match[str]) -> str:
        sign, source, a, _, lanes = match.groups()
        short, wide = _vector("i16", lanes), _vector("float", lanes)
        body = [f"  %r = {sign}itofp {source} %a0 to {wide}", *self._rounding(lanes)]
        name = f"{sign}itofp.{source.strip('<>').split()[-1]}"
        if source == short:  # already widened by the helper as if it were bfloat: name another parameter type
            widened = _vector("i32", lanes)
            word = "sext" if sign == "s" else "zext"
            body = [f"  %i = {word} {source} %a0 to {widened}", f"  %r = {sign}itofp {widened} %i to {wide}"]
            body += self._rounding(lanes)
        return f"call {short} @{self._helper(name, lanes, short, [source], body)}({source} {a})"

    def _intrinsic(self, match: re.Match[str]) -> str:
        _, lanes, name, args = match.groups()
        short, wide = _vector("i16", lanes), _vector("float", lanes)
        count = args.count("bfloat")
        suffix = f"v{lanes}f32" if lanes else "f32"
        values = ", ".join(f"{wide} %w{index}" for index in range(count))
        body = [f"  %r = call {wide} @llvm.{name}.{suffix}({values})", *self._rounding(lanes)]
        symbol = self._helper(f"llvm.{name}", lanes, short, [short] * count, body)
        types = ", ".join([wide] * count)
        declare = f"declare {wide} @llvm.{name}.{suffix}({types})\n"
        if not self._helpers[symbol].startswith("declare"):
            self._helpers[symbol] = declare + self._helpers[symbol]
        return f"call {short} @{symbol}({args})"


def _vector(kind: str, lanes: str | None) -> str:
    return f"<{lanes} x {kind}>" if lanes else kind


def _splat(kind: str, value: str, lanes: str | None) -> str:
    return f"<{', '.join([f'{kind} {value}'] * int(lanes))}>" if lanes else value
