"""The patched Vulkan CMake of the real trees, with the real glslc: 16 symbols, and SPIR-V equal to a build of ours."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from shaderc_tool.cli import cli
from tests.patch.cmake import Project
from tests.patch.test_metal_cmake import patched, real_tree
from tests.patch.trees import MANIFEST, SHADERS, snapshot
from tests.tools import require_tool

OTHERS = ("fill", "diag")
"""Two of upstream's own shaders, to see that the generator still makes them."""


_LIBRARY = """\
cmake_minimum_required(VERSION 3.19)
project(library CXX)
file(GLOB sources ${GENERATED}/*.comp.cpp)
add_library(shaders STATIC ${sources})
target_include_directories(shaders PRIVATE ${GENERATED})
"""


class VulkanProject(Project):
    """ggml-vulkan, configured without Vulkan's headers and library: generated sources need neither."""

    def __init__(self, folder: Path, tree: Path) -> None:
        glslc = require_tool("glslc")
        (folder / "include/vulkan").mkdir(parents=True)
        (folder / "include/vulkan/vulkan.h").touch()
        (folder / "include/vulkan/vulkan_core.h").write_text("#define VK_HEADER_VERSION 280\n", "utf-8")
        (folder / "libvulkan.so").touch()
        (folder / "SPIRV-HeadersConfig.cmake").touch()
        options = [
            f"-DVulkan_GLSLC_EXECUTABLE={glslc}",
            f"-DVulkan_INCLUDE_DIR={folder / 'include'}",
            f"-DVulkan_LIBRARY={folder / 'libvulkan.so'}",
            f"-DSPIRV-Headers_DIR={folder}",
        ]
        super().__init__(folder, tree, "ggml-vulkan", options)
        self.configure()


def library_of(generated: Path, folder: Path) -> Path:
    """A static library of the generated sources, built by CMake.

    The objects of ggml's own target would be made only after all of its shaders, which takes minutes.
    """
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(_LIBRARY, "utf-8")
    cmake = require_tool("cmake")
    subprocess.run(
        [cmake, "-G", "Ninja", "-S", str(folder), "-B", str(folder), f"-DGENERATED={generated}"],
        check=True,
        capture_output=True,
    )
    subprocess.run([cmake, "--build", str(folder)], check=True, capture_output=True)
    return folder / "libshaders.a"


def ours(folder: Path) -> dict[str, bytes]:
    """The modules of this project's own build, with the same glslc."""
    require_tool("glslc")
    result = CliRunner().invoke(cli, ["build", str(MANIFEST), "--target", "vulkan", "--out", str(folder), "--no-cache"])
    assert result.exit_code == 0, result.output
    return {name: (folder / f"milady/vulkan/{name}.spv").read_bytes() for name in SHADERS}


@pytest.mark.corpus
@pytest.mark.parametrize("which", ["upstream", "fork"])
def test_the_generated_library_has_all_symbols_with_our_bytes(tmp_path: Path, which: str) -> None:
    tree = real_tree(tmp_path / "tree", which)
    before = snapshot(tree)
    project = VulkanProject(tmp_path / "cmake", patched(tree))
    sources = [f"backend/{name}.comp.cpp" for name in (*SHADERS, *OTHERS)]
    assert set(sources) <= set(project.targets())
    project.build("backend/ggml-vulkan-shaders.hpp", *sources)
    generated = project.build_folder / "backend"
    library = library_of(generated, tmp_path / "library")

    listing = subprocess.run(
        [require_tool("nm"), "--defined-only", str(library)], check=True, capture_output=True, text=True
    ).stdout
    symbols = re.findall(r" R (milady_\w+)$", listing, re.MULTILINE)
    assert sorted(symbols) == sorted(f"{name}_{end}" for name in SHADERS for end in ("data", "len"))
    required = [option for name in SHADERS for option in ("--require", name)]
    audited = CliRunner().invoke(cli, ["audit", str(library), *required])
    assert audited.exit_code == 0, audited.output
    assert CliRunner().invoke(cli, ["audit", str(library), "--require", "milady_absent"]).exit_code == 1

    data = library.read_bytes()
    for name, module in ours(tmp_path / "ours").items():
        assert (generated / f"vulkan-shaders.spv/{name}.spv").read_bytes() == module, name
        assert module in data, name

    back = CliRunner().invoke(cli, ["patch", str(MANIFEST), "--tree", str(tree), "--revert"])
    assert back.exit_code == 0, back.output
    assert snapshot(tree) == before
