"""The shipped manifest: the eight modules, the five storages, and the five planted faults of the gate."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from shaderc_tool.cli import cli
from tests.tools import require_glsl, require_tool, wheel_tool

ROOT = Path(__file__).parents[2]
NAMES = ("turbo3", "turbo4", "turbo3_tcq", "qjl", "qjl_get_rows", "qjl_mul_mv", "polar", "polar_get_rows")
SYMBOLS = {f"milady_{name}_{end}" for name in NAMES for end in ("data", "len")}

CHECK = """\
#include "milady-shaders.h"
#include <stdio.h>
#include <string.h>

static int check(const char *name, const unsigned char *data, uint64_t len, uint64_t expected) {
    uint32_t magic;
    memcpy(&magic, data, sizeof magic);
    if (magic != 0x07230203u || len != expected || len % 4 || (uintptr_t)data % 4) {
        printf("%s is wrong\\n", name);
        return 1;
    }
    return 0;
}

int main(void) {
    int bad = 0;
@CHECKS@    return bad;
}
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the shaders and the manifest that a test may break."""
    require_glsl()
    for name in ("vulkan", "metal", "manifests"):
        shutil.copytree(ROOT / name, tmp_path / name)
    monkeypatch.setenv("SHADERPACK_CACHE", os.environ.get("SHADERPACK_CACHE", str(tmp_path / "cache")))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def build(*options: str) -> tuple[int, list[dict[str, str]]]:
    arguments = ["build", "manifests/milady.yaml", "--target", "vulkan", "--format", "json", *options]
    result = CliRunner().invoke(cli, arguments)
    return result.exit_code, json.loads(result.stdout)["diagnostics"]


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")


@pytest.mark.parametrize("family", ["glslc", "glslang"])
def test_eight_valid_modules_from_either_toolchain(tree: Path, family: str) -> None:
    require_glsl(family)
    validator = str(wheel_tool("spirv-val") or require_tool("spirv-val"))
    assert build("--glsl-toolchain", family) == (0, [])
    modules = sorted((tree / "build/milady/vulkan").glob("*.spv"))
    assert [m.stem for m in modules] == sorted(f"milady_{n}" for n in NAMES)
    for module in modules:
        subprocess.run([validator, "--target-env", "vulkan1.2", str(module)], check=True)


@pytest.mark.parametrize("storage", ["incbin", "string", "words", "hex", "embed"])
def test_every_storage_has_all_sixteen_symbols_and_a_c_program_agrees(tree: Path, storage: str) -> None:
    nm = require_tool("nm")
    compilers = ("clang-19", "gcc-15") if storage == "embed" else ("cc",)
    cc = require_tool(*compilers)
    edit(tree / "manifests/milady.yaml", "storage: incbin", f"storage: {storage}")
    assert build()[0] == 0
    folder = tree / "build/milady/vulkan"
    (text,) = [p for p in folder.iterdir() if p.suffix in (".S", ".c", ".cpp")]
    standard = ["-std=c23"] if storage == "embed" else []
    language = ["-x", "c++"] if text.suffix == ".cpp" else []
    subprocess.run([cc, *standard, *language, "-c", text.name, "-o", "blob.o"], cwd=folder, check=True)
    listed = subprocess.run([nm, "blob.o"], cwd=folder, check=True, capture_output=True, text=True).stdout
    assert {line.split()[-1] for line in listed.splitlines()} >= SYMBOLS
    sizes = {n: (folder / f"milady_{n}.spv").stat().st_size for n in NAMES}
    checks = "".join(f'    bad |= check("{n}", milady_{n}_data, milady_{n}_len, {sizes[n]}u);\n' for n in NAMES)
    (folder / "check.c").write_text(CHECK.replace("@CHECKS@", checks))
    link = require_tool("cc")
    subprocess.run(
        [link, "-std=c99", "-Wall", "-Wextra", "-Werror", "check.c", "blob.o", "-o", "check"], cwd=folder, check=True
    )
    subprocess.run([str(folder / "check")], check=True)


def test_the_five_planted_faults_have_five_codes(tree: Path) -> None:
    shaders = tree / "vulkan"
    seen: dict[str, tuple[str, str]] = {}

    def plant(fault: str, subject: str) -> None:
        code, found = build()
        assert code == 1, fault
        (diagnostic,) = [d for d in found if d["subject"] == subject]
        assert diagnostic["cause"]
        assert diagnostic["fix"]
        seen[fault] = (diagnostic["code"], diagnostic["message"])

    (shaders / "qjl.comp").rename(tree / "kept.comp")
    plant("removed", "milady_qjl")
    (tree / "kept.comp").rename(shaders / "qjl.comp")

    edit(shaders / "polar.comp", "void main()", "void renamed()")
    plant("entry renamed", "milady_polar")
    edit(shaders / "polar.comp", "void renamed()", "void main()")

    edit(tree / "manifests/milady.yaml", "symbol: milady_turbo4", "symbol: milady_turbo3")
    plant("duplicate", "milady_turbo3")
    edit(
        tree / "manifests/milady.yaml",
        "file: turbo4.comp\n      symbol: milady_turbo3",
        "file: turbo4.comp\n      symbol: milady_turbo4",
    )

    edit(shaders / "include/turbo_args.glsl", "uint q_head;", "float q_head_;\n    uint q_head;")
    code, found = build("--keep-going")
    assert code == 1
    assert {d["subject"] for d in found} == {"milady_turbo3", "milady_turbo4", "milady_turbo3_tcq"}
    seen["push constant"] = (found[0]["code"], found[0]["message"])
    edit(shaders / "include/turbo_args.glsl", "float q_head_;\n    uint q_head;", "uint q_head;")

    assert build() == (0, [])
    module = tree / "build/milady/vulkan/milady_turbo4.spv"
    module.write_bytes(module.read_bytes()[:-8])
    result = CliRunner().invoke(cli, ["audit", "manifests/milady.yaml", "--format", "json"])
    assert result.exit_code == 1
    (diagnostic,) = json.loads(result.stdout)["diagnostics"]
    seen["truncated"] = (diagnostic["code"], diagnostic["message"])

    assert len({code for code, _ in seen.values()}) == 5, seen
    assert all("milady_" in message for _, message in seen.values())


def test_editing_an_include_makes_exactly_the_shaders_that_use_it(tree: Path) -> None:
    assert build()[0] == 0
    edit(tree / "vulkan/include/tbq4.glsl", "0.1283243", "0.1283244")
    result = CliRunner().invoke(cli, ["build", "manifests/milady.yaml", "--target", "vulkan", "--explain"])
    made = [line for line in result.stdout.splitlines() if line.startswith("built") and ".spv" in line]
    assert made == ["built    vulkan/milady_turbo4.spv: vulkan/include/tbq4.glsl changed"]
