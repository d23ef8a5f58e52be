"""A build with nothing to do is answered without click; anything else reaches the whole command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.build.project import Project
from tests.tools import require_glsl

ROOT = Path(__file__).parents[2]
CODE = "import sys; from shaderc_tool.entry import main; main(); print('click' in sys.modules)"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    require_glsl()
    return Project.create(tmp_path / "p", tmp_path / "cache")


def run(project: Project, *words: str) -> list[str]:
    """What the command prints; the last line is whether it needed click, and is missing when click ended it."""
    environment = {**os.environ, **project.environment, "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-c", CODE, *words]
    done = subprocess.run(argv, cwd=project.folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_third_build_needs_no_click_and_says_the_same(project: Project) -> None:
    words = ("build", "manifest.yaml", "--out", "out")
    run(project, *words)
    summary = run(project, *words)
    assert len(summary) == 1
    assert run(project, *words) == [*summary, "False"]
    assert run(project, *words, "-q") == ["False"]
    assert run(project, "build", "./manifest.yaml", "-q", "--out", str(project.out)) == ["False"]


@pytest.mark.parametrize("word", ["--explain", "--no-cache", "--keep-going", "-v", "--format=json", "-j1", "--help"])
def test_any_other_option_reaches_the_whole_command(project: Project, word: str) -> None:
    for _ in range(2):
        run(project, "build", "manifest.yaml", "--out", "out")
    assert "False" not in run(project, "build", "manifest.yaml", "--out", "out", word)


def test_a_change_is_seen(project: Project) -> None:
    for _ in range(2):
        run(project, "build", "manifest.yaml", "--out", "out")
    project.edit("src/plain.comp", "a[0]", "a[1]")
    assert " built, " in run(project, "build", "manifest.yaml", "--out", "out")[0]
