"""Whole builds with a real GLSL compiler: what is made, what is kept, and why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shaderc_tool.build.records import BUILT, CACHED, KEPT, PLANNED
from shaderc_tool.diagnostics import ToolMissingError
from shaderc_tool.formats.spirv import read_module
from tests.build.project import Project
from tests.tools import require_glsl

SPV = ("demo_add.spv", "demo_mul.spv", "demo_plain.spv")


@pytest.fixture(params=["glslc", "glslang"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Project:
    require_glsl(request.param)
    made = Project.create(tmp_path / "project", tmp_path / "cache")
    if request.param == "glslang":
        made.environment["PATH"] = str(tmp_path)  # nothing there: the wheels must do
    return made


def test_a_build_makes_modules_header_and_reports(project: Project) -> None:
    result = project.build()
    assert result.ok, result.diagnostics
    module = read_module(project.output("vulkan/demo_add.spv").read_bytes())
    assert module.entry_points[0].local_size == (32, 1, 1)
    header = project.output("vulkan/demo-shaders.h").read_text()
    assert "extern const unsigned char demo_mul_data[];" in header
    report = json.loads(project.output("report.json").read_text())
    (action,) = [a for a in report["actions"] if a["output"] == "vulkan/demo_mul.spv"]
    assert action["inputs"] == ["src/mul.comp", "inc/common.glsl", "src/local.glsl"]
    assert "src/mul.comp" in action["argv"]
    assert action["reason"] == "first build of this output"
    ledger = json.loads(project.output("capabilities.json").read_text())
    assert {k["symbol"]: k["interface"] for k in ledger["kernels"]}["demo_add"] == "matches"
    assert all(not k["publishable"] and k["why_not"] == ["not verified"] for k in ledger["kernels"])


def test_a_second_build_starts_no_process(project: Project) -> None:
    project.build()
    before = project.files()
    result = project.build()
    assert result.processes == 0
    assert set(project.statuses(result).values()) == {KEPT}
    assert project.files() == before


def test_touching_every_file_makes_nothing(project: Project) -> None:
    project.build()
    for path in project.folder.rglob("*"):
        if path.is_file() and "out" not in path.parts:
            os.utime(path)
    assert project.build().processes == 0


def test_an_edited_comment_in_an_include_makes_nothing_and_says_so(project: Project) -> None:
    project.build()
    project.edit("inc/common.glsl", "const float OFFSET", "// a comment\n/* another */ const float OFFSET")
    result = project.build()
    assert result.processes == 0
    assert project.reasons(result)["demo_add.spv"] == "only comments changed in inc/common.glsl"
    assert project.reasons(result)["demo_plain.spv"] == "nothing changed"


def test_edited_code_in_an_include_makes_exactly_its_users(project: Project) -> None:
    project.build()
    project.edit("inc/common.glsl", "0.5", "0.25")
    result = project.build()
    statuses = project.statuses(result)
    assert [statuses[s] for s in SPV] == [BUILT, BUILT, KEPT]
    assert project.reasons(result)["demo_mul.spv"] == "inc/common.glsl changed"
    project.edit("src/local.glsl", "2.0", "3.0")
    statuses = project.statuses(project.build())
    assert [statuses[s] for s in SPV] == [KEPT, BUILT, KEPT]


def test_going_back_comes_from_the_cache(project: Project) -> None:
    project.build()
    before = project.files()
    project.edit("inc/common.glsl", "0.5", "0.25")
    project.build()
    project.edit("inc/common.glsl", "0.25", "0.5")
    result = project.build()
    assert result.processes == 0
    assert project.statuses(result)["demo_add.spv"] == CACHED
    assert project.files() == before


def test_a_macro_or_level_change_is_named(project: Project) -> None:
    project.build()
    project.edit("manifest.yaml", "symbol: demo_mul", "symbol: demo_mul, defines: {X: 1}")
    assert "macros changed: «» → «X=1»" in project.reasons(project.build())["demo_mul.spv"]
    project.edit("manifest.yaml", "defines: {X: 1}", "defines: {X: 1}, optimize: none")
    assert project.reasons(project.build())["demo_mul.spv"] == "optimize changed: «speed» → «none»"


def test_an_output_changed_by_something_else_is_restored(project: Project) -> None:
    project.build()
    before = project.files()
    project.output("vulkan/demo_add.spv").write_bytes(b"\x03\x02\x23\x07")
    project.output("vulkan/demo_mul.spv").unlink()
    result = project.build()
    assert project.reasons(result)["demo_add.spv"] == "the output was changed by something else"
    assert project.reasons(result)["demo_mul.spv"] == "the output is missing"
    assert project.files() == before


def test_a_damaged_cache_entry_is_found_and_made_again(project: Project) -> None:
    project.build()
    before = project.files()
    for path in (project.folder.parent / "cache" / "v1").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-1] + b"?")
    for name in SPV:
        project.output(f"vulkan/{name}").unlink()
    result = project.build()
    assert result.ok
    assert [d.code for d in result.diagnostics] == ["SP7002"] * 3
    assert project.files() == before


def test_dry_run_makes_nothing(project: Project) -> None:
    result = project.build(dry_run=True)
    assert set(project.statuses(result).values()) == {PLANNED}
    assert not project.output("vulkan").exists()


def test_a_kernel_that_leaves_the_manifest_leaves_the_folder(project: Project) -> None:
    project.build()
    text = (project.folder / "manifest.yaml").read_text()
    (project.folder / "manifest.yaml").write_text(
        "\n".join(line for line in text.splitlines() if "demo_plain" not in line) + "\n"
    )
    project.build()
    assert not project.output("vulkan/demo_plain.spv").exists()
    assert "demo_plain" not in project.output("vulkan/demo-shaders.h").read_text()


def test_a_failure_keeps_the_good_outputs_and_names_the_line(project: Project) -> None:
    project.build()
    before = project.output("vulkan/demo_add.spv").read_bytes()
    project.edit("src/add.comp", "+ OFFSET", "+ OFFSET +")
    result = project.build()
    assert not result.ok
    assert [(d.code, str(d.place), d.subject) for d in result.diagnostics] == [("SP3002", "src/add.comp:4", "demo_add")]
    assert project.output("vulkan/demo_add.spv").read_bytes() == before
    assert "demo_add" in project.output("vulkan/demo-shaders.h").read_text()
    project.edit("src/add.comp", "+ OFFSET +", "+ OFFSET")
    assert project.build().ok


def test_keep_going_reports_every_failure(project: Project) -> None:
    for name in ("add", "mul"):
        project.edit(f"src/{name}.comp", "void main", "nonsense void main")
    result = project.build(keep_going=True, jobs=1)
    assert {d.subject for d in result.diagnostics} == {"demo_add", "demo_mul"}
    assert project.statuses(result)["demo_plain.spv"] == BUILT


def test_bytes_do_not_depend_on_place_or_order(project: Project, tmp_path: Path) -> None:
    project.build(jobs=1)
    other = Project.create(tmp_path / "dir with space" / "é", tmp_path / "cache2")
    other.environment["PATH"] = project.environment["PATH"]
    other.environment["HOME"] = str(tmp_path / "home")
    text = (other.folder / "manifest.yaml").read_text().splitlines()
    text[6], text[8] = text[8], text[6]  # another order of the jobs
    (other.folder / "manifest.yaml").write_text("\n".join(text) + "\n")
    assert other.build(jobs=3).ok
    ours, theirs = project.files(), other.files()
    assert {n: d for n, d in ours.items() if n.endswith(".spv")} == {
        n: d for n, d in theirs.items() if n.endswith(".spv")
    }
    text[6], text[8] = text[8], text[6]
    (other.folder / "manifest.yaml").write_text("\n".join(text) + "\n")
    other.build()
    assert other.files() == ours
    for data in [*ours.values(), project.output("report.json").read_bytes()]:
        assert str(tmp_path).encode() not in data


def test_no_compiler_at_all_is_exit_3_with_the_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project.create(tmp_path / "p", tmp_path / "cache")
    project.environment["PATH"] = str(tmp_path)
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(ToolMissingError) as caught:
        project.build()
    (diagnostic,) = caught.value.diagnostics
    assert (caught.value.exit_code, diagnostic.code) == (3, "SP2001")
    assert "pip install" in diagnostic.fix
    assert "PATH" in diagnostic.cause


def test_two_builds_at_once_are_safe(project: Project) -> None:
    argv = [sys.executable, "-m", "shaderc_tool", "build", "manifest.yaml", "--out", "out", "--no-cache", "-q"]
    root = Path(__file__).parents[2]
    environment = {**project.environment, "PYTHONPATH": str(root)}
    children = [subprocess.Popen(argv, cwd=project.folder, env=environment) for _ in range(3)]
    assert [child.wait(120) for child in children] == [0, 0, 0]
    for name in SPV:
        read_module(project.output(f"vulkan/{name}").read_bytes())
    assert {p.name for p in project.output(".shaderpack").iterdir()} == {"lock", "state.json"}


def test_determinism_check_passes_on_honest_shaders(project: Project) -> None:
    result = project.build(check_determinism=True)
    assert result.ok, result.diagnostics


def test_a_build_of_one_target_keeps_the_report_of_the_others(project: Project) -> None:
    project.edit("manifest.yaml", "vulkan: {api: vulkan}", "vulkan: {api: vulkan}, other: {api: vulkan}")
    project.build()
    project.build(targets=("other",))
    report = json.loads(project.output("report.json").read_text())
    assert {a["target"] for a in report["actions"]} == {"vulkan", "other"}
    ledger = json.loads(project.output("capabilities.json").read_text())
    assert all(k["present"] for k in ledger["kernels"])
