"""llama.cpp's shaders through a recorded manifest and its own build, on the sources where they differ in care."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from bench.llama_tree import BACKEND
from shaderc_tool.build.pipeline import build
from shaderc_tool.build.records import BUILT, KEPT, BuildResult
from shaderc_tool.build.session import BuildRequest
from shaderc_tool.record.command import record
from tests.corpora import unpack
from tests.tools import require_glsl, require_tool

SOURCES = ("rms_norm.comp", "acc.comp")


class Tree:
    """ggml's generator under ninja for three sources, and the manifest recorded from it."""

    def __init__(self, folder: Path) -> None:
        require_glsl("glslc")
        (original,) = unpack("llama-cpp-python").glob(f"*/vendor/llama.cpp/{BACKEND}/vulkan-shaders")
        self.folder, self.shaders, self.out = folder, folder / "shaders", folder / "out"
        shutil.copytree(original, self.shaders)
        self.out.mkdir()
        generator = folder / "gen"
        source = str(self.shaders / "vulkan-shaders-gen.cpp")
        subprocess.run([require_tool("g++"), "-std=c++17", "-pthread", source, "-o", str(generator)], check=True)
        rule = (
            f"rule gen\n  command = {generator} --source $in --output-dir {self.out}/spv --target-hpp x.hpp "
            "--target-cpp $out\n  depfile = $out.d\n"
        )
        rules = (f"build {self.out}/{name}.cpp: gen {self.shaders}/{name}\n" for name in SOURCES)
        (self.out / "build.ninja").write_text(rule + "".join(rules))
        self.ninja = [require_tool("ninja"), "-C", str(self.out)]
        self.environment = {**os.environ, "SHADERPACK_CACHE": str(folder / "cache")}
        recorded = record(self.ninja, folder / "ggml.yaml", "ggml", self.environment)
        assert [d.code for d in recorded.diagnostics] == []

    def ours(self) -> BuildResult:
        return build(BuildRequest(self.folder / "ggml.yaml", self.folder / "ours"), self.environment)

    def theirs(self) -> list[str]:
        """The sources that ggml's build compiles now."""
        done = subprocess.run([*self.ninja, "-d", "explain", "-v"], capture_output=True, text=True, check=True)
        return [name for name in SOURCES if f"--source {self.shaders}/{name}" in done.stdout]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree(tmp_path_factory.mktemp("llama"))


def test_a_recorded_manifest_makes_ggmls_bytes(tree: Tree) -> None:
    assert tree.ours().ok
    theirs = {path.name: path.read_bytes() for path in (tree.out / "spv").glob("*.spv")}
    ours = {path.name: path.read_bytes() for path in (tree.folder / "ours/ggml/vulkan").glob("*.spv")}
    assert len(theirs) > 4
    assert ours == theirs


def test_an_include_of_a_later_variant_rebuilds_with_us_and_not_with_ggml(tree: Tree) -> None:
    """ggml writes a depfile from the first variant of each source; the others' includes are in none."""
    assert tree.ours().ok
    assert tree.theirs() == []
    path = tree.shaders / "rope_funcs.glsl"
    path.write_text(path.read_text() + "\nconst uint a_new_constant = 1u;\n")
    result = tree.ours()
    assert result.ok
    built = [r for r in result.records if r.status == BUILT and r.kind == "spirv"]
    assert {r.inputs[0] for r in built} == {"shaders/rms_norm.comp"}
    assert tree.theirs() == []


def test_a_touched_source_or_a_comment_compiles_nothing(tree: Tree) -> None:
    assert tree.ours().ok
    os.utime(tree.shaders / "rms_norm.comp")
    types = tree.shaders / "types.glsl"
    types.write_text("// a comment\n" + types.read_text())
    result = tree.ours()
    assert result.processes == 0
    assert {r.status for r in result.records} == {KEPT}
