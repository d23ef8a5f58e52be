"""simdgroup_matrix 8x8.

AIR carries a matrix as a vector of 64 elements of which a lane owns the first two: row r, columns c and c + 1 with
r = (q & 4) + (lane / 2) % 4, c = 2 (q & 2) + 2 (lane % 2), q = lane / 4. Loads, stores and products are one operation
of the whole simdgroup: no lane goes on before all have finished theirs, which kernels rely on without a barrier
between. Products need all 32 lanes.
"""

from __future__ import annotations

from typing import Final

from shaderc_tool.verify.air_cpu.intrinsics.resolver import Resolver, blocking_call
from shaderc_tool.verify.air_cpu.intrinsics.signature import Body, Shape, Signature

PREFIX: Final = "simdgroup_matrix_8x8_"
INCOMPLETE: Final = 6  # fault code of runtime.ll


def model(sig: Signature) -> tuple[list[str], str] | None:
    """(body, resolver) of a matrix function; None when the family is not one. Memory functions get %low, %high."""
    if not sig.family.startswith(PREFIX) or any(kind.lanes not in (0, 64) for kind in sig.shapes):
        return None
    word = sig.family.removeprefix(PREFIX)
    kind = sig.shapes[0]
    if word == "init_filled" and sig.params == (kind.element,):
        body = Body()
        return [*body.lines, *_two(body, kind, "%a0", "%a0")], ""
    if word == "init_diag" and sig.params == (kind.element,):
        return _diagonal(kind), ""
    if word == "load" and sig.params[1:] == ("i64", "<2 x i64>", "i1"):
        return _load(sig, kind)
    if word == "store" and sig.params[0] == kind.ir and sig.params[2:] == ("i64", "<2 x i64>", "i1"):
        return _store(sig, kind)
    if word in ("multiply", "multiply_accumulate") and len(sig.shapes) == len(sig.params) + 1:
        return _multiply(sig)
    return None


def is_memory(sig: Signature) -> bool:
    """Whether the function takes the bounds of the buffer that its pointer belongs to."""
    return sig.family in (f"{PREFIX}load", f"{PREFIX}store")


def pointer_position(sig: Signature) -> int:
    """Which operand of a memory function is the pointer."""
    return 0 if sig.family.endswith("load") else 1


def _two(body: Body, kind: Shape, first: str, second: str) -> list[str]:
    one = body.op(f"insertelement {kind.ir} zeroinitializer, {kind.element} {first}, i32 0")
    both = body.op(f"insertelement {kind.ir} {one}, {kind.element} {second}, i32 1")
    body.do(f"ret {kind.ir} {both}")
    return body.lines


def _place(body: Body, lane: str) -> tuple[str, str]:
    """(row, first column) of a lane, as i32."""
    quarter = body.op(f"lshr i32 {lane}, 2")
    row_high = body.op(f"and i32 {quarter}, 4")
    row_low = body.op(f"and i32 {body.op(f'lshr i32 {lane}, 1')}, 3")
    column_high = body.op(f"shl i32 {body.op(f'and i32 {quarter}, 2')}, 1")
    column_low = body.op(f"shl i32 {body.op(f'and i32 {lane}, 1')}, 1")
    return body.op(f"or i32 {row_high}, {row_low}"), body.op(f"or i32 {column_high}, {column_low}")


def _own_place(body: Body) -> tuple[str, str]:
    return _place(body, body.op("call i32 @spk.lane()"))


def _diagonal(kind: Shape) -> list[str]:
    body = Body()
    row, column = _own_place(body)
    zero = "0" if kind.scalar == "bf16" else "0.0"
    values = []
    for step in (0, 1):
        here = body.op(f"icmp eq i32 {row}, {body.op(f'add i32 {column}, {step}')}")
        values.append(body.op(f"select i1 {here}, {kind.element} %a0, {kind.element} {zero}"))
    return _two(body, kind, *values)


def _addresses(body: Body, kind: Shape, pointer_type: str, first: int) -> list[str]:
    """Checked pointers to this lane's two elements; operands pointer, stride, origin, transpose from `%a{first}`."""
    row, column = _own_place(body)
    pointers = []
    for step in (0, 1):
        r = body.op(f"zext i32 {row} to i64")
        c = body.op(f"zext i32 {body.op(f'add i32 {column}, {step}')} to i64")
        y = body.op(f"select i1 %a{first + 3}, i64 {c}, i64 {r}")
        x = body.op(f"select i1 %a{first + 3}, i64 {r}, i64 {c}")
        x = body.op(f"add i64 {x}, {body.op(f'extractelement <2 x i64> %a{first + 2}, i32 0')}")
        y = body.op(f"add i64 {y}, {body.op(f'extractelement <2 x i64> %a{first + 2}, i32 1')}")
        offset = body.op(f"add i64 {body.op(f'mul i64 {y}, %a{first + 1}')}, {x}")
        element = pointer_type.removesuffix("*").split(" addrspace")[0]
        pointer = body.op(f"getelementptr {element}, {pointer_type} %a{first}, i64 {offset}")
        address = body.op(f"ptrtoint {pointer_type} {pointer} to i64")
        size = kind.bits // 8
        body.do(f"call void @spk.check.either(i64 {address}, i64 {size}, i64 %low, i64 %high, i32 %site)")
        pointers.append(pointer)
    return pointers


def _load(sig: Signature, kind: Shape) -> tuple[list[str], str]:
    """Lanes check their two addresses; the resolver reads for all of them."""
    call = Body()
    pointer = sig.params[0]
    operands = [(pointer, address) for address in _addresses(call, kind, pointer, 0)]
    slot = f"{{ {pointer}, {pointer}, {kind.ir} }}"
    body = Resolver(slot)
    _, own = body.lanes()
    matrix = "zeroinitializer"
    for step in (0, 1):
        value = body.op(f"load {kind.element}, {pointer} {body.field(own, pointer, step)}")
        matrix = body.op(f"insertelement {kind.ir} {matrix}, {kind.element} {value}, i32 {step}")
    body.store(own, kind.ir, 2, matrix)
    body.end()
    return [*call.lines, *blocking_call(sig.name, slot, operands, kind.ir)], body.text(sig.name)


def _store(sig: Signature, kind: Shape) -> tuple[list[str], str]:
    """Lanes check their two addresses; the resolver writes for all of them."""
    call = Body()
    pointer = sig.params[1]
    operands = [(pointer, address) for address in _addresses(call, kind, pointer, 1)]
    for step in (0, 1):
        operands.append((kind.element, call.op(f"extractelement {kind.ir} %a0, i32 {step}")))
    slot = f"{{ {pointer}, {pointer}, {kind.element}, {kind.element} }}"
    body = Resolver(slot)
    _, own = body.lanes()
    for step in (0, 1):
        value = body.field(own, kind.element, 2 + step)
        body.do(f"store {kind.element} {value}, {pointer} {body.field(own, pointer, step)}")
    body.end()
    return [*call.lines, *blocking_call(sig.name, slot, operands, "void")], body.text(sig.name)


def _multiply(sig: Signature) -> tuple[list[str], str]:
    """D = A·B + C in float, rounded once to D's type."""
    out, *inputs = sig.shapes
    pair = "[2 x float]"
    slot = f"{{ {', '.join([pair] * len(inputs))}, {out.ir} }}"
    call = Body()
    operands = []
    for index, kind in enumerate(inputs):
        value = "undef"
        for step in (0, 1):
            part = call.widen(kind, call.op(f"extractelement {kind.ir} %a{index}, i32 {step}"))
            value = call.op(f"insertvalue {pair} {value}, float {part}, {step}")
        operands.append((pair, value))
    return [*call.lines, *blocking_call(sig.name, slot, operands, out.ir)], _product(sig, slot, len(inputs), out)


def _product(sig: Signature, slot: str, inputs: int, out: Shape) -> str:
    body = Resolver(slot)
    matrix = "[64 x float]"
    cells = [body.op(f"alloca {matrix}") for _ in range(inputs)]
    lane, own = body.lanes()
    row, column = _place(body, lane)
    start = body.op(f"add i32 {body.op(f'shl i32 {row}, 3')}, {column}")
    for index, cell in enumerate(cells):
        value = body.field(own, "[2 x float]", index)
        for step in (0, 1):
            place = body.op(f"add i32 {start}, {step}")
            pointer = body.op(f"getelementptr {matrix}, {matrix}* {cell}, i32 0, i32 {place}")
            body.do(f"store float {body.op(f'extractvalue [2 x float] {value}, {step}')}, float* {pointer}")
    body.end()
    lane, own = body.lanes()
    row, column = _place(body, lane)
    result = "zeroinitializer"
    for step in (0, 1):
        total = _element(body, cells, matrix, row, body.op(f"add i32 {column}, {step}"))
        result = body.op(f"insertelement {out.ir} {result}, {out.element} {body.narrow(out, total)}, i32 {step}")
    body.store(own, out.ir, inputs, result)
    body.end()
    whole = body.op("icmp eq i32 %mask, -1")
    fault = body.op(f"select i1 {whole}, i32 0, i32 {INCOMPLETE}")
    return body.text(sig.name, fault)


def _element(body: Resolver, cells: list[str], matrix: str, row: str, column: str) -> str:
    def at(cell: str, place: str) -> str:
        pointer = body.op(f"getelementptr {matrix}, {matrix}* {cell}, i32 0, i32 {place}")
        return body.op(f"load float, float* {pointer}")

    row_start = body.op(f"shl i32 {row}, 3")
    total = at(cells[2], body.op(f"add i32 {row_start}, {column}")) if len(cells) > 2 else "0.0"
    for k in range(8):
        a = at(cells[0], body.op(f"add i32 {row_start}, {k}"))
        b = at(cells[1], body.op(f"add i32 {column}, {8 * k}"))
        total = body.op(f"fadd float {total}, {body.op(f'fmul float {a}, {b}')}")
    return total
