"""`shaderpack patch` with the milady patch set, on stand-ins for both llama.cpp shapes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from shaderc_tool.audit.ledger import write_ledger
from shaderc_tool.cli import cli
from shaderc_tool.manifest.load import load_manifest
from shaderc_tool.patch.command import load_pack
from tests.patch.trees import (
    GENERATOR,
    KERNEL_FILES,
    MANIFEST,
    METAL_CMAKE,
    METAL_LOADER,
    ROOT,
    SHADERS,
    TREES,
    record,
    snapshot,
    write_tree,
)
from tests.tools import require_tool

shapes = pytest.mark.parametrize("shape", sorted(TREES))


def patch(tree: Path, *options: str, manifest: Path = MANIFEST) -> Result:
    return CliRunner().invoke(cli, ["patch", str(manifest), "--tree", str(tree), *options])


def own_pack(folder: Path) -> Path:
    """A copy of the pack's sources and patches that a test may change; returns the manifest."""
    for name in ("manifests", "vulkan", "metal"):
        shutil.copytree(ROOT / name, folder / name)
    return folder / "manifests/milady.yaml"


@shapes
def test_apply_again_and_revert(tmp_path: Path, shape: str) -> None:
    tree = write_tree(tmp_path, shape)
    (tree / GENERATOR).chmod(0o755)
    before = snapshot(tree)
    result = patch(tree)
    assert result.exit_code == 0, result.output
    patched = snapshot(tree)
    copies = [f"ggml/src/ggml-vulkan/vulkan-shaders/{name}.comp" for name in SHADERS]
    copies += [f"ggml/src/ggml-metal/kernels/{name}.metal" for name in KERNEL_FILES]
    assert set(copies) <= set(patched)
    changed = {path for path in before if before[path] != patched[path]}
    assert changed == {GENERATOR, METAL_CMAKE} | ({METAL_LOADER} if shape == "list" else set())

    again = patch(tree)
    assert (again.exit_code, again.output.splitlines()[-1]) == (0, "nothing to do")
    assert snapshot(tree) == patched

    back = patch(tree, "--revert")
    assert back.exit_code == 0, back.output
    assert snapshot(tree) == before


@shapes
def test_a_revert_needs_no_record(tmp_path: Path, shape: str) -> None:
    tree = write_tree(tmp_path, shape)
    before = snapshot(tree)
    assert patch(tree).exit_code == 0
    (tree / ".shaderpack-milady.json").unlink()
    assert patch(tree, "--revert").exit_code == 0
    assert {path: digest for path, digest in snapshot(tree).items() if digest} == {p: d for p, d in before.items() if d}


@shapes
def test_the_dry_run_writes_nothing_and_prints_what_git_applies_to_the_same_tree(tmp_path: Path, shape: str) -> None:
    git = require_tool("git")
    tree = write_tree(tmp_path / "a", shape)
    before = snapshot(tree)
    result = patch(tree, "--dry-run")
    assert result.exit_code == 0
    assert snapshot(tree) == before
    other = write_tree(tmp_path / "b", shape)
    subprocess.run([git, "apply", "-"], cwd=other, input=result.stdout_bytes, check=True)
    assert patch(tree).exit_code == 0
    (tree / ".shaderpack-milady.json").unlink()
    assert snapshot(other) == snapshot(tree)


@shapes
def test_a_tree_with_one_anchor_removed_is_left_untouched_and_every_hunk_is_reported(
    tmp_path: Path, shape: str
) -> None:
    tree = write_tree(tmp_path, shape)
    text = (tree / GENERATOR).read_text("utf-8")
    (tree / GENERATOR).write_text(text.replace("auto &c", "auto & c"), "utf-8")
    before = snapshot(tree)
    fitting = {"list": 15, "single": 19}[shape]
    for options in ((), ("--check",), ("--dry-run",)):
        result = patch(tree, *options)
        assert result.exit_code == 1
        assert snapshot(tree) == before
        assert "error[SP6002]: milady-vulkan-shaders: the anchor is not in" in result.stderr
        assert f"{GENERATOR}:4" in result.stderr  # the nearest match
    assert result.stdout == ""
    checked = patch(tree, "--check").stdout.splitlines()
    assert sum(line.startswith("to apply ") for line in checked) == fitting
    assert sum(line.startswith("anchor missing ") for line in checked) == 1
    assert checked[-1] == f"1 of {fitting + 1} do not fit; nothing was written"


def test_the_status_says_applied_stale_edited_half_applied_or_not(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", "list")
    manifest = own_pack(tmp_path / "pack")

    def status() -> tuple[int, list[str]]:
        result = patch(tree, "--status", manifest=manifest)
        return result.exit_code, result.stdout.splitlines()[-3:]

    assert status() == (0, ["vulkan: not-applied", "metal: not-applied", "dispatch: not-applied"])
    assert patch(tree, manifest=manifest).exit_code == 0
    assert status() == (0, ["vulkan: applied", "metal: applied", "dispatch: not-applied"])

    common = tmp_path / "pack/metal/milady_common.h"
    common.write_text(common.read_text("utf-8") + "// newer\n", "utf-8")
    assert status() == (1, ["vulkan: applied", "metal: stale", "dispatch: not-applied"])
    assert "is stale" in patch(tree, "--check", manifest=manifest).stderr
    assert patch(tree, manifest=manifest).exit_code == 0
    assert status()[0] == 0

    generator = tree / GENERATOR
    good = generator.read_text("utf-8")
    generator.write_text(good.replace('"milady_qjl.comp"', '"my_qjl.comp"'), "utf-8")
    assert status() == (1, ["vulkan: edited", "metal: applied", "dispatch: not-applied"])
    generator.write_text(TREES["list"][GENERATOR], "utf-8")
    assert status() == (1, ["vulkan: half-applied", "metal: applied", "dispatch: not-applied"])
    assert patch(tree, manifest=manifest).exit_code == 0
    assert generator.read_text("utf-8") == good


def test_an_older_form_of_the_patch_set_is_brought_up_to_date_and_reverts(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", "single")
    before = snapshot(tree)
    manifest = own_pack(tmp_path / "pack")
    metal = manifest.parent / "milady-patches/metal.patch"
    now = metal.read_text("utf-8")
    metal.write_text(now.replace("-o ${air}\n", "-o ${air} # older\n").replace("metallib ${CMAKE", "metallib  ${CMAKE"))
    assert patch(tree, manifest=manifest).exit_code == 0
    metal.write_text(now, "utf-8")
    assert patch(tree, manifest=manifest).exit_code == 0
    assert "# older" not in (tree / METAL_CMAKE).read_text("utf-8")
    # One hunk is no longer in the patch file, one has another anchor and body: the record knows what they replaced.
    newer = now[: now.index("ANCHOR\n        DEPENDS ggml-metal.metal")]
    newer = newer.replace("metallib        - -o", "metallib - -o").replace("metallib ${CMAKE", "metallib  ${CMAKE")
    metal.write_text(newer, "utf-8")
    assert patch(tree, manifest=manifest).exit_code == 0
    assert patch(tree, "--revert", manifest=manifest).exit_code == 0
    assert snapshot(tree) == before


def test_windows_line_ends_stay_windows_line_ends(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, "list")
    for path in (GENERATOR, METAL_CMAKE, METAL_LOADER):
        (tree / path).write_bytes((tree / path).read_bytes().replace(b"\n", b"\r\n"))
    before = snapshot(tree)
    assert patch(tree).exit_code == 0
    text = (tree / GENERATOR).read_bytes()
    assert b"milady_turbo3.comp" in text and text.count(b"\n") == text.count(b"\r\n")
    assert patch(tree, "--revert").exit_code == 0
    assert snapshot(tree) == before


@pytest.mark.parametrize(
    ("mark", "path"),
    [
        ("// MILADY-DISPATCH-V1", "ggml/src/ggml-metal/ggml-metal-ops.cpp"),
        ("// MILADY-DISPATCH-V1", "ggml/src/ggml-vulkan/ggml-vulkan.cpp"),
        ("# MILADY-KERNEL-PATCH-V1", METAL_CMAKE),
    ],
)
def test_older_patches_are_refused_with_the_fix(tmp_path: Path, mark: str, path: str) -> None:
    tree = write_tree(tmp_path, "list")
    with (tree / path).open("a", encoding="utf-8") as file:
        file.write(f"\n{mark}\n")
    before = snapshot(tree)
    result = patch(tree)
    assert result.exit_code == 1
    assert f"error[SP6009]: the tree holds «{mark.split()[1]}»" in result.stderr
    assert f"{path}:" in result.stderr and "from version control" in result.stderr
    assert snapshot(tree) == before
    status = patch(tree, "--status")
    assert (status.exit_code, status.stdout.splitlines()[-1]) == (1, "dispatch: not-applied")


def test_the_ledger_says_that_nothing_is_dispatched() -> None:
    manifest = load_manifest(MANIFEST)
    digests = {job.output: "0" * 64 for job in manifest.shaders}
    ledger = write_ledger(manifest, digests, [], [])
    assert {kernel["dispatched"] for kernel in ledger["kernels"]} == {"not-applied"}


def test_what_is_registered_is_what_is_copied_and_what_the_manifest_declares() -> None:
    pack = load_pack(MANIFEST)
    manifest = load_manifest(MANIFEST)
    names = {patch.name: {line for v in patch.versions for h in v.hunks for line in h.body} for patch in pack.patches}
    copied = {name: {c.destination.rsplit("/", 1)[-1] for c in copies} for name, copies in pack.copies.items()}
    symbols = {job.symbol for job in manifest.shaders if job.target == "vulkan"}
    assert symbols == set(SHADERS)
    assert copied["vulkan"] == {f"{symbol}.comp" for symbol in symbols}
    assert {line.split('"')[1] for line in names["vulkan"]} == symbols
    assert copied["metal"] == {f"{name}.metal" for name in KERNEL_FILES}
    assert copied["dispatch"] == set()


def test_copies_stand_alone() -> None:
    for copies in load_pack(MANIFEST).copies.values():
        for copy in copies:
            assert '#include "' not in copy.text and "#line" not in copy.text
            assert "\n\n#version 450\n" in copy.text or copy.destination.endswith(".metal")


def test_the_record_holds_no_absolute_path_and_says_what_was_made(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, "single")
    assert patch(tree).exit_code == 0
    data = record(tree)
    assert data["folders"] == ["ggml/src/ggml-metal/kernels"]
    assert str(tmp_path) not in json.dumps(data)
    (tree / ".shaderpack-milady.json").write_text("{}", "utf-8")
    result = patch(tree, "--revert")
    assert (result.exit_code, "SP6011" in result.stderr) == (1, True)


def test_wrong_use_ends_with_exit_code_2(tmp_path: Path) -> None:
    assert patch(tmp_path / "nowhere").exit_code == 2
    both = patch(tmp_path, "--check", "--revert")
    assert (both.exit_code, "SP1014" in both.stderr) == (2, True)
    manifest = own_pack(tmp_path / "pack")
    (manifest.parent / "milady-patches/vulkan.patch").write_text("PATCH vulkan\nFIEL x\n", "utf-8")
    (manifest.parent / "milady-patches/metal.patch").write_text("FILE x\n", "utf-8")
    result = patch(tmp_path, manifest=manifest)
    assert result.exit_code == 2
    assert "vulkan.patch:2" in result.stderr and "metal.patch:1" in result.stderr
    shutil.copy(ROOT / "manifests/milady-patches/vulkan.patch", manifest.parent / "milady-patches")
    shutil.copy(ROOT / "manifests/milady-patches/vulkan.patch", manifest.parent / "milady-patches/metal.patch")
    result = patch(tmp_path, manifest=manifest)
    assert result.exit_code == 2
    assert "PATCH vulkan is used by two patch files" in result.stderr
    assert "SENTINEL milady-vulkan-shaders is used by two patch files" in result.stderr
    (manifest.parent / "milady-patches/metal.patch").write_bytes(b"\xff\xfe")
    result = patch(tmp_path, manifest=manifest)
    assert (result.exit_code, "metal.patch is not a text file" in result.stderr) == (2, True)
    (tmp_path / "none.yaml").write_text("schema: 1\npack: p\ntargets: {v: {api: vulkan}}\nkernels: {}\n", "utf-8")
    assert patch(tmp_path, manifest=tmp_path / "none.yaml").exit_code == 2


def test_two_sources_do_not_go_to_one_place(tmp_path: Path) -> None:
    manifest = own_pack(tmp_path / "pack")
    manifest.write_text(manifest.read_text("utf-8").replace("{symbol}.comp", "milady.comp"), "utf-8")
    result = patch(write_tree(tmp_path, "list"), manifest=manifest)
    assert (result.exit_code, "SP1010" in result.stderr) == (2, True)


def test_findings_come_in_every_format(tmp_path: Path) -> None:
    tree = write_tree(tmp_path, "list")
    (tree / METAL_LOADER).write_text("", "utf-8")
    result = patch(tree, "--check", "--format", "json")
    assert result.exit_code == 1
    (found,) = json.loads(result.stdout)["diagnostics"]
    assert (found["code"], found["subject"]) == ("SP6002", "milady-metal-libraries")


_KILLED = """\
import os, sys
from shaderc_tool.patch import apply
real, left = apply._write, [int(sys.argv[3])]
def write(path, data):
    if not left[0]:
        os._exit(9)
    left[0] -= 1
    real(path, data)
apply._write = write
from shaderc_tool.cli import cli
cli(["patch", sys.argv[1], "--tree", sys.argv[2]])
"""


@pytest.mark.parametrize("writes", [1, 2, 13])
@pytest.mark.parametrize("option", ["--revert", ""])
def test_a_run_that_was_killed_can_be_finished_or_reverted(tmp_path: Path, writes: int, option: str) -> None:
    tree = write_tree(tmp_path, "single")
    before = snapshot(tree)
    argv = [sys.executable, "-c", _KILLED, str(MANIFEST), str(tree), str(writes)]
    assert subprocess.run(argv, cwd=ROOT, capture_output=True).returncode == 9
    assert snapshot(tree) != before
    result = patch(tree, *[option] if option else [])
    assert result.exit_code == 0, result.output
    if not option:
        assert patch(tree, "--status").stdout.splitlines()[-3:-1] == ["vulkan: applied", "metal: applied"]
        assert patch(tree, "--revert").exit_code == 0
    assert snapshot(tree) == before
