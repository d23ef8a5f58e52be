"""T1, T3, T5, T17 of the fact sheet: a compiler that fails in every way it can, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shaderc_tool.build.records import BUILT
from shaderc_tool.diagnostics import Severity
from tests.build.project import Project
from tests.tools import require_glsl

FAKE = Path(__file__).parents[1] / "fakes/glslc.py"
SPV = ("demo_add.spv", "demo_mul.spv", "demo_plain.spv")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project that was built once with a real compiler, and then meets the fake one."""
    require_glsl()
    made = Project.create(tmp_path / "project", tmp_path / "cache")
    made.edit("manifest.yaml", ", bindings: [a, b], push_constants: [n]", "")
    assert made.build().ok
    home = tmp_path / "home"
    home.mkdir()
    (home / "module.spv").write_bytes(made.output("vulkan/demo_plain.spv").read_bytes())
    (home / "fake-version").write_text("1")
    fake = tmp_path / "bin" / "glslc"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "$@"\n')
    fake.chmod(0o755)
    made.environment.update({"GLSLC": str(fake), "HOME": str(home)})
    return made


def behave(project: Project, mode: str) -> None:
    Path(project.environment["HOME"], "fake-mode").write_text(mode)


def compiles(project: Project) -> int:
    log = Path(project.environment["HOME"], "fake-log")
    return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.mark.parametrize(
    ("mode", "code", "words"),
    [
        ("fail-silently", "SP3004", "exited with status 1"),
        ("no-output", "SP3005", "wrote no module"),
        ("signal", "SP3006", "was killed by signal SIGKILL"),
        ("flood", "SP3002", "after the flood"),
    ],
)
def test_each_way_to_fail_is_a_clear_error_and_keeps_the_old_output(
    project: Project, mode: str, code: str, words: str
) -> None:
    before = {name: project.output(f"vulkan/{name}").read_bytes() for name in SPV}
    behave(project, mode)
    result = project.build(keep_going=True)
    errors = [d for d in result.diagnostics if d.severity is Severity.ERROR]
    assert errors
    assert {d.code for d in errors} == {code}
    assert all(words in d.message and d.cause and d.fix for d in errors)
    assert {name: project.output(f"vulkan/{name}").read_bytes() for name in SPV} == before


def test_text_on_stderr_with_a_good_output_is_a_warning(project: Project) -> None:
    behave(project, "warn")
    result = project.build(jobs=1)
    assert result.ok
    warnings = {(d.code, str(d.place), d.message) for d in result.diagnostics}
    # The fake names the first variant file of the batch; its line 3 is the source's line 2, after the version line.
    assert ("SP3003", "src/add.comp:2", "mind this") in warnings


def test_the_toolchain_may_move_but_not_change(project: Project, tmp_path: Path) -> None:
    behave(project, "good")
    assert project.build().ok
    made = compiles(project)
    moved = tmp_path / "elsewhere" / "glslc"
    moved.parent.mkdir()
    Path(project.environment["GLSLC"]).rename(moved)
    project.environment["GLSLC"] = str(moved)
    assert project.build().ok
    assert compiles(project) == made
    Path(project.environment["HOME"], "fake-version").write_text("2")
    os.utime(moved)  # another compiler has another stat signature
    result = project.build()
    assert project.statuses(result)["demo_add.spv"] == BUILT
    assert "fake glslc 1" in project.reasons(result)["demo_add.spv"]


def test_a_compiler_that_does_not_answer_is_passed_over(project: Project, tmp_path: Path) -> None:
    broken = tmp_path / "broken" / "glslc"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    project.environment["GLSLC"] = str(broken)
    assert "broken" not in project.build().toolchains["glsl"]


def test_ctrl_c_leaves_nothing_half_done(project: Project) -> None:
    before = project.files()
    behave(project, "slow")
    argv = [sys.executable, "-m", "shaderc_tool", "build", "manifest.yaml", "--out", "out"]
    environment = {**project.environment, "PYTHONPATH": str(Path(__file__).parents[2])}
    child = subprocess.Popen(argv, cwd=project.folder, env=environment, stderr=subprocess.PIPE, text=True)
    for _ in range(200):
        if compiles(project):
            break
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    _, text = child.communicate(timeout=30)
    assert child.returncode == 130
    assert "interrupted" in text
    assert "Traceback" not in text
    assert project.files() == before
    assert {p.name for p in project.output(".shaderpack").iterdir()} == {"lock", "state.json"}
