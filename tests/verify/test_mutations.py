"""Mutation proof: verify notices every one of these small mistakes in the shaders.

Each mutant is one textual change in a shader or an include. All mutants are compiled by one glslc process; every one
must compile, differ from the original, and fail at least one small case.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from shaderc_tool.verify.cases import cases
from shaderc_tool.verify.runner import verify_kernel
from shaderc_tool.verify.vulkan_device import VulkanDevice
from tests.verify.vulkan_kernels import SHADERS, compile_shaders, kernel


class Mutant(NamedTuple):
    """Replace `old`, which occurs once in `file`, by `new`; `shader` is the kernel that is run."""

    what: str
    shader: str
    file: str
    old: str
    new: str


MUTANTS = (
    Mutant("3-bit centroid", "turbo3", "include/tbq3.glsl", "0.7560053, 1.3439093, 2", "0.7560053, 1.3349093, 2"),
    Mutant("4-bit centroid sign", "turbo4", "include/tbq4.glsl", "-0.3878412", "0.3878412"),
    Mutant("polar centroid", "polar", "include/polar.glsl", "0.397897103, 0.672", "0.397097103, 0.672"),
    Mutant("3-bit code shift", "turbo3", "include/tbq3.glsl", "codes >> 6", "codes >> 5"),
    Mutant("3-bit code mask", "turbo3_multi", "include/tbq3.glsl", "(codes >> 9) & 7u", "(codes >> 9) & 3u"),
    Mutant("4-bit code shift", "turbo4_multi", "include/tbq4.glsl", "codes >> 16", "codes >> 12"),
    Mutant("nibble halves", "turbo4", "turbo4.comp", "(lane & 4u)", "(~lane & 4u)"),
    Mutant("stream start", "turbo3", "turbo3.comp", "block + 2u", "block + 1u"),
    Mutant("codes a lane", "turbo3", "turbo3.comp", "12u * (lane", "11u * (lane"),
    Mutant("rotation sign", "turbo3", "include/tbq_rotation.glsl", "0x5A69B4D2u", "0x5A69B4D3u"),
    Mutant("rotation scale", "turbo4", "include/tbq_rotation.glsl", "0.1767766952966369", "0.1768766952966369"),
    Mutant("sign lane", "turbo4_multi", "include/tbq_rotation.glsl", "lane & 7u", "lane & 3u"),
    Mutant("transform size", "turbo3", "include/tbq_rotation.glsl", "lane, 8u", "lane, 16u"),
    Mutant("butterfly order", "polar", "include/hadamard.glsl", "other - v", "v - other"),
    Mutant("butterfly stage", "polar_get_rows", "include/hadamard.glsl", "span < lanes", "2u * span < lanes"),
    Mutant("butterfly in a lane", "tcq_rotate", "include/hadamard.glsl", "v.z - v.w);", "v.w - v.z);"),
    Mutant("reduction step", "qjl", "include/reduce.glsl", "span < width", "2u * span < width"),
    Mutant("reduction partner", "polar_preht", "include/reduce.glsl", "[lane + span]", "[lane ^ 1u]"),
    Mutant("block bytes", "turbo3", "include/tbq3.glsl", "BLOCK_BYTES 14u", "BLOCK_BYTES 16u"),
    Mutant("row stride", "turbo3_multi", "turbo3_multi.comp", "args.kv_stride_blocks * TBQ3", "4u * TBQ3"),
    Mutant("head offset", "turbo4", "turbo4.comp", "args.head_offset_bytes + (", "(args.head_offset_bytes & 15u) + ("),
    Mutant("query head", "turbo3", "include/turbo_args.glsl", "q[args.q_head * (args.head_dim / 4u) + lane]",
           "q[lane]"),
    Mutant("score row", "turbo4_multi", "include/turbo_args.glsl", "args.q_head * args.n_kv + row", "row"),
    Mutant("fp16 exponent", "turbo3_tcq", "include/key_bytes.glsl", "unpackHalf2x16(key_u16(byte_offset)).x",
           "uintBitsToFloat(((key_u16(byte_offset) & 0x7FFFu) << 13) + 0x38000000u)"),
    Mutant("fp16 half word", "turbo4_multi", "turbo4_multi.comp", "w + 4u)).y", "w + 4u)).x"),
    Mutant("unaligned word", "turbo3_tcq", "include/key_bytes.glsl", "<< (32u - shift)", "<< (31u - shift)"),
    Mutant("odd half word", "qjl", "include/key_bytes.glsl", "(byte_offset & 2u) * 8u", "(byte_offset & 2u) * 4u"),
    Mutant("trellis window", "turbo3_tcq", "turbo3_tcq.comp", "(stream >> 6) & 0x1FFu", "(stream >> 6) & 0xFFu"),
    Mutant("trellis overlap", "turbo3_tcq_multi", "include/code_stream.glsl", "(next << 12)", "(next << 13)"),
    Mutant("stream chunk", "turbo3_multi", "include/code_stream.glsl", "stream.y >> 28", "stream.y >> 27"),
    Mutant("tile pitch", "turbo3_tcq_multi", "include/key_rows.glsl", "i % KEY_ROW_WORDS", "i % KEY_ROW_PITCH + 1u"),
    Mutant("tile count", "qjl_multi", "qjl_multi.comp", "min(LANES, end - tile)", "LANES"),
    Mutant("last row", "turbo3_multi", "turbo3_multi.comp", "first + args.blocks_per_threadgroup, args.n_kv)",
           "first + args.blocks_per_threadgroup, args.n_kv - 1u)"),
    Mutant("QJL scale", "qjl", "include/qjl.glsl", "/ 256.0", "/ 255.0"),
    Mutant("QJL sign", "qjl_mul_mv", "include/qjl.glsl", "negate_where(~bits, low)", "negate_where(bits, low)"),
    Mutant("bfloat16 shift", "qjl_get_rows", "include/qjl.glsl", "bf16 << 16", "bf16 << 15"),
    Mutant("grouped heads", "qjl", "include/qjl_score_args.glsl", "head / (args.n_heads / args.n_kv_heads)",
           "head % args.n_kv_heads"),
    Mutant("nibble table", "qjl_multi", "qjl_multi.comp", "g * 16u + nibble", "g * 16u + (nibble ^ 1u)"),
    Mutant("projection row", "qjl_get_rows", "qjl_get_rows.comp", "(first_i + i) * QJL", "(first_i + i / 2u) * QJL"),
    Mutant("polar residual sign", "polar", "include/polar.glsl", "flag == 0u ? -", "flag != 0u ? -"),
    Mutant("polar sign word", "polar_preht", "include/polar.glsl", "0x2586EF0Au", "0x2586EF0Bu"),
    Mutant("polar offset", "polar", "polar.comp", "args.k_offset_bytes + row", "row"),
    Mutant("polar result offset", "polar_preht", "polar_preht.comp", "y[args.y_offset + row]", "y[row]"),
    Mutant("polar norm", "polar_get_rows", "include/polar_block.glsl", "/ float(HEAD_DIM)", "/ 127.0"),
    Mutant("TCQ sign vectors", "tcq_rotate", "tcq_rotate.comp", "0x49F250A9u", "0x49F250A8u"),
    Mutant("fp16 ties", "polar_set_rows", "include/round_half.glsl", "(1u << (count - 1u)) - 1u + odd", "0u"),
    Mutant("subnormal fp16", "turbo3_set_rows", "include/round_half.glsl", "126u - exponent", "125u - exponent"),
    Mutant("tie of the codes", "turbo4_set_rows", "turbo4_set_rows.comp", "x > MIDPOINTS[i]", "x >= MIDPOINTS[i]"),
    Mutant("decision boundary", "polar_set_rows", "polar_set_rows.comp", "0.535144610, 0.8", "0.545144610, 0.8"),
    Mutant("zero projections", "qjl_set_rows", "qjl_set_rows.comp", "projected(j) > 0.0", "projected(j) >= 0.0"),
    Mutant("neighbour's bits", "qjl_set_rows", "include/row_writer.glsl", "~own)", "0u)"),
    Mutant("destination row", "turbo3_set_rows", "turbo3_set_rows.comp", "row = rows[i]", "row = i"),
)  # fmt: skip


@pytest.fixture(scope="module")
def mutants(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """SPIR-V of every mutant by its number, compiled in one process."""
    root = tmp_path_factory.mktemp("mutants")
    return compile_shaders([_write(root, number, mutant) for number, mutant in enumerate(MUTANTS)], root)


def _write(root: Path, number: int, mutant: Mutant) -> Path:
    # An include finds its own includes next to itself first, so a mutant has all files in one folder.
    folder = root / str(number)
    folder.mkdir()
    for source in (SHADERS / f"{mutant.shader}.comp", *(SHADERS / "include").iterdir()):
        text = source.read_text("utf-8")
        if source == SHADERS / mutant.file:
            assert text.count(mutant.old) == 1, f"{mutant.what}: {text.count(mutant.old)} places"
            text = text.replace(mutant.old, mutant.new)
        name = f"{number}.comp" if source.suffix == ".comp" else source.name
        (folder / name).write_text(text, "utf-8")
    return folder / f"{number}.comp"


@pytest.mark.parametrize("number", range(len(MUTANTS)), ids=[m.what.replace(" ", "-") for m in MUTANTS])
def test_mutant_is_caught(
    number: int, device: VulkanDevice, mutants: dict[str, bytes], shaders: dict[str, bytes]
) -> None:
    name, binary = MUTANTS[number].shader, mutants[str(number)]
    assert binary != shaders[name]
    small = (case for case in cases(name) if not case.large)
    result = verify_kernel(device, kernel(name, binary), small, fail_fast=True)
    assert not result.passed
