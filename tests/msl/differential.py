"""msplat's kernels, compiled by Apple and by us from the source that its library embeds, on the same inputs.

`python -m tests.msl.differential` prints the table of docs/metal-without-a-mac.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shaderc_tool.formats.air import EntryPoint, read_air
from shaderc_tool.formats.air_arguments import Argument
from shaderc_tool.formats.metallib import read_library
from shaderc_tool.formats.metallib_sources import read_sources
from shaderc_tool.msl.link import link_metallib
from shaderc_tool.msl.options import MslResult
from shaderc_tool.verify import air_cpu
from tests.corpora import metallibs
from tests.msl.compiling import compile_text

Array = NDArray[Any]
_ELEMENTS = 1 << 16
_WIDTH = {"2": 2, "3": 4, "4": 4}


@dataclass(frozen=True)
class Compared:
    """One kernel: whether arguments agree, elements that Apple's form wrote, and the largest difference.

    `difference` is relative to the value for values above 1; `fault` is what kept it from running.
    """

    kernel: str
    same_arguments: bool
    written: int
    difference: float
    fault: str = ""

    @property
    def agrees(self) -> bool:
        return not self.fault and self.written > 0 and self.difference <= 1e-6


@cache
def apple_library() -> bytes:
    """The library in the wheel."""
    ((_, data),) = metallibs("msplat")
    return data


@cache
def compiled() -> MslResult:
    """Its embedded source, through the portable compiler with the options that Apple's compiler had."""
    return compile_text(embedded_source(), "msplat_metal.metal", math="fast")


def embedded_source() -> str:
    """The Metal source in the library."""
    sources = read_sources(read_library(apple_library()))
    assert sources is not None
    return sources.archives[0].files[-1].data.decode("utf-8")


@cache
def our_library() -> bytes:
    bitcode = compiled().bitcode
    assert bitcode is not None, compiled().diagnostics
    return link_metallib([bitcode], "macos", "14.0")


def compare_all() -> list[Compared]:
    """Every kernel of the library, in order."""
    return [compare(function.name) for function in read_library(apple_library()).functions]


def compare(kernel: str, library: bytes | None = None) -> Compared:
    """Run both forms of one kernel: Apple's, and the one in `library`, which is ours when left out."""
    own = our_library() if library is None else library
    theirs, ours = entry_point(apple_library(), kernel), entry_point(own, kernel)
    before, first, second = (_inputs(kernel, theirs) for _ in range(3))
    for binary, buffers in ((apple_library(), first), (own, second)):
        try:
            _dispatch(binary, kernel, theirs, buffers)
        except air_cpu.AirCpuError as fault:
            return Compared(kernel, theirs == ours, 0, 0.0, str(fault))
    written = sum(int(np.count_nonzero(first[i] != before[i])) for i in before)
    worst = max(_difference(first[i], second[i]) for i in before)
    return Compared(kernel, theirs == ours, written, worst)


def entry_point(library: bytes, kernel: str) -> EntryPoint:
    """A kernel's argument table as its AIR records it."""
    (point,) = read_air(bytes(read_library(library).function(kernel).bitcode)).entry_points
    return point


def _dispatch(library: bytes, kernel: str, point: EntryPoint, buffers: dict[int, Array]) -> None:
    memory = {a.index: 16384 for a in point.arguments if a.is_buffer and a.address_space == 3}
    air_cpu.run(
        library, kernel, buffers=buffers, threadgroup=(64,), grid=(2,), threadgroup_memory=memory, time_limit=30
    )


def _inputs(kernel: str, point: EntryPoint) -> dict[int, Array]:
    """The same pseudo-random arrays at every call: numbers small enough to serve as indices and counts."""
    rng = np.random.default_rng(list(kernel.encode()))
    return {a.index: _array(a, rng) for a in point.arguments if a.is_buffer and a.address_space != 3}


def _array(argument: Argument, rng: np.random.Generator) -> Array:
    kind = argument.fields[0].type_name if argument.fields else argument.type_name
    count = _WIDTH.get(kind[-1], 1) * (1 if argument.buffer_size and not argument.fields else _ELEMENTS)
    if argument.buffer_size and argument.fields:
        count = argument.buffer_size // argument.fields[0].size
    base = kind.rstrip("234")
    if base == "float":
        return rng.uniform(0.05, 0.95, count).astype(np.float32)
    if base in ("long", "ulong"):  # a depth over an index, or a tile over a depth
        return rng.integers(0, 64, count) << (16 if "isect" in argument.name else 32) | rng.integers(0, 64, count)
    if argument.name == "img_size":
        return np.array([64, 8, 1, 1][:count], np.uint32)
    if argument.name in ("tile_bins", "tile_offsets"):  # (begin, end) of consecutive runs; their ends
        ends = np.arange(1, count + 1, dtype=np.int32) * 8
        return ends if argument.name == "tile_offsets" else np.stack([ends - 8, ends], 1).reshape(-1)[:count]
    if base in ("char", "uchar"):
        return rng.integers(0, 255, count).astype(np.uint8)
    return rng.integers(1, 9, count).astype(np.int32)


def _difference(a: Array, b: Array) -> float:
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    same = (a == b) | (np.isnan(wide_a) & np.isnan(wide_b))
    with np.errstate(invalid="ignore"):
        relative = np.abs(wide_a - wide_b) / np.maximum(1.0, np.abs(wide_a))
    return float(np.where(same, 0.0, np.nan_to_num(relative, nan=np.inf)).max())


def table() -> str:
    """The table as Markdown."""
    rows = ["| kernel | arguments | elements written | largest difference |", "| --- | --- | ---: | ---: |"]
    for row in compare_all():
        difference = row.fault or ("0" if row.difference == 0 else f"{row.difference:.1e}")
        rows.append(
            f"| `{row.kernel}` | {'equal' if row.same_arguments else 'differ'} | {row.written} | {difference} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
