"""Baselines, `audit --baseline` and `shaderpack diff`: what changed between two artifacts, found from their bytes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from shaderc_tool.audit.artifacts import describe_file
from shaderc_tool.audit.baseline import compare, load, take
from shaderc_tool.cli import cli
from shaderc_tool.diagnostics import UsageError
from tests.audit.support import MACOS_LIBRARY, MODULE, audit, found, write
from tests.fakes.library import library
from tests.tools import require_tool

FEWER = library("air64-apple-macos14.0", [("kernel_add", "3.1"), ("kernel_new", "3.1")])


SHADER = """\
#version 450
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer B { float b[]; };
layout(push_constant) uniform P { uint n; } p;
void main() { b[0] = float(p.n); }
"""
OTHER = (
    SHADER.replace("binding = 0", "binding = 1").replace("= 32", "= 64").replace("uint n", "layout(offset = 4) uint n")
)


def compiled(text: str, folder: Path) -> bytes:
    (folder / "k.comp").write_text(text)
    argv = [require_tool("glslc"), "--target-env=vulkan1.2", "k.comp", "-o", "made.spv"]
    subprocess.run(argv, cwd=folder, check=True, timeout=60)
    return (folder / "made.spv").read_bytes()


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, list(arguments))
    return result.exit_code, result.stdout


def test_a_baseline_survives_writing_and_reading(tmp_path: Path) -> None:
    path = write(tmp_path, "default.metallib", MACOS_LIBRARY)
    baseline = tmp_path / "b.json"
    assert audit(path, write_baseline=baseline) == []
    assert compare(load(baseline), take([describe_file(path)])).is_empty
    assert audit(path, baseline=baseline) == []
    assert load(baseline).text() == baseline.read_text()


def test_a_kernel_that_is_gone_is_an_error_with_the_line_that_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, "default.metallib", MACOS_LIBRARY)
    audit(path, write_baseline=tmp_path / "b.json")
    write(tmp_path, "default.metallib", FEWER)
    assert found(audit(path, baseline=tmp_path / "b.json")) == [("SP4070", "kernel_mul")]
    write(tmp_path, "host.cpp", b'\nsnprintf(name, 64, "kernel_%s", op);\n')
    diagnostics = audit(path, baseline=tmp_path / "b.json", consumers=("*.cpp",))
    (gone,) = [d for d in diagnostics if d.code == "SP4070"]
    assert str(gone.place).startswith("host.cpp:2:")


def test_a_changed_interface_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, "k.spv", compiled(SHADER, tmp_path))
    audit(path, write_baseline=tmp_path / "b.json")
    write(tmp_path, "k.spv", compiled(OTHER, tmp_path))
    changed = {d.message for d in audit(path, baseline=tmp_path / "b.json") if d.code == "SP4069"}
    assert changed == {"k: bindings changed", "k: entry points changed", "k: push constants changed"}


def test_growth_warns(tmp_path: Path) -> None:
    path = write(tmp_path, "a.metal", b"kernel void a(device float *x) {}\n")
    audit(path, write_baseline=tmp_path / "b.json")
    write(tmp_path, "a.metal", b"kernel void a(device float *x) {}\n" + b"//\n")
    assert audit(path, baseline=tmp_path / "b.json") == []
    write(tmp_path, "a.metal", b"kernel void a(device float *x) {}\n" + b"//" * 40)
    assert [(d.code, d.severity.word) for d in audit(path, baseline=tmp_path / "b.json")] == [("SP4073", "warning")]


@pytest.mark.parametrize("text", ["", "{}", '{"kind": "other"}', '{"kind": "shaderpack-baseline", "schema": 2}', "[]"])
def test_what_is_no_baseline_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(UsageError, match="not a baseline"):
        load(tmp_path / "b.json")


def test_diff_in_text_and_json(tmp_path: Path) -> None:
    old, new = write(tmp_path, "old.metallib", MACOS_LIBRARY), write(tmp_path, "new.metallib", FEWER)
    code, text = run("diff", str(old), str(new))
    assert code == 0
    assert "+ kernel_new" in text
    assert "- kernel_mul" in text
    assert "1 added, 1 removed, 0 with another interface, 0 with other code" in text
    code, text = run("diff", str(old), str(new), "--json", "--exit-code")
    assert code == 1
    value = json.loads(text)
    assert [k["name"] for k in value["added"]] == ["kernel_new"]
    assert [k["name"] for k in value["removed"]] == ["kernel_mul"]
    assert run("diff", str(old), str(old), "--exit-code") == (0, "no difference\n")


def test_diff_of_folders_goes_by_file(tmp_path: Path) -> None:
    for side in "ab":
        write(tmp_path, f"{side}/x/k.spv", MODULE)
        write(tmp_path, f"{side}/y/k.spv", MODULE)
    assert compare(load(tmp_path / "a"), load(tmp_path / "b")).is_empty
    (tmp_path / "b/y/k.spv").unlink()
    (gone,) = compare(load(tmp_path / "a"), load(tmp_path / "b")).removed
    assert gone.artifact == "y/k.spv"


def test_diff_of_what_cannot_be_read(tmp_path: Path) -> None:
    assert run("diff", str(tmp_path / "no.metallib"), str(tmp_path / "no.metallib"))[0] == 1
