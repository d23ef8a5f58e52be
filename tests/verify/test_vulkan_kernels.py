"""Every compute shader, as built, gives the references' results on a real Vulkan device, and nothing but them."""

from __future__ import annotations

import subprocess
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from shaderc_tool.verify.case import Case
from shaderc_tool.verify.cases import REFERENCES, cases
from shaderc_tool.verify.runner import verify_kernel
from shaderc_tool.verify.vulkan_device import VulkanDevice
from tests.tools import require_tool
from tests.verify.vulkan_kernels import DISPATCHES, SHADERS, kernel


def test_every_shader_is_declared_and_has_a_reference() -> None:
    assert {file.stem for file in SHADERS.glob("*.comp")} == DISPATCHES.keys() == set(REFERENCES)


@pytest.mark.parametrize("name", DISPATCHES)
def test_small_cases(name: str, device: VulkanDevice, shaders: dict[str, bytes]) -> None:
    small = [case for case in cases(name) if not case.large]
    result = verify_kernel(device, kernel(name, shaders[name]), small)
    assert result.passed, result.diagnostics()
    assert len(result.cases) == len(small)


@pytest.mark.parametrize("name", ["turbo3", "qjl", "polar_preht", "turbo4_set_rows"])
def test_more_rows_than_one_grid_dimension_holds(name: str, device: VulkanDevice, shaders: dict[str, bytes]) -> None:
    """One kernel for each way of folding; the corpus run takes the rest."""
    result = verify_kernel(device, kernel(name, shaders[name]), [c for c in cases(name) if c.large])
    assert result.passed, result.diagnostics()


@pytest.mark.corpus
@pytest.mark.parametrize("name", DISPATCHES)
def test_all_cases(name: str, device: VulkanDevice, shaders: dict[str, bytes]) -> None:
    result = verify_kernel(device, kernel(name, shaders[name]), cases(name))
    assert result.passed, result.diagnostics()
    assert not result.skipped


@pytest.mark.parametrize("name", DISPATCHES)
def test_modules_need_no_feature(name: str, shaders: dict[str, bytes], tmp_path: Path) -> None:
    module = tmp_path / "module.spv"
    module.write_bytes(shaders[name])
    subprocess.run([require_tool("spirv-val"), "--target-env", "vulkan1.2", str(module)], check=True)
    text = subprocess.run(
        [require_tool("spirv-dis"), "--no-color", str(module)], check=True, capture_output=True, text=True
    ).stdout
    assert [line.split()[1] for line in text.splitlines() if line.split()[:1] == ["OpCapability"]] == ["Shader"]
    assert "OpExtension " not in text
    assert "LocalSize 32 1 1" in text


def test_get_rows_over_more_blocks_than_one_dimension_holds(device: VulkanDevice, shaders: dict[str, bytes]) -> None:
    """Cases of get_rows stay small; folding is checked here by equal blocks in every row."""
    case = next(c for c in cases("polar_get_rows") if c.name == "one-block")
    rows = 66_001  # folds into 2 x 33001, one work-group too many
    many = Case(
        name="n66001",
        buffers={"block": np.tile(case.buffers["block"], rows)},
        params={**case.params, "n_rows": rows},
        expected={"out": np.tile(case.expected["out"], rows)},
        atol=case.atol,
    )
    result = verify_kernel(device, kernel("polar_get_rows", shaders["polar_get_rows"]), [many])
    assert result.passed, result.diagnostics()


@pytest.mark.parametrize("name", ["turbo3", "qjl_mul_mv", "polar"])
def test_unsupported_sizes_write_nothing(name: str, device: VulkanDevice, shaders: dict[str, bytes]) -> None:
    """head_dim or proj_dim other than 128 or 256: the output stays poisoned, and verify says so."""
    case = next(islice(cases(name), 1, None))
    member = "proj_dim" if name == "qjl_mul_mv" else "head_dim"
    result = verify_kernel(
        device,
        kernel(name, shaders[name]),
        [Case(case.name, case.buffers, {**case.params, member: 64}, case.expected, case.atol)],
    )
    assert [f.code for f in result.cases[0].failures] == ["SP5003"]


def test_dispatch_reports_device_time(device: VulkanDevice, shaders: dict[str, bytes]) -> None:
    case = next(iter(cases("tcq_rotate")))
    result = verify_kernel(device, kernel("tcq_rotate", shaders["tcq_rotate"]), [case], repeats=3)
    assert 0 < result.milliseconds < 10_000
