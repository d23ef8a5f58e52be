"""The score bench runs from modules compiled before and checks what it times."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shaderc_tool.verify.vulkan_device import VulkanDevice
from tests.tools import require_tool
from tests.verify.vulkan_kernels import ROOT

ARGUMENTS = ["--tokens", "40", "--heads", "8", "--kv-heads", "2", "--copy-mib", "1", "--steps", "1",
             "--rows-per-group", "32"]  # fmt: skip


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory, device: VulkanDevice) -> Path:
    require_tool("glslc")
    folder = tmp_path_factory.mktemp("bench")
    _bench("--compile-only", str(folder)).check_returncode()
    return folder


def _bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "bench.score_kernels", *arguments]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)


def test_table(modules: Path, device: VulkanDevice) -> None:
    done = _bench("--spirv", str(modules), "--device", str(device.info.index), *ARGUMENTS)
    assert done.returncode == 0, done.stderr
    rows = [line.split("|")[1:3] for line in done.stdout.splitlines() if line.startswith("| ")]
    names = [name.strip() for name, _ in rows]
    assert names[0] == "kernel"
    assert names[2:4] == ["turbo3", "turbo3_multi"]
    assert len(names) == 12
    assert device.info.name in done.stdout


def test_wrong_scores_are_not_timed(modules: Path, tmp_path: Path) -> None:
    for module in modules.glob("*.spv"):
        shutil.copy(module, tmp_path)
    shutil.copy(modules / "turbo4.spv", tmp_path / "turbo3.spv")
    done = _bench("--spirv", str(tmp_path), *ARGUMENTS)
    assert done.returncode == 1
    assert "turbo3: scores differ" in done.stderr
