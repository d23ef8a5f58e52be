"""Score kernels on a Vulkan device against its measured copy bandwidth, single-row against multi-row.

    python -m bench.score_kernels                          # compiles the shaders with glslc
    python -m bench.score_kernels --compile-only DIR       # compiles, runs nothing
    python -m bench.score_kernels --spirv DIR              # runs modules compiled before; needs no compiler

One decoding step of attention: 32 query heads over 8 key heads and 32768 tokens, keys of all heads side by side for
each token as in a ggml cache (Q4_POLAR: head by head, its kernel knows no row stride). Bytes counted are key bytes
requested: every query head reads the rows of its key head. Four query heads share a key head, so a cache may serve
three of four requests; "unique" counts each key once. Keys of 32768 tokens fit the second-level cache of large GPUs;
--tokens 1048576 goes to memory. Copy bandwidth counts bytes read plus bytes written.
Scores of a sample of rows are compared with the references before anything is timed.
"""

from __future__ import annotations

import argparse
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shaderc_tool.verify import grid
from shaderc_tool.verify.references import common, polar, qjl, tcq
from shaderc_tool.verify.references.common import F32, F64, HEAD_DIM, U8
from shaderc_tool.verify.references.tbq import TBQ3, TBQ4
from shaderc_tool.verify.vulkan_device import Copy, Launch, Pipeline, VulkanDevice, open_device

ROOT = Path(__file__).resolve().parent.parent
SHADERS = ("turbo3", "turbo4", "turbo3_tcq", "qjl", "polar", "polar_preht")
MULTI = ("turbo3_multi", "turbo4_multi", "turbo3_tcq_multi", "qjl_multi")
SAMPLE_ROWS = 64
RUNS = 7


@dataclass(frozen=True)
class Shape:
    """Sizes of one decoding step."""

    heads: int
    kv_heads: int
    tokens: int

    @property
    def group(self) -> int:
        return self.heads // self.kv_heads


@dataclass(frozen=True)
class Workload:
    """Buffers by binding, the dispatches of one step, and the scores that rows 0..SAMPLE_ROWS-1 must get."""

    row_bytes: int
    buffers: Mapping[int, bytes]
    output: int
    dispatches: Callable[[int], list[tuple[bytes, tuple[int, ...]]]]
    expected: F64


@dataclass(frozen=True)
class Measured:
    """One line of the table."""

    name: str
    rows_per_group: int
    milliseconds: float
    requested: int
    unique: int


def main() -> None:
    """Measure and print the tables."""
    options = _options()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.compile_only or options.spirv or Path(scratch)
        if not options.spirv:
            _compile(folder)
        if options.compile_only:
            return
        with open_device(options.device) as device:
            _report(device, folder, Shape(options.heads, options.kv_heads, options.tokens), options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spirv", type=Path, help="folder with <name>.spv or milady_<name>.spv, and copy.spv")
    parser.add_argument("--compile-only", type=Path, metavar="DIR", help="write the SPIR-V modules and stop")
    parser.add_argument("--device", help="index or part of the name")
    parser.add_argument("--heads", type=int, default=32)
    parser.add_argument("--kv-heads", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=32768)
    parser.add_argument("--rows-per-group", type=int, nargs="+", default=[32, 64, 128, 256], metavar="N")
    parser.add_argument("--copy-mib", type=int, default=1024, help="size of the copy that measures bandwidth")
    parser.add_argument("--steps", type=int, default=10, help="decoding steps in one timed submission")
    return parser.parse_args()


def _compile(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    sources = [ROOT / "vulkan" / f"{name}.comp" for name in (*SHADERS, *MULTI)]
    sources.append(ROOT / "bench/shaders/copy.comp")
    argv = ["glslc", "-c", "-fshader-stage=compute", "--target-env=vulkan1.2", "-O", f"-I{ROOT}/vulkan/include"]
    subprocess.run([*argv, *map(str, sources)], cwd=folder, check=True)
    for source in sources:
        (folder / f"{source.name}.spv").replace(folder / f"{source.stem}.spv")


def _module(folder: Path, name: str) -> bytes:
    plain = folder / f"{name}.spv"
    return (plain if plain.is_file() else folder / f"milady_{name}.spv").read_bytes()


def _report(device: VulkanDevice, folder: Path, shape: Shape, options: argparse.Namespace) -> None:
    print(f"{device.info}, Vulkan {device.info.api_version}")
    print(f"{shape.heads} heads, {shape.kv_heads} key heads, {shape.tokens} tokens\n")
    copy = max(_copy_speeds(device, folder, options.copy_mib << 20))
    print("| kernel | rows a group | ms | GB/s requested | GB/s unique | requested / copy | vs single row |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in SHADERS:
        single = _measure(device, folder, name, 1, shape, options.steps)
        _print_line(single, copy, single)
        if f"{name}_multi" in MULTI:
            for rows in options.rows_per_group:
                _print_line(_measure(device, folder, f"{name}_multi", rows, shape, options.steps), copy, single)


def _print_line(line: Measured, copy: float, single: Measured) -> None:
    requested, unique = (n / line.milliseconds / 1e6 for n in (line.requested, line.unique))
    faster = single.milliseconds / line.milliseconds
    print(
        f"| {line.name} | {line.rows_per_group} | {line.milliseconds:.4f} | {requested:.2f} | {unique:.2f} "
        f"| {requested / copy:.2f} | {faster:.2f} |",
        flush=True,
    )


def _copy_speeds(device: VulkanDevice, folder: Path, size: int) -> list[float]:
    """GB/s of vkCmdCopyBuffer and of the copy kernel; read plus write."""
    size = min(size, device.physical.limits.storage_buffer_bytes) & ~0xFFFF
    with ExitStack() as scope:
        source, destination = device.buffer(scope, size), device.buffer(scope, size)
        pipeline = device.pipeline(scope, _module(folder, "copy"), "main", [0, 1], 0)
        bound = device.descriptors(scope, pipeline, {0: (source, size), 1: (destination, size)})
        launch = Launch(pipeline, bound, b"", grid.fold([size // (16 * 256)]))
        speeds = []
        for name, command in (("vkCmdCopyBuffer", Copy(source, destination, size)), ("copy kernel", launch)):
            speeds.append(2 * size / _best(device, [command]) / 1e6)
            print(f"{name}: {speeds[-1]:.1f} GB/s over {size >> 20} MiB")
    print()
    return speeds


def _best(device: VulkanDevice, commands: list[Launch | Copy]) -> float:
    """Milliseconds of the fastest of RUNS submissions, after one to warm up."""
    device.submit(commands)
    return min(device.submit(commands).milliseconds for _ in range(RUNS))


def _measure(device: VulkanDevice, folder: Path, name: str, rows: int, shape: Shape, steps: int) -> Measured:
    load = WORKLOADS[name.removesuffix("_multi")](shape)
    multi = name.endswith("_multi")
    dispatches = load.dispatches(rows if multi else 0)
    with ExitStack() as scope:
        pipeline = device.pipeline(scope, _module(folder, name), "main", list(load.buffers), len(dispatches[0][0]))
        buffers = {index: device.buffer(scope, len(contents)) for index, contents in load.buffers.items()}
        for index, contents in load.buffers.items():
            device.write(buffers[index], contents)
        bound = device.descriptors(scope, pipeline, {index: (b, b.size) for index, b in buffers.items()})
        commands = list(_launches(pipeline, bound, dispatches))
        device.submit(commands)
        _check(name, np.frombuffer(device.read(buffers[load.output]), np.float32), load.expected, shape)
        milliseconds = _best(device, commands * steps) / steps
    keys = shape.tokens * load.row_bytes
    return Measured(name, rows, milliseconds, shape.heads * keys, shape.kv_heads * keys)


def _launches(
    pipeline: Pipeline, bound: Any, dispatches: list[tuple[bytes, tuple[int, ...]]]
) -> Iterator[Launch | Copy]:
    for constants, groups in dispatches:
        yield Launch(pipeline, bound, constants, grid.fold(groups))


def _check(name: str, scores: F32, expected: F64, shape: Shape) -> None:
    got = scores[: shape.heads * shape.tokens].reshape(shape.heads, shape.tokens)[:, : expected.shape[1]]
    worst = float(np.abs(got - expected).max())
    if not worst <= 1e-3:
        raise SystemExit(f"{name}: scores differ from the reference by {worst}")


def _random_blocks(n: int, block_bytes: int) -> U8:
    blocks = np.random.default_rng(1).integers(0, 256, (n, block_bytes), dtype=np.uint8)
    blocks[:, :2] = common.fp16_bytes(np.float64(1 / 16))
    return blocks


def _queries(heads: int, size: int) -> F32:
    return np.random.default_rng(2).standard_normal((heads, size)).astype(np.float32)


def _ceil_div(dividend: int, divisor: int) -> int:
    return -(-dividend // divisor)


def _u32(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def _turbo(
    shape: Shape, block_bytes: int, blocks_per_row: int, terms: Callable[[F64, U8], F64], codebook: F32 | None = None
) -> Workload:
    row_bytes = block_bytes * blocks_per_row
    blocks = _random_blocks(shape.tokens * shape.kv_heads * blocks_per_row, block_bytes)
    q = _queries(shape.heads, HEAD_DIM)
    sample = blocks.reshape(shape.tokens, shape.kv_heads, row_bytes)[:SAMPLE_ROWS]
    expected = np.stack(
        [terms(q[h].astype(np.float64), sample[:, h // shape.group]).sum(axis=-1) for h in range(shape.heads)]
    )
    buffers: dict[int, bytes] = {0: q.tobytes(), 1: blocks.tobytes(), 2: bytes(4 * shape.heads * shape.tokens)}
    if codebook is not None:
        buffers[3] = codebook.tobytes()

    def dispatches(rows: int) -> list[tuple[bytes, tuple[int, ...]]]:
        """One dispatch a query head, without barriers, so that the device may run them together."""
        stride = shape.kv_heads * blocks_per_row
        extra = (rows,) if rows else ()
        groups = (_ceil_div(shape.tokens, rows or 1),)
        return [
            (_u32(HEAD_DIM, shape.tokens, stride, h, h // shape.group * row_bytes, *extra), groups)
            for h in range(shape.heads)
        ]

    return Workload(row_bytes, buffers, 2, dispatches, expected)


def _qjl(shape: Shape) -> Workload:
    blocks = _random_blocks(shape.kv_heads * shape.tokens, qjl.BLOCK_BYTES)
    blocks[:, 32:] = common.bf16_bytes(np.ones(1, dtype=np.float32))
    by_head = blocks.reshape(shape.kv_heads, shape.tokens, -1)
    sketches = _queries(shape.heads, qjl.PROJ_DIM)
    buffers = {0: sketches.tobytes(), 1: blocks.tobytes(), 2: bytes(4 * shape.heads * shape.tokens)}

    def dispatches(rows: int) -> list[tuple[bytes, tuple[int, ...]]]:
        extra = (rows,) if rows else ()
        constants = _u32(shape.heads, shape.kv_heads, shape.tokens, qjl.PROJ_DIM, *extra)
        return [(constants, (shape.heads, _ceil_div(shape.tokens, rows or 1)))]

    expected = qjl.scores(sketches.astype(np.float64), by_head[:, :SAMPLE_ROWS])
    return Workload(qjl.BLOCK_BYTES, buffers, 2, dispatches, expected)


def _polar(shape: Shape, *, transformed: bool) -> Workload:
    blocks = _random_blocks(shape.kv_heads * shape.tokens, polar.BLOCK_BYTES)
    by_head = blocks.reshape(shape.kv_heads, shape.tokens, -1)
    q = _queries(shape.heads, HEAD_DIM)
    spectrum: NDArray[np.float64] = q.astype(np.float64) if transformed else common.hadamard(q.astype(np.float64))
    expected = np.stack(
        [
            polar.mul_mv_terms(by_head[h // shape.group, :SAMPLE_ROWS], spectrum[h], residual=False).sum(axis=-1)
            for h in range(shape.heads)
        ]
    )

    def dispatches(rows: int) -> list[tuple[bytes, tuple[int, ...]]]:
        head_bytes = shape.tokens * polar.BLOCK_BYTES
        return [
            (
                _u32(shape.tokens, HEAD_DIM, 0, h // shape.group * head_bytes, h * HEAD_DIM, h * shape.tokens),
                (shape.tokens,),
            )
            for h in range(shape.heads)
        ]

    buffers = {0: blocks.tobytes(), 1: q.tobytes(), 2: bytes(4 * shape.heads * shape.tokens)}
    return Workload(polar.BLOCK_BYTES, buffers, 2, dispatches, expected)


WORKLOADS: dict[str, Callable[[Shape], Workload]] = {
    "turbo3": lambda shape: _turbo(shape, TBQ3.block_bytes, TBQ3.blocks_per_row, TBQ3.score_terms),
    "turbo4": lambda shape: _turbo(shape, TBQ4.block_bytes, TBQ4.blocks_per_row, TBQ4.score_terms),
    "turbo3_tcq": lambda shape: _turbo(shape, tcq.BLOCK_BYTES, 1, tcq.score_terms, tcq.codebook()),
    "qjl": _qjl,
    "polar": lambda shape: _polar(shape, transformed=False),
    "polar_preht": lambda shape: _polar(shape, transformed=True),
}

if __name__ == "__main__":
    main()
