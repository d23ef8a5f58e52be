"""The compute shaders with their dispatches, compiled once a test run by one glslc process."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from shaderc_tool.verify.runner import Kernel
from tests.tools import require_tool

ROOT: Final = Path(__file__).resolve().parents[2]
SHADERS: Final = ROOT / "vulkan"

_TURBO: Final = ("head_dim", "n_kv", "kv_stride_blocks", "q_head", "head_offset_bytes")
_QJL: Final = ("n_heads", "n_kv_heads", "n_tokens", "proj_dim")
_POLAR: Final = ("n_rows", "head_dim", "use_qjl", "k_offset_bytes", "q_offset", "y_offset")
_ROWS: Final = ("n_rows",)
_TILES: Final = ("ceil_div(n_kv, blocks_per_threadgroup)",)

_KV: Final = ("q", "k", "scores")
_TCQ: Final = ("q", "k", "scores", "codebook")
_SKETCH: Final = ("q_sketch", "packed_k", "scores")
_SET_ROWS: Final = ("src", "rows", "dst")

DISPATCHES: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]]] = {
    "turbo3": (_KV, _TURBO, ("n_kv",)),
    "turbo4": (_KV, _TURBO, ("n_kv",)),
    "turbo3_tcq": (_TCQ, _TURBO, ("n_kv",)),
    "turbo3_multi": (_KV, (*_TURBO, "blocks_per_threadgroup"), _TILES),
    "turbo4_multi": (_KV, (*_TURBO, "blocks_per_threadgroup"), _TILES),
    "turbo3_tcq_multi": (_TCQ, (*_TURBO, "blocks_per_threadgroup"), _TILES),
    "tcq_rotate": (("q", "out"), ("n_rows", "head_dim"), _ROWS),
    "qjl": (_SKETCH, _QJL, ("n_heads", "n_tokens")),
    "qjl_multi": (
        _SKETCH,
        (*_QJL, "tokens_per_threadgroup"),
        ("n_heads", "ceil_div(n_tokens, tokens_per_threadgroup)"),
    ),
    "qjl_get_rows": (("block", "projection", "out"), ("head_dim", "proj_dim"), _ROWS),
    "qjl_mul_mv": (("k", "q_sketch", "y"), ("n_rows", "proj_dim"), _ROWS),
    "polar": (("k", "q", "y"), _POLAR, _ROWS),
    "polar_preht": (("k", "q", "y"), _POLAR, _ROWS),
    "polar_get_rows": (("block", "out"), ("head_dim", "use_qjl"), _ROWS),
    "turbo3_set_rows": (_SET_ROWS, ("n_rows", "head_dim"), _ROWS),
    "turbo4_set_rows": (_SET_ROWS, ("n_rows", "head_dim"), _ROWS),
    "polar_set_rows": (_SET_ROWS, ("n_rows", "head_dim"), _ROWS),
    "qjl_set_rows": ((*_SET_ROWS, "projection"), ("n_rows", "head_dim", "proj_dim"), _ROWS),
}
"""Shader → roles by binding index, push constants, grid."""


def compile_shaders(sources: Iterable[Path], out: Path, include: Path = SHADERS / "include") -> dict[str, bytes]:
    """Compile compute shaders as the build does; file stem → SPIR-V."""
    files = list(sources)
    argv = [require_tool("glslc"), "-c", "-fshader-stage=compute", "--target-env=vulkan1.2", "-O", f"-I{include}"]
    done = subprocess.run([*argv, *map(str, files)], cwd=out, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {file.stem: (out / f"{file.name}.spv").read_bytes() for file in files}


def kernel(name: str, binary: bytes) -> Kernel:
    """The kernel with its declared dispatch."""
    roles, constants, grid = DISPATCHES[name]
    return Kernel(name, binary, "main", dict(enumerate(roles)), constants, grid)
