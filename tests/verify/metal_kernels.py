"""The Metal kernels with their dispatches, compiled by the portable front end and run from AIR on the CPU."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from shaderc_tool.msl.compiler import compile_msl
from shaderc_tool.msl.options import MslOptions, MslResult
from shaderc_tool.verify import air_cpu
from shaderc_tool.verify.backend import DeviceInfo, Dispatch, Result
from shaderc_tool.verify.runner import Kernel

ROOT: Final = Path(__file__).resolve().parents[2]
SOURCES: Final = ROOT / "metal"

_TURBO: Final = ("head_dim", "n_kv", "kv_stride_blocks", "q_head", "head_offset_bytes")
_QJL: Final = ("n_heads", "n_kv_heads", "n_tokens", "proj_dim")
_POLAR: Final = ("n_rows", "head_dim", "use_qjl")
_ROWS: Final = ("n_rows",)
_TILES: Final = ("ceil_div(n_kv, blocks_per_threadgroup)",)
_KV: Final = ("q", "k", "scores")
_TCQ: Final = ("q", "k", "scores", "codebook")
_SKETCH: Final = ("q_sketch", "packed_k", "scores")
_SET_ROWS: Final = ("src", "rows", "dst")


@dataclass(frozen=True)
class Entry:
    """A kernel function. `roles` by buffer index; the argument struct `args` has the index after them."""

    file: str
    function: str
    roles: tuple[str, ...]
    args: str
    members: tuple[str, ...]
    grid: tuple[str, ...]


ENTRIES: Final[dict[str, Entry]] = {
    "turbo3": Entry("turbo3", "kernel_turbo3_dot", _KV, "turbo_dot", _TURBO, ("n_kv",)),
    "turbo4": Entry("turbo4", "kernel_turbo4_dot", _KV, "turbo_dot", _TURBO, ("n_kv",)),
    "turbo3_tcq": Entry("turbo3_tcq", "kernel_turbo3_tcq_dot", _TCQ, "turbo_dot", _TURBO, ("n_kv",)),
    "turbo3_multi": Entry(
        "turbo3", "kernel_turbo3_dot_multi", _KV, "turbo_dot_multi", (*_TURBO, "blocks_per_threadgroup"), _TILES
    ),
    "turbo4_multi": Entry(
        "turbo4", "kernel_turbo4_dot_multi", _KV, "turbo_dot_multi", (*_TURBO, "blocks_per_threadgroup"), _TILES
    ),
    "turbo3_tcq_multi": Entry(
        "turbo3_tcq",
        "kernel_turbo3_tcq_dot_multi",
        _TCQ,
        "turbo_dot_multi",
        (*_TURBO, "blocks_per_threadgroup"),
        _TILES,
    ),
    "tcq_rotate": Entry(
        "turbo3_tcq", "kernel_turbo3_tcq_rotate", ("q", "out"), "rotate", ("n_rows", "head_dim"), _ROWS
    ),
    "qjl": Entry("qjl", "kernel_attn_score_qjl1_256", _SKETCH, "qjl_score", _QJL, ("n_heads", "n_tokens")),
    "qjl_multi": Entry(
        "qjl",
        "kernel_attn_score_qjl1_256_multi",
        _SKETCH,
        "qjl_score_multi",
        (*_QJL, "tokens_per_threadgroup"),
        ("n_heads", "ceil_div(n_tokens, tokens_per_threadgroup)"),
    ),
    "qjl_get_rows": Entry(
        "qjl",
        "kernel_get_rows_qjl1_256",
        ("block", "projection", "out"),
        "qjl_dequant",
        ("head_dim", "proj_dim"),
        _ROWS,
    ),
    "qjl_mul_mv": Entry(
        "qjl", "kernel_mul_mv_qjl1_256_f32", ("k", "q_sketch", "y"), "qjl_mv", ("n_rows", "proj_dim"), _ROWS
    ),
    "polar": Entry("polar", "kernel_mul_mv_q4_polar_f32", ("k", "q", "y"), "polar_mv", _POLAR, _ROWS),
    "polar_preht": Entry("polar", "kernel_mul_mv_q4_polar_preht_f32", ("k", "q", "y"), "polar_mv", _POLAR, _ROWS),
    "polar_get_rows": Entry(
        "polar", "kernel_get_rows_q4_polar", ("block", "out"), "polar_dequant", ("head_dim", "use_qjl"), _ROWS
    ),
    "turbo3_set_rows": Entry("turbo3", "kernel_turbo3_set_rows", _SET_ROWS, "set_rows", ("n_rows", "head_dim"), _ROWS),
    "turbo4_set_rows": Entry("turbo4", "kernel_turbo4_set_rows", _SET_ROWS, "set_rows", ("n_rows", "head_dim"), _ROWS),
    "polar_set_rows": Entry("polar", "kernel_set_rows_q4_polar", _SET_ROWS, "set_rows", ("n_rows", "head_dim"), _ROWS),
    "qjl_set_rows": Entry(
        "qjl",
        "kernel_set_rows_qjl1_256",
        (*_SET_ROWS, "projection"),
        "qjl_set_rows",
        ("n_rows", "head_dim", "proj_dim"),
        _ROWS,
    ),
}
"""Reference → kernel; interfaces as in docs/kernels.md."""

FILES: Final = tuple(sorted({entry.file for entry in ENTRIES.values()}))


@dataclass(frozen=True)
class _Completed:
    status: int
    stdout: bytes
    stderr: bytes


def _run(argv: Sequence[str], cwd: Path, stdin: bytes) -> _Completed:
    done = subprocess.run(argv, cwd=cwd, input=stdin, capture_output=True, check=False)
    return _Completed(done.returncode, done.stdout, done.stderr)


def compile_source(text: str, name: str, folder: Path, cache: Path) -> MslResult:
    """Compile one source whose includes lie in `folder`."""
    return compile_msl(text, name, MslOptions(cache_dir=cache), _run, folder)


@lru_cache(maxsize=1)
def _compiled(air: bytes, entry: str) -> air_cpu.Kernel:
    return air_cpu.load(air, entry)


class AirBackend:
    """Runs AIR on the CPU behind the runner's interface; binds exactly the contents of each buffer."""

    info = DeviceInfo(0, "AIR on the CPU", "cpu", "llvm", "")
    max_groups = (2**31, 2**31, 2**31)

    def run(self, dispatch: Dispatch) -> Result:
        bound = {binding.index: np.frombuffer(binding.contents, np.uint8).copy() for binding in dispatch.buffers}
        args = np.frombuffer(dispatch.constants, np.uint32)
        done = _compiled(dispatch.binary, dispatch.entry).dispatch(
            [*(bound[index] for index in sorted(bound)), args], threadgroup=(32, 1, 1), grid=dispatch.groups
        )
        return Result({index: array.tobytes() for index, array in bound.items()}, done.seconds * 1e3, False)


def kernel(reference: str, air: bytes) -> Kernel:
    """The kernel with its declared dispatch."""
    entry = ENTRIES[reference]
    return Kernel(entry.function, air, entry.function, dict(enumerate(entry.roles)), entry.members, entry.grid)
