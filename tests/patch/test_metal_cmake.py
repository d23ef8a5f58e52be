"""The patched Metal CMake files run: which command lines they give, and what ends up in the embedded library."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from shaderc_tool.cli import cli
from shaderc_tool.manifest.load import load_manifest
from tests.corpora import unpack
from tests.msl.compiling import clean, compile_text
from tests.patch.cmake import MetalProject
from tests.patch.trees import KERNEL_FILES, MANIFEST, METAL_LOADER, ROOT, TREES, write_tree
from tests.tools import require_tool

KERNELS = ("kernel_turbo3_dot", "kernel_turbo4_dot", "kernel_turbo3_tcq_dot", "kernel_get_rows_q4_polar")


def patched(tree: Path) -> Path:
    result = CliRunner().invoke(cli, ["patch", str(MANIFEST), "--tree", str(tree)])
    assert result.exit_code == 0, result.output
    return tree


def real_tree(folder: Path, which: str) -> Path:
    """A copy of the Metal and Vulkan parts of a real tree: the pinned source archive, or a checkout of the fork."""
    if which == "upstream":
        source = next(unpack("llama-cpp-python").glob("*/vendor/llama.cpp"))
    else:
        given = os.environ.get("SHADERPACK_MILADY_TREE")
        if not given:
            pytest.skip("SHADERPACK_MILADY_TREE does not name a checkout of v0.4.0-milady")
        source = Path(given)
    for part in ("ggml-metal", "ggml-vulkan"):
        shutil.copytree(source / "ggml/src" / part, folder / "ggml/src" / part)
    shutil.copy(source / "ggml/src/ggml-common.h", folder / "ggml/src")
    return folder


def check_commands(project: MetalProject) -> None:
    """One .air for each source and one library of all of them, each step a command of its own."""
    compiled = {}
    for command in project.commands("metal"):
        assert command[0] == "-O3" and command.count("-c") == command.count("-o") == 1
        source, air = command[command.index("-c") + 1], command[command.index("-o") + 1]
        assert air != "-"
        compiled[Path(source).stem] = air
    assert set(KERNEL_FILES) < set(compiled)
    assert len(set(compiled.values())) == len(compiled)
    (link,) = project.commands("metallib")
    assert link[-2] == "-o" and Path(link[-1]).name == "default.metallib"
    assert sorted(link[:-2]) == sorted(compiled.values())


def check_embedded(text: str, names: tuple[str, ...] = KERNELS) -> None:
    for name in names:
        assert len(re.findall(rf"kernel\s+void\s+{name}\s*\(", text)) == 1, name
    assert '#include "milady' not in text


def compiled_kernels(source: Path) -> list[str]:
    """The kernels of an embedded source, by the portable compiler with the macros that ggml's loader gives."""
    defines = ("GGML_METAL_EMBED_LIBRARY=1", "GGML_METAL_HAS_BF16=1")
    result = compile_text(source.read_text("utf-8"), source.name, defines=defines, cwd=source.parent)
    return [kernel.name for kernel in clean(result).kernels]


@pytest.mark.parametrize("shape", sorted(TREES))
def test_every_source_gets_an_air_file_and_all_get_one_library(tmp_path: Path, shape: str) -> None:
    project = MetalProject(tmp_path / "cmake", patched(write_tree(tmp_path, shape)), embed=False)
    project.build()
    check_commands(project)


def test_sources_of_a_list_are_embedded_each(tmp_path: Path) -> None:
    project = MetalProject(tmp_path / "cmake", patched(write_tree(tmp_path, "list")), embed=True)
    project.build()
    folder = project.build_folder / "backend"
    for name in KERNEL_FILES:
        assert f"_ggml_metallib_{name}_start" in (folder / f"{name}.s").read_text("utf-8")
    check_embedded("".join((folder / f"{name}.metal").read_text("utf-8") for name in KERNEL_FILES))


def test_one_source_is_embedded_with_the_milady_sources_behind_it_and_follows_their_edits(tmp_path: Path) -> None:
    tree = patched(write_tree(tmp_path, "single"))
    project = MetalProject(tmp_path / "cmake", tree, embed=True)
    embedded = project.build_folder / "backend/embed.metal"
    project.build()
    check_embedded(embedded.read_text("utf-8"), ("first", *KERNELS))
    with (tree / "ggml/src/ggml-metal/kernels/milady_qjl.metal").open("a", encoding="utf-8") as file:
        file.write("// edited\n")
    project.build()
    assert "// edited" in embedded.read_text("utf-8")


def test_the_loader_of_a_list_knows_every_milady_library(tmp_path: Path) -> None:
    """The marker lines stand inside of a macro; the compiler sees whether the list is whole."""
    tree = patched(write_tree(tmp_path, "list"))
    source = (tree / METAL_LOADER).read_text(
        "utf-8"
    ) + "int main(void) { return sizeof names / sizeof *names == 7 ? 0 : 1; }\n"
    (tmp_path / "loader.c").write_text(source, "utf-8")
    program = tmp_path / "loader"
    subprocess.run(
        [require_tool("cc"), "-Wall", "-Werror", "-Wno-unused", str(tmp_path / "loader.c"), "-o", str(program)],
        check=True,
    )
    assert subprocess.run([str(program)]).returncode == 0


@pytest.mark.corpus
@pytest.mark.parametrize("which", ["upstream", "fork"])
def test_real_trees_compile_each_source_and_link_one_library(tmp_path: Path, which: str) -> None:
    project = MetalProject(tmp_path / "cmake", patched(real_tree(tmp_path, which)), embed=False)
    project.build("ggml-metal-lib")
    check_commands(project)


@pytest.mark.corpus
@pytest.mark.parametrize("which", ["upstream", "fork"])
def test_real_trees_embed_the_milady_sources(tmp_path: Path, which: str) -> None:
    """The generated assembler text, for Apple's ARM: its symbols, and that the milady kernels are in the payload."""
    clang = require_tool("clang")
    project = MetalProject(tmp_path / "cmake", patched(real_tree(tmp_path, which)), embed=True)
    wanted = {
        "upstream": [f"ggml-metal-embed-{name}.s" for name in KERNEL_FILES],
        "fork": ["ggml-metal-embed.s"],
    }[which]
    targets = [t for t in project.targets() if Path(t).name in wanted]
    assert len(targets) == len(wanted)
    project.build(*targets)
    payloads = b""
    kernels: list[str] = []
    for target in targets:
        assembler = project.build_folder / target
        stem = assembler.stem.removeprefix("ggml-metal-embed").lstrip("-")
        symbols = {f"_ggml_metallib_{stem}_start" if stem else "_ggml_metallib_start"}
        symbols |= {symbol.replace("_start", "_end") for symbol in symbols}
        assert symbols == set(re.findall(r"^(\S+):$", assembler.read_text("utf-8"), re.MULTILINE))
        made = assembler.with_suffix(".o")
        subprocess.run(
            [clang, "--target=arm64-apple-macos14", "-c", str(assembler), "-o", str(made)], check=True, cwd=ROOT
        )
        payloads += made.read_bytes()
        kernels += compiled_kernels(assembler.with_suffix(".metal"))
    check_embedded(payloads.decode("utf-8", "replace"))
    declared = {f.name for unit in load_manifest(MANIFEST).metal if unit.target == "macos" for f in unit.functions}
    assert declared <= set(kernels) and len(kernels) == len(set(kernels))
