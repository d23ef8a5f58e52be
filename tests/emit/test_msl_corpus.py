"""llama.cpp's own embed rule against ours: the same tokens reach the compiler for every unit that it embeds."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from shaderc_tool.audit.source_kernels import source_kernels
from shaderc_tool.build.process import ProcessRunner
from shaderc_tool.emit.msl_merge import MergedSource, find_duplicates, merge_msl
from shaderc_tool.manifest.load import load_manifest
from shaderc_tool.msl.compiler import compile_msl
from shaderc_tool.msl.options import MslOptions
from tests import corpora
from tests.emit.test_msl_merge import STANDALONE
from tests.tools import require_tool

pytestmark = pytest.mark.corpus

MACRO = "GGML_METAL_EMBED_LIBRARY"
SYSTEM_HEADERS = ("metal_stdlib", "metal_tensor", "MetalPerformancePrimitives/MetalPerformancePrimitives.h")


@pytest.fixture(scope="module")
def ggml() -> Path:
    """The `ggml/src` folder of the source distribution."""
    return next(corpora.unpack("llama-cpp-python").glob("**/vendor/llama.cpp/ggml/src"))


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Empty stand-ins for the headers in angle brackets, which stay includes in both routes."""
    folder = tmp_path_factory.mktemp("system")
    for name in SYSTEM_HEADERS:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("")
    return folder


def cmake_text(ggml: Path) -> str:
    return (ggml / "ggml-metal" / "CMakeLists.txt").read_text("utf-8")


def units(ggml: Path) -> list[str]:
    """The kernel sources that CMakeLists.txt embeds."""
    listed = re.search(r"set\(METALLIB_KERNEL_SOURCES(.*?)\)", cmake_text(ggml), re.S)
    assert listed is not None
    return listed[1].split()


def merge_unit(ggml: Path, *names: str) -> MergedSource:
    def read(path: str) -> str | None:
        file = ggml / path
        return file.read_text("utf-8") if file.is_file() else None

    roots = [f"ggml-metal/{name}" for name in names]
    return merge_msl(roots, read, ["", "ggml-metal"], defined=[MACRO])


def rule_text(ggml: Path, unit: str) -> str:
    """The unit as CMakeLists.txt puts it together: headers in front, includes deleted, two files inlined."""
    kernels = ggml / "ggml-metal" / "kernels"
    source = (ggml / "ggml-metal" / unit).read_text("utf-8")
    headers = ["common.h"]
    for name in ("dequantize.h", "quantize.h", "fa_common.metal", "fa_vec_common.metal"):
        headers += [name] if f'#include "{name}"' in source else []
    deleted = re.compile('#include "(?:common|dequantize|quantize).h"|#include "fa_(?:vec_)?common.metal"|#pragma once')
    inlined = {
        "__embed_ggml-common.h__": ggml / "ggml-common.h",
        '#include "ggml-metal-impl.h"': ggml / "ggml-metal" / "ggml-metal-impl.h",
    }
    text = "".join((kernels / name).read_text("utf-8") for name in headers) + source
    lines = []
    for line in text.split("\n"):
        file = next((path for mark, path in inlined.items() if mark in line), None)
        if file is not None:
            lines.append(file.read_text("utf-8"))
        elif not deleted.search(line):
            lines.append(line)
    return "\n".join(lines)


def tokens(text: str, version: int, system: Path) -> list[str]:
    flags = ["-E", "-P", "-x", "c++", "-nostdinc", "-I", str(system), f"-D__METAL_VERSION__={version}", f"-D{MACRO}=1"]
    result = subprocess.run(
        [require_tool("clang"), *flags, "-DGGML_METAL_HAS_BF16=1", "-"],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.split()


@pytest.mark.parametrize("version", [240, 310])
def test_every_embedded_unit_has_the_tokens_of_the_rule(ggml: Path, system: Path, version: int) -> None:
    names = units(ggml)
    assert len(names) >= 34
    for name in names:
        merged = merge_unit(ggml, name)
        assert merged.diagnostics == (), name
        assert tokens(merged.text, version, system) == tokens(rule_text(ggml, name), version, system), name


def test_all_units_merge_into_one_without_a_clash(ggml: Path) -> None:
    merged = merge_unit(ggml, *units(ggml))
    assert merged.diagnostics == ()
    assert all(d.identical and d.removed for d in merged.duplicates)
    assert find_duplicates(merged.text) == ()
    assert merged.text.count("block_q4_0;") == 1


def test_a_bundle_of_llama_cpp_and_the_milady_kernels_has_no_duplicate(ggml: Path) -> None:
    metal = Path(__file__).parents[2] / "metal"
    ours = {f"milady/{path.name}": path for path in metal.iterdir()}

    def read(path: str) -> str | None:
        file = ours.get(path, ggml / path)
        return file.read_text("utf-8") if file.is_file() else None

    roots = [f"ggml-metal/{name}" for name in units(ggml)] + [name for name in ours if name.endswith(".metal")]
    assert len(roots) >= 34 + 5
    merged = merge_msl(roots, read, ["", "ggml-metal"], defined=[MACRO])
    assert merged.diagnostics == ()
    assert find_duplicates(merged.text) == ()
    names = [kernel.name for kernel in source_kernels(merged.text)]
    declared = {f.name for u in load_manifest(metal.parent / "manifests/milady.yaml").metal for f in u.functions}
    assert declared < set(names)
    assert all(names.count(name) == 1 for name in declared)


def test_kernels_beside_all_of_llama_cpp_clash_only_with_each_other(ggml: Path) -> None:
    """Upstream has none of the fork's structs: what is left are the helpers that the five files share."""

    def read(path: str) -> str | None:
        file = ggml / path
        return STANDALONE.get(path) or (file.read_text("utf-8") if file.is_file() else None)

    roots = [f"ggml-metal/{name}" for name in units(ggml)] + list(STANDALONE)
    merged = merge_msl(roots, read, ["", "ggml-metal"], defined=[MACRO])
    assert merged.diagnostics == ()
    assert all(d.removed for d in merged.duplicates)
    assert {d.name for d in merged.duplicates if d.second.file in STANDALONE} == {
        "turbo_dot_args",
        "turbo_dot_multi_args",
        "TBQ_SIGNS_32",
        "hadamard_32",
        "precompute_q",
    }


@pytest.fixture(scope="module")
def shim_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the compiler keeps its precompiled headers for all units."""
    return tmp_path_factory.mktemp("shim")


def kernels(text: str, name: str, folder: Path, cache: Path) -> tuple[str, set[str]]:
    """How the portable compiler ends with a text of no local include, and the kernels that it gives."""
    macros = (f"{MACRO}=1", "GGML_METAL_HAS_BF16=1")
    options = MslOptions(std="metal3.1", platform="ios", min_os="17.0", defines=macros, cache_dir=cache)
    runner = ProcessRunner(os.environ)
    result = compile_msl(text, name, options, lambda argv, cwd, stdin: runner.run(argv, cwd=cwd, stdin=stdin), folder)
    return result.status, {kernel.name for kernel in result.kernels}


def test_every_embedded_unit_compiles_to_the_kernels_of_the_rule(ggml: Path, tmp_path: Path, shim_cache: Path) -> None:
    """Where the portable compiler cannot model a unit, it says so of both texts, whose tokens are the same."""
    compiled = 0
    for name in units(ggml):
        file = Path(name).name
        ours = kernels(merge_unit(ggml, name).text, file, tmp_path, shim_cache)
        theirs = kernels(rule_text(ggml, name), file, tmp_path, shim_cache)
        assert ours == theirs, name
        assert ours[0] != "error", name
        if ours[0] == "clean":
            assert ours[1], name
            compiled += 1
    assert compiled >= 25
