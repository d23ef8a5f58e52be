"""The stat-only answer must never hide a change: every kind of change makes the next build look properly."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from shaderc_tool.build import pipeline
from shaderc_tool.build.records import BuildResult
from shaderc_tool.build.session import Session
from shaderc_tool.cli import cli
from tests.build.project import Project
from tests.tools import require_glsl


@pytest.fixture
def looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Project, list[int]]:
    """A project whose last build did nothing, and a list that grows with every full build."""
    require_glsl()
    made = Project.create(tmp_path / "project", tmp_path / "cache")
    monkeypatch.setenv("SHADERPACK_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(made.folder)
    calls: list[int] = []
    original = pipeline._run

    def counted(session: Session) -> BuildResult:
        calls.append(1)
        return original(session)

    monkeypatch.setattr(pipeline, "_run", counted)
    for _ in range(2):
        build()
    calls.clear()
    return made, calls


def build(*options: str) -> str:
    result = CliRunner().invoke(cli, ["build", "manifest.yaml", "--out", "out", *options])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_nothing_changed_means_no_full_build(looked: tuple[Project, list[int]]) -> None:
    _, calls = looked
    assert "up to date; gate ok" in build()
    assert calls == []


@pytest.mark.parametrize(
    "change",
    ["source", "include", "manifest", "output", "missing output", "shadowing include", "evidence", "option", "tool"],
)
def test_every_change_is_seen(
    looked: tuple[Project, list[int]], change: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    project, calls = looked
    options: list[str] = []
    if change == "source":
        project.edit("src/plain.comp", "a[0]", "a[1]")
    elif change == "include":
        project.edit("inc/common.glsl", "0.5", "0.25")
    elif change == "manifest":
        project.edit("manifest.yaml", "incbin", "words")
    elif change == "output":
        project.output("vulkan/demo_add.spv").write_bytes(b"x")
    elif change == "missing output":
        project.output("vulkan/demo-shaders.h").unlink()
    elif change == "shadowing include":
        (project.folder / "src/common.glsl").write_text((project.folder / "inc/common.glsl").read_text())
    elif change == "evidence":
        project.output("evidence-vulkan.json").write_text("{}")
    elif change == "option":
        options = ["--glsl-toolchain", "auto", "--keep-going"]
    else:
        monkeypatch.setenv("GLSLC", str(tmp_path / "nowhere"))
    build(*options)
    assert calls == [1]


def test_explain_always_looks(looked: tuple[Project, list[int]]) -> None:
    _, calls = looked
    assert "nothing changed" in build("--explain")
    assert calls == [1]
