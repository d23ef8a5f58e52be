"""A Vulkan device and the built shaders, shared by the tests that run kernels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from shaderc_tool.diagnostics import ToolMissingError
from shaderc_tool.verify.vulkan_device import VulkanDevice, open_device
from tests.tools import missing
from tests.verify.vulkan_kernels import DISPATCHES, SHADERS, compile_shaders


@pytest.fixture(scope="session")
def device() -> Iterator[VulkanDevice]:
    """The best Vulkan device: lavapipe on machines without a GPU."""
    try:
        with open_device() as opened:
            yield opened
    except ToolMissingError as error:
        missing(str(error))


@pytest.fixture(scope="session")
def shaders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Every compute shader by file stem."""
    return compile_shaders([SHADERS / f"{name}.comp" for name in DISPATCHES], tmp_path_factory.mktemp("spirv"))
