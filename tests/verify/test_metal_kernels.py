"""The Metal sources: they compile alone and together, keep their interface, and give the references' results."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from shaderc_tool.verify.cases import REFERENCES, cases
from shaderc_tool.verify.references import tcq
from shaderc_tool.verify.runner import verify_kernel
from tests.verify.metal_kernels import ENTRIES, FILES, SOURCES, AirBackend, compile_source, kernel


@pytest.fixture(scope="session")
def shim_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("msl-shim")


@pytest.fixture(scope="session")
def air(shim_cache: Path) -> dict[str, bytes]:
    """AIR of each source by file stem."""
    modules = {}
    for name in FILES:
        result = compile_source((SOURCES / f"{name}.metal").read_text(), f"{name}.metal", SOURCES, shim_cache)
        assert result.status == "clean", result.diagnostics
        assert result.bitcode is not None
        modules[name] = result.bitcode
    return modules


def test_every_source_is_declared_and_has_a_reference() -> None:
    assert tuple(sorted(file.stem for file in SOURCES.glob("*.metal"))) == FILES
    assert ENTRIES.keys() == set(REFERENCES)


@pytest.mark.parametrize("reference", ENTRIES)
def test_small_cases(reference: str, air: dict[str, bytes]) -> None:
    small = [case for case in cases(reference) if not case.large]
    result = verify_kernel(AirBackend(), kernel(reference, air[ENTRIES[reference].file]), small)
    assert result.passed, result.diagnostics()
    # The Metal argument struct of Q4_POLAR products has no offsets; buffers are bound with them.
    assert len(result.skipped) == (2 if reference in ("polar", "polar_preht") else 0)


@pytest.mark.parametrize("reference", ["turbo3_multi", "qjl", "polar_preht"])
def test_more_rows_than_one_grid_dimension_holds(reference: str, air: dict[str, bytes]) -> None:
    large = [case for case in cases(reference) if case.large]
    result = verify_kernel(AirBackend(), kernel(reference, air[ENTRIES[reference].file]), large)
    assert result.passed, result.diagnostics()


@pytest.mark.corpus
@pytest.mark.parametrize("reference", ENTRIES)
def test_all_cases(reference: str, air: dict[str, bytes]) -> None:
    result = verify_kernel(AirBackend(), kernel(reference, air[ENTRIES[reference].file]), cases(reference))
    assert result.passed, result.diagnostics()


def test_sources_compile_as_one_translation_unit(shim_cache: Path) -> None:
    text = "\n".join((SOURCES / f"{name}.metal").read_text() for name in FILES)
    result = compile_source(text, "all.metal", SOURCES, shim_cache)
    assert result.status == "clean", result.diagnostics
    assert {k.name for k in result.kernels} == {entry.function for entry in ENTRIES.values()}


@pytest.mark.parametrize("reference", ENTRIES)
def test_signature(reference: str) -> None:
    """Buffer indices, argument struct, and one vector width for all position attributes."""
    entry = ENTRIES[reference]
    source = (SOURCES / f"{entry.file}.metal").read_text()
    match = re.search(rf"kernel void {entry.function}\((.*?)\) \{{", source, re.DOTALL)
    assert match is not None
    parameters = match[1].split(",\n")
    buffers = [p for p in parameters if "[[buffer(" in p]
    assert [int(i) for p in buffers for i in re.findall(r"\[\[buffer\((\d+)\)\]\]", p)] == list(range(len(buffers)))
    assert len(buffers) == len(entry.roles) + 1
    assert f"constant milady_{entry.args}_args &args" in buffers[-1]
    positions = [p.split()[0] for p in parameters if "[[buffer(" not in p]
    assert set(positions) == {"uint3"}


def test_argument_structs_hold_the_declared_members() -> None:
    header = (SOURCES / "milady_args.h").read_text()
    for entry in ENTRIES.values():
        body = re.search(rf"typedef struct milady_{entry.args}_args {{(.*?)}}", header, re.DOTALL)
        assert body is not None, entry.args
        assert tuple(re.findall(r"uint32_t (\w+);", body[1])) == entry.members
        assert f"MILADY_ASSERT_SIZE(milady_{entry.args}_args, {4 * len(entry.members)});" in header


def test_host_codebook_equals_the_reference() -> None:
    text = (SOURCES / "milady_tcq_codebook.h").read_text()
    values = np.array([float(v) for v in re.findall(r"(-?[\d.]+)f,", text)], dtype=np.float32)
    np.testing.assert_array_equal(values, tcq.codebook())


# One fault each: file, what it is, what it becomes, and the references that must notice.
MUTATIONS = [
    ("turbo3.metal", "-1.3439093f, -0.7560053f", "1.3439093f, -0.7560053f", "turbo3"),
    ("turbo3.metal", "0.50054975f, 1.0499573f", "0.5105f, 1.0499573f", "turbo3_set_rows"),
    ("turbo3.metal", "qs[bit / 8 + 1]) << 8", "qs[bit / 8 + 1]) << 7", "turbo3"),
    ("turbo3.metal", "if (d > 0.0f)", "if (float(half(d)) > 0.0f)", "turbo3_set_rows"),
    ("turbo3.metal", "x > milady_tbq3", "x >= milady_tbq3", "turbo3_set_rows"),
    ("turbo3.metal", "rows[row]", "row", "turbo3_set_rows"),
    ("turbo3.metal", "* stride_blocks", "* 4", "turbo3"),
    ("turbo3.metal", "(k + head_offset_bytes)", "k", "turbo3"),
    ("turbo3.metal", "scores[args.q_head * args.n_kv + row]", "scores[row]", "turbo3_multi"),
    ("turbo3.metal", "q + args.q_head * MILADY_HEAD_DIM", "q", "turbo3_multi"),
    ("turbo3.metal", "float(block->d)", "float(block->d) * (float(block->d) < 6e-5f ? 0.5f : 1.0f)", "turbo3"),
    ("milady_tbq.h", "0x5a69b4d2u", "0x5a69b4d3u", "turbo4"),
    ("milady_common.h", "group.x + group.y * groups.x", "group.x", "turbo3_multi large"),
    ("milady_common.h", "other - v", "v - other", "tcq_rotate"),
    ("turbo4.metal", "lane & 4u", "lane & 8u", "turbo4"),
    ("turbo4.metal", "0.1283243f,  0.3878412f", "0.1283243f,  0.3878f", "turbo4"),
    ("turbo4.metal", "ushort(4)) << 4", "ushort(4)) << 3", "turbo4_set_rows"),
    ("turbo3_tcq.metal", "(states >> 9) & 511", "(states >> 9) & 255", "turbo3_tcq"),
    ("turbo3_tcq.metal", "0x16acee90u", "0x16acee91u", "tcq_rotate"),
    ("qjl.metal", "~signs >> 4", "~signs >> 3", "qjl_mul_mv"),
    ("qjl.metal", "head / (args.n_heads / args.n_kv_heads)", "head % args.n_kv_heads", "qjl"),
    ("qjl.metal", "bits + 0x7fffu", "bits + 0u", "qjl_set_rows"),
    ("qjl.metal", "group.y + group.z * groups.y", "group.y", "qjl large"),
    ("polar.metal", "block->qjl[0] & 1) != 0", "block->qjl[0] & 1) == 0", "polar_get_rows"),
    ("polar.metal", "0.04419417382415922f", "0.0443f", "polar"),
    ("polar.metal", "x > milady_polar", "x >= milady_polar", "polar_set_rows"),
    ("polar.metal", "lane < 16", "lane < 15", "polar_set_rows"),
    ("polar.metal", "(norm > 0.0f ? 1.0f / norm : 0.0f)", "(1.0f / norm)", "polar_set_rows"),
]


@pytest.mark.parametrize(("file", "was", "becomes", "noticed_by"), MUTATIONS)
def test_mutation_is_caught(
    tmp_path: Path, shim_cache: Path, file: str, was: str, becomes: str, noticed_by: str
) -> None:
    sources = tmp_path / "metal"
    shutil.copytree(SOURCES, sources)
    text = (sources / file).read_text()
    assert was in text
    (sources / file).write_text(text.replace(was, becomes))
    reference, _, large = noticed_by.partition(" ")
    source = sources / f"{ENTRIES[reference].file}.metal"
    result = compile_source(source.read_text(), source.name, sources, shim_cache)
    assert result.bitcode is not None, result.diagnostics
    chosen = (case for case in cases(reference) if case.large == bool(large))
    assert not verify_kernel(AirBackend(), kernel(reference, result.bitcode), chosen, fail_fast=True).passed
