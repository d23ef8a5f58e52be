"""Batches: their sizes, modules that a batch may get wrong, and what a rejected module is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shaderc_tool.build.glsl_run import batch_sizes
from shaderc_tool.diagnostics import Severity
from shaderc_tool.formats.spirv_conversions import may_convert_constant
from tests.build.project import Project
from tests.tools import require_glsl

UNSTEADY = """\
#version 450
#extension GL_EXT_shader_16bit_storage : enable
layout(local_size_x = 1) in;
layout(binding = 0) buffer B { float16_t b[]; };
void main() { b[0] = float16_t(0); b[1] = float16_t(%d.5); }
"""


@given(st.lists(st.integers(1, 2000), max_size=4), st.integers(1, 64))
def test_batches_take_every_file_once_and_hold_one_group_each(groups: list[int], workers: int) -> None:
    sizes = list(batch_sizes(groups, workers))
    assert all(0 < size <= 250 for size in sizes)
    ends, total = set(), 0
    for size in sizes:
        total += size
        ends.add(total)
    assert {sum(groups[: i + 1]) for i in range(len(groups))} <= ends
    assert total == sum(groups)
    assert len(sizes) >= min(workers, total // 30)


def test_batched_bytes_are_those_of_lone_processes(tmp_path: Path) -> None:
    """`float16_t(0)` reads memory that glslang never wrote; in a batch that memory is not fresh."""
    require_glsl("glslc")
    project = Project.create(tmp_path / "p", tmp_path / "cache")
    kernels = ""
    for i in range(12):
        (project.folder / f"src/h{i}.comp").write_text(UNSTEADY % i)
        kernels += f"  h{i}: {{vulkan: {{file: h{i}.comp, symbol: h{i}}}}}\n"
    manifest = project.folder / "manifest.yaml"
    manifest.write_text(manifest.read_text().replace("outputs:", kernels + "outputs:"))
    assert project.build(jobs=1).ok
    batched = {n: d for n, d in project.files().items() if n.startswith("vulkan/h")}
    assert len(batched) == 12
    assert all(may_convert_constant(data) for data in batched.values())
    # `debug` makes every module in a process of its own and leaves names in; so compile one a build instead.
    for i in range(12):
        project.output(f"vulkan/h{i}.spv").unlink()
        assert project.build(jobs=1, use_cache=True).ok
        (project.folder.parent / "cache/v1").rename(tmp_path / f"gone{i}")
    assert {n: d for n, d in project.files().items() if n.startswith("vulkan/h")} == batched


@pytest.mark.parametrize(("mode", "ok", "severity"), [("error", False, 2), ("warning", True, 1), ("off", True, None)])
def test_what_a_module_is_that_the_validator_rejects(tmp_path: Path, mode: str, ok: bool, severity: int | None) -> None:
    """A block laid out by scalar rules under std430: glslc makes it, spirv-val rejects it."""
    require_glsl("glslc")
    project = Project.create(tmp_path / "p", tmp_path / "cache")
    project.edit("manifest.yaml", "symbol: demo_plain", f"symbol: demo_plain, validate: {mode}")
    project.edit("src/plain.comp", "#version 450\n", "#version 450\n#extension GL_EXT_scalar_block_layout : enable\n")
    project.edit(
        "src/plain.comp", "layout(std430, binding = 0) readonly buffer A { float a[]; };",
        "struct S { float x; vec4 y; float z; };\nlayout(scalar, binding = 0) readonly buffer A { S a[]; };",
    )  # fmt: skip
    project.edit("src/plain.comp", "b[0] = a[0];", "b[0] = a[1].y.x;")
    result = project.build()
    assert result.ok is ok
    assert [d.severity for d in result.diagnostics if d.code == "SP3007"] == (
        [] if severity is None else [Severity(severity)]
    )
    assert project.output("vulkan/demo_plain.spv").exists() is ok
