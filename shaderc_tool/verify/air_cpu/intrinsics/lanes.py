"""Simdgroup (32 lanes) and quadgroup (4 lanes) functions: reductions, scans, shuffles, votes, barriers.

A lane that does not take part has no value: reading it gives all ones (a NaN for floats), so that a kernel which
relies on it shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from shaderc_tool.verify.air_cpu.intrinsics.resolver import Resolver, blocking_call
from shaderc_tool.verify.air_cpu.intrinsics.signature import Shape, Signature

_GROUP: Final = re.compile(r"(simd|quad)_(.+)\Z")
_WIDTH: Final = {"simd": 32, "quad": 4}
_REDUCE: Final = re.compile(r"(?:prefix_(inclusive|exclusive)_)?(sum|product|min|max|and|or|xor)\Z")
_INTEGER_OPS: Final = {"sum": "add", "product": "mul", "and": "and", "or": "or", "xor": "xor"}

Built = tuple[list[str], str]


def model(sig: Signature) -> Built | None:
    """(body of the lane's side, resolver) of a group function; None when the family is not one."""
    if sig.family == "simdgroup.barrier" and sig.result == "void":
        return blocking_call(sig.name, "{ i8 }", [], "void"), Resolver("{ i8 }").text(sig.name)
    group = _GROUP.match(sig.family)
    if not group:
        return None
    width, rest = _WIDTH[group.group(1)], group.group(2)
    reduce = _REDUCE.match(rest)
    if reduce and len(sig.shapes) == 1 and sig.params == (sig.shapes[0].ir,):
        return _reduction(sig, width, reduce.group(2), reduce.group(1) or "")
    if rest in _VOTES:
        return _vote(sig, width, rest)
    if rest in _SOURCES and len(sig.shapes) == 1:
        return _shuffle(sig, width, rest)
    return None


# --- reductions and scans


def _reduction(sig: Signature, width: int, word: str, scan: str) -> Built | None:
    kind = sig.shapes[0]
    if kind.is_float and word not in ("sum", "product", "min", "max"):
        return None
    wide = Shape("f32", kind.lanes) if kind.is_float else kind
    body = Resolver(f"{{ {kind.ir}, {kind.ir} }}")
    segments = 32 // width
    cells = body.op(f"alloca [{segments} x {wide.ir}]")
    start = _splat(body, wide, _identity(wide, word, sig.signed))
    for segment in range(segments):
        body.do(f"store {wide.ir} {start}, {wide.ir}* {_cell(body, cells, segments, wide, str(segment))}")
    lane, slot = body.lanes()
    cell = _cell(body, cells, segments, wide, body.op(f"udiv i32 {lane}, {width}"))
    value = _widen(body, kind, body.field(slot, kind.ir, 0))
    before = body.op(f"load {wide.ir}, {wide.ir}* {cell}")
    after = _combine(body, wide, word, sig.signed, before, value)
    body.do(f"store {wide.ir} {after}, {wide.ir}* {cell}")
    if scan:
        body.store(slot, kind.ir, 1, _narrow(body, kind, after if scan == "inclusive" else before))
        body.end()
    else:
        body.end()
        lane, slot = body.lanes()
        cell = _cell(body, cells, segments, wide, body.op(f"udiv i32 {lane}, {width}"))
        total = body.op(f"load {wide.ir}, {wide.ir}* {cell}")
        body.store(slot, kind.ir, 1, _narrow(body, kind, total))
        body.end()
    declares = "\n".join(sorted(body.declares))
    call = blocking_call(sig.name, body.slot, [(kind.ir, "%a0")], kind.ir)
    return call, f"{declares}\n{body.text(sig.name)}"


def _cell(body: Resolver, cells: str, segments: int, wide: Shape, segment: str) -> str:
    array = f"[{segments} x {wide.ir}]"
    return body.op(f"getelementptr {array}, {array}* {cells}, i32 0, i32 {segment}")


def _identity(kind: Shape, word: str, signed: bool) -> str:
    if kind.is_float:
        infinity = "0x7FF0000000000000"
        return {"sum": "0.0", "product": "1.0", "min": infinity, "max": "0xFFF0000000000000"}[word]
    low = -(1 << (kind.bits - 1)) if signed else 0
    high = (1 << (kind.bits - 1)) - 1 if signed else -1
    names = {"sum": 0, "product": 1, "min": high, "max": low, "and": -1, "or": 0, "xor": 0}
    return str(names[word])


def _splat(body: Resolver, kind: Shape, value: str) -> str:
    return body.collect(kind, [value] * kind.lanes) if kind.lanes else value


def _widen(body: Resolver, kind: Shape, value: str) -> str:
    if not kind.is_float:
        return value
    lanes = range(max(1, kind.lanes))
    return body.collect(Shape("f32", kind.lanes), [body.widen(kind, body.extract(kind, value, lane)) for lane in lanes])


def _narrow(body: Resolver, kind: Shape, value: str) -> str:
    if not kind.is_float:
        return value
    wide = Shape("f32", kind.lanes)
    lanes = range(max(1, kind.lanes))
    return body.collect(kind, [body.narrow(kind, body.extract(wide, value, lane)) for lane in lanes])


def _combine(body: Resolver, kind: Shape, word: str, signed: bool, a: str, b: str) -> str:
    if word in ("min", "max"):
        name = f"llvm.{word}num" if kind.is_float else f"llvm.{'s' if signed else 'u'}{word}"
        suffix = f"v{kind.lanes}{kind.scalar}" if kind.lanes else kind.scalar
        return body.call(kind.ir, f"{name}.{suffix}", (kind.ir, a), (kind.ir, b))
    if kind.is_float:
        return body.op(f"{'fadd' if word == 'sum' else 'fmul'} {kind.ir} {a}, {b}")
    return body.op(f"{_INTEGER_OPS[word]} {kind.ir} {a}, {b}")


# --- shuffles: where a lane reads from. Each gives (source lane, whether the lane keeps its own value instead)

Source = Callable[[Resolver, str, str, int], tuple[str, str]]


def _base(body: Resolver, lane: str, width: int) -> str:
    return body.op(f"and i32 {lane}, {-width}")


def _absolute(body: Resolver, lane: str, by: str, width: int) -> tuple[str, str]:
    return body.op(f"add i32 {_base(body, lane, width)}, {by}"), "false"


def _xor(body: Resolver, lane: str, by: str, width: int) -> tuple[str, str]:
    return body.op(f"xor i32 {lane}, {by}"), "false"


def _up(body: Resolver, lane: str, by: str, width: int) -> tuple[str, str]:
    keeps = body.op(f"icmp slt i32 {body.op(f'sub i32 {lane}, {by}')}, {_base(body, lane, width)}")
    return body.op(f"sub i32 {lane}, {by}"), keeps


def _down(body: Resolver, lane: str, by: str, width: int) -> tuple[str, str]:
    end = body.op(f"add i32 {_base(body, lane, width)}, {width}")
    source = body.op(f"add i32 {lane}, {by}")
    return source, body.op(f"icmp sge i32 {source}, {end}")


def _rotate(sign: str) -> Source:
    def source(body: Resolver, lane: str, by: str, width: int) -> tuple[str, str]:
        moved = body.op(f"and i32 {body.op(f'{sign} i32 {lane}, {by}')}, {width - 1}")
        return body.op(f"or i32 {_base(body, lane, width)}, {moved}"), "false"

    return source


def _first(body: Resolver, lane: str, by: str, width: int) -> tuple[str, str]:
    base = _base(body, lane, width)
    segment = body.op(f"lshr i32 %mask, {base}")
    first = body.call("i32", "llvm.cttz.i32", ("i32", segment), ("i1", "false"))
    return body.op(f"add i32 {base}, {first}"), "false"


_SOURCES: Final[dict[str, Source | None]] = {
    "shuffle": _absolute,
    "broadcast": _absolute,
    "broadcast_first": _first,
    "shuffle_xor": _xor,
    "shuffle_up": _up,
    "shuffle_down": _down,
    "shuffle_rotate_up": _rotate("sub"),
    "shuffle_rotate_down": _rotate("add"),
    "shuffle_and_fill_up": None,
    "shuffle_and_fill_down": None,
}


def _shuffle(sig: Signature, width: int, rest: str) -> Built | None:
    kind = sig.shapes[0].ir
    if rest.startswith("shuffle_and_fill") and sig.params == (kind, kind, "i16", "i16"):
        return _fill(sig, rest.endswith("up"))
    source = _SOURCES[rest]
    first = rest == "broadcast_first"
    if source is None or sig.params != ((kind,) if first else (kind, "i16")):
        return None
    body = Resolver(f"{{ {kind}, i16, {kind} }}")
    lane, slot = body.lanes()
    by = body.op(f"zext i16 {body.field(slot, 'i16', 1)} to i32")
    start, keeps = source(body, lane, by, width)
    chosen = body.op(f"select i1 {keeps}, i32 {lane}, i32 {start}")
    _deliver(body, kind, slot, chosen, "0", 2)
    body.end()
    operands = [(kind, "%a0"), ("i16", "0" if first else "%a1")]
    declares = "\n".join(sorted(body.declares))
    return blocking_call(sig.name, body.slot, operands, kind), f"{declares}\n{body.text(sig.name)}"


def _fill(sig: Signature, up: bool) -> Built:
    """Shift within segments of `modulo` lanes; vacated places take the other end of the filling data."""
    kind = sig.shapes[0].ir
    body = Resolver(f"{{ {kind}, {kind}, i16, i16, {kind} }}")
    lane, slot = body.lanes()
    by = body.op(f"zext i16 {body.field(slot, 'i16', 2)} to i32")
    modulo = body.op(f"zext i16 {body.field(slot, 'i16', 3)} to i32")
    place = body.op(f"urem i32 {lane}, {modulo}")
    if up:
        moved = body.op(f"sub i32 {lane}, {by}")
        filled = body.op(f"icmp ult i32 {place}, {by}")
        wrapped = body.op(f"add i32 {moved}, {modulo}")
    else:
        moved = body.op(f"add i32 {lane}, {by}")
        filled = body.op(f"icmp uge i32 {body.op(f'add i32 {place}, {by}')}, {modulo}")
        wrapped = body.op(f"sub i32 {moved}, {modulo}")
    chosen = body.op(f"select i1 {filled}, i32 {wrapped}, i32 {moved}")
    _deliver(body, kind, slot, chosen, body.op(f"zext i1 {filled} to i32"), 4)
    body.end()
    operands = [(kind, "%a0"), (kind, "%a1"), ("i16", "%a2"), ("i16", "%a3")]
    return blocking_call(sig.name, body.slot, operands, kind), body.text(sig.name)


def _deliver(body: Resolver, kind: str, slot: str, source: str, index: str, out: int) -> None:
    """Copy field `index` (a constant or an i32 of 0 or 1) of a lane's slot, or all ones when it takes no part."""
    exists = body.op(f"icmp ult i32 {source}, 32")
    safe = body.op(f"select i1 {exists}, i32 {source}, i32 0")
    active = body.op(f"and i1 {exists}, {body.bit('%mask', safe)}")
    raw = body.op(f"load i8*, i8** {body.op(f'getelementptr i8*, i8** %slots, i32 {safe}')}")
    own = body.op(f"bitcast {body.slot}* {slot} to i8*")
    from_raw = body.op(f"select i1 {active}, i8* {raw}, i8* {own}")
    typed = body.op(f"bitcast i8* {from_raw} to {kind}*")
    value = body.op(f"load {kind}, {kind}* {body.op(f'getelementptr {kind}, {kind}* {typed}, i32 {index}')}")
    place = body.op(f"getelementptr {body.slot}, {body.slot}* {slot}, i32 0, i32 {out}")
    bytes_ = body.op(f"bitcast {kind}* {place} to i8*")
    size = f"i64 ptrtoint ({kind}* getelementptr ({kind}, {kind}* null, i32 1) to i64)"
    body.do(f"call void @llvm.memset.p0i8.i64(i8* {bytes_}, i8 -1, {size}, i1 false)")
    ones = body.op(f"load {kind}, {kind}* {place}")
    body.do(f"store {kind} {body.op(f'select i1 {active}, {kind} {value}, {kind} {ones}')}, {kind}* {place}")


# --- votes: functions of the mask of lanes for which the operand is true

_VOTES: Final = {"all", "any", "ballot", "is_first", "active_threads_mask"}


def _vote(sig: Signature, width: int, word: str) -> Built | None:
    takes = ("i1",) if word in ("all", "any", "ballot") else ()
    if sig.params != takes or sig.result not in ("i1", "i16", "i32", "i64"):
        return None
    body = Resolver(f"{{ i8, {sig.result} }}")
    votes = body.op("alloca i32")
    body.do(f"store i32 0, i32* {votes}")
    lane, slot = body.lanes()
    vote = body.op(f"zext i8 {body.field(slot, 'i8', 0)} to i32")
    others = body.op(f"load i32, i32* {votes}")
    together = body.op(f"or i32 {others}, {body.op(f'shl i32 {vote}, {lane}')}")
    body.do(f"store i32 {together}, i32* {votes}")
    body.end()
    lane, slot = body.lanes()
    base = _base(body, lane, width)
    keep = (1 << width) - 1
    cast = body.op(f"load i32, i32* {votes}")
    yes = body.op(f"and i32 {body.op(f'lshr i32 {cast}, {base}')}, {keep}")
    active = body.op(f"and i32 {body.op(f'lshr i32 %mask, {base}')}, {keep}")
    place = body.op(f"sub i32 {lane}, {base}")
    body.store(slot, sig.result, 1, _verdict(body, sig.result, word, yes, active, place))
    body.end()
    own = "  %vote = zext i1 %a0 to i8" if takes else "  %vote = add i8 0, 0"
    call = [own, *blocking_call(sig.name, body.slot, [("i8", "%vote")], sig.result)]
    declares = "\n".join(sorted(body.declares))
    return call, f"{declares}\n{body.text(sig.name)}"


def _verdict(body: Resolver, result: str, word: str, yes: str, active: str, lane: str) -> str:
    if word == "all":
        return body.op(f"icmp eq i32 {yes}, {active}")
    if word == "any":
        return body.op(f"icmp ne i32 {yes}, 0")
    if word == "is_first":
        first = body.call("i32", "llvm.cttz.i32", ("i32", active), ("i1", "false"))
        return body.op(f"icmp eq i32 {lane}, {first}")
    bits = yes if word == "ballot" else active
    if result == "i32":
        return bits
    return body.op(f"{'zext' if result == 'i64' else 'trunc'} i32 {bits} to {result}")
