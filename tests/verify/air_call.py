"""Call one AIR function from one thread per element, on the CPU engine."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shaderc_tool.verify import air_cpu
from tests.verify.air_text import Buffer, Builtin, kernel

_MEMORY = {"i1": "i8"}


def _element(kind: str) -> str:
    return _MEMORY.get(kind, kind)


def call(
    name: str, result: str, kinds: list[str], args: list[NDArray[Any]], out: NDArray[Any], group: int = 32
) -> NDArray[Any]:
    """`out[i] = name(args[0][i], …)` for all i; the first axis is the thread. Kinds are LLVM types."""
    count = len(out)
    params = [Buffer(index, _element(kind)) for index, kind in enumerate([*kinds, result])]
    lines = []
    for index, kind in enumerate(kinds):
        memory = _element(kind)
        lines.append(f"  %p{index} = getelementptr {memory}, {memory} addrspace(1)* %{index}, i32 %{len(params)}")
        lines.append(f"  %m{index} = load {memory}, {memory} addrspace(1)* %p{index}, align 1")
        if kind == memory:
            lines.append(f"  %x{index} = {_copy(kind, f'%m{index}')}")
        else:
            lines.append(f"  %x{index} = trunc {memory} %m{index} to {kind}")
    values = ", ".join(f"{kind} %x{index}" for index, kind in enumerate(kinds))
    lines.append(f"  %r = call {result} @{name}({values})")
    memory = _element(result)
    stored = "%r"
    if result != memory:
        lines.append(f"  %w = zext {result} %r to {memory}")
        stored = "%w"
    last = len(kinds)
    lines.append(f"  %q = getelementptr {memory}, {memory} addrspace(1)* %{last}, i32 %{len(params)}")
    lines.append(f"  store {memory} {stored}, {memory} addrspace(1)* %q, align 1")
    declare = f"declare {result} @{name}({', '.join(kinds)})\n"
    code = kernel([*params, Builtin("thread_position_in_grid")], "\n".join([*lines, "  ret void"]), before=declare)
    buffers = [np.ascontiguousarray(arg) for arg in args]
    air_cpu.run(code, "k", buffers=[*buffers, out], threads=(count,), threadgroup=(group,))
    return out


def _copy(kind: str, value: str) -> str:
    return f"freeze {kind} {value}"


def to_bfloat(values: NDArray[Any]) -> NDArray[np.uint16]:
    """Round float32 to bfloat bits, to nearest even, by exact arithmetic on the two candidates."""
    single = np.asarray(values, np.float32)
    bits = single.view(np.uint32)
    low = (bits >> 16).astype(np.uint32)
    down = (low << 16).view(np.float32).astype(np.float64)
    up = ((low + 1) << 16).view(np.float32).astype(np.float64)
    exact = single.astype(np.float64)
    nearer_up = np.abs(up - exact) < np.abs(exact - down)
    tie = np.abs(up - exact) == np.abs(exact - down)
    return np.where(nearer_up | (tie & (low & 1 == 1)), low + 1, low).astype(np.uint16)


def from_bfloat(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The float32 value of bfloat bits."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def families() -> set[str]:
    """All families that the engine models, from its own tables."""
    from shaderc_tool.verify.air_cpu.intrinsics import atomics, conversions, floats, integers, lanes

    found = set(floats.ELEMENTWISE) | set(floats._SPECIAL) | set(integers.ELEMENTWISE) | {"clz", "ctz"}
    found |= {"extract_bits", "insert_bits", "convert", "is_uniform", "wg.barrier", "simdgroup.barrier"}
    found |= {"normalize_function_constant_predicate", "is_function_constant_defined"}
    found |= {f"{word}.{form}" for word in ("pack", "unpack") for form in conversions._FIELDS}
    found |= {f"simd_{name}" for name in (*lanes._SOURCES, *lanes._VOTES)}
    found |= {f"simd_{name}" for name in ("sum", "product", "min", "max", "and", "or", "xor")}
    found |= {f"simd_prefix_{how}_{name}" for how in ("inclusive", "exclusive") for name in ("sum", "product")}
    found |= {re.sub("simd", "quad", name) for name in found if name.startswith("simd_")}
    found |= {f"simdgroup_matrix_8x8_{w}" for w in ("load", "store", "init_filled", "init_diag", "multiply")}
    found |= {"simdgroup_matrix_8x8_multiply_accumulate", "get_simdgroup_size", "atomic.fence"}
    return found | {f"atomic.{name}" for name in (*atomics._INTEGER, "load", "store", "xchg", "cmpxchg.weak")}
