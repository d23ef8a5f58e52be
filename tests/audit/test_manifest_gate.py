"""Manifest-level rules in a real build: consumers, devices, dispatch, publishing; and that a host edit is seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from shaderc_tool.cli import cli
from tests.build.project import Project
from tests.tools import require_glsl

HOST = 'auto a = load("demo_add"); auto m = load("demo_mul");\nauto p = load("demo_plain");\n'
AUDIT = """\
audit:
  publishable: [present, interface, dispatched]
  consumers: [{files: ["host/*.cpp"], prefix: demo_}]
  profiles: {small: {capabilities: [Shader], invocations: 32}}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    require_glsl()
    made = Project.create(tmp_path / "project", tmp_path / "cache")
    (made.folder / "host").mkdir()
    (made.folder / "host/a.cpp").write_text(HOST)
    (made.folder / "manifest.yaml").write_text((made.folder / "manifest.yaml").read_text() + AUDIT)
    monkeypatch.setenv("SHADERPACK_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(made.folder)
    return made


def run(*arguments: str) -> tuple[int, list[tuple[str, str]]]:
    result = CliRunner().invoke(cli, [*arguments, "--out", "out", "--format", "json"])
    return result.exit_code, [(d["code"], d["subject"]) for d in json.loads(result.stdout)["diagnostics"]]


def test_a_host_edit_is_seen_although_no_output_changes(project: Project) -> None:
    assert project.build().ok
    project.edit("host/a.cpp", '"demo_mul"', '"demo_mull"')
    result = project.build()
    (missing,) = [d for d in result.diagnostics if d.code == "SP4063"]
    assert (missing.subject, str(missing.place)) == ("demo_mull", "host/a.cpp:1:42")
    (idle,) = [d for d in result.diagnostics if d.code == "SP4064"]
    assert idle.subject == "demo_mul"
    project.edit("host/a.cpp", '"demo_mull"', '"demo_mul"')
    assert project.build().ok


def test_the_ledger_names_the_host_line(project: Project) -> None:
    project.edit("host/a.cpp", 'auto p = load("demo_plain");\n', "")
    project.build()
    rows = {row["symbol"]: row for row in json.loads(project.output("capabilities.json").read_text())["kernels"]}
    assert rows["demo_add"]["dispatched"] == "host/a.cpp:1:15"
    assert rows["demo_add"]["publishable"]
    assert rows["demo_plain"]["why_not"] == ["interface not proven", "not dispatched"]


def test_audit_publishable(project: Project) -> None:
    assert run("build", "manifest.yaml")[0] == 0
    assert run("audit", "manifest.yaml")[0] == 0
    code, found = run("audit", "manifest.yaml", "--publishable")
    # demo_mul and demo_plain declare no interface, so the policy's proof is missing.
    assert (code, found) == (1, [("SP4075", "demo_mul"), ("SP4075", "demo_plain")])


def test_a_device_that_cannot_run_a_module(project: Project) -> None:
    project.edit("manifest.yaml", "invocations: 32", "invocations: 16")
    assert run("build", "manifest.yaml") == (1, [("SP4068", name) for name in ("demo_add", "demo_mul", "demo_plain")])


def test_audit_against_a_baseline(project: Project) -> None:
    assert run("build", "manifest.yaml")[0] == 0
    assert run("audit", "manifest.yaml", "--write-baseline", "b.json")[0] == 0
    assert run("audit", "manifest.yaml", "--baseline", "b.json") == (0, [])
    project.edit("inc/common.glsl", "uint n; } push;", "uint n; float gain; } push;")
    project.edit("inc/common.glsl", "return x + 0.5;", "return x * push.gain;")
    project.edit("manifest.yaml", "push_constants: [n]", 'push_constants: [n, "gain: float"]')
    assert run("build", "manifest.yaml")[0] == 0
    changed = [(code, subject) for code, subject in run("audit", "manifest.yaml", "--baseline", "b.json")[1]]
    assert ("SP4069", "demo_add") in changed


def test_options_that_have_no_meaning_are_refused(project: Project) -> None:
    for arguments in (["manifest.yaml", "--require", "x"], ["host/a.cpp", "--publishable"]):
        result = CliRunner().invoke(cli, ["audit", *arguments])
        assert result.exit_code == 2
        assert "SP1014" in result.stderr


def test_the_report_says_which_outputs_changed_their_size(project: Project) -> None:
    project.build()
    assert json.loads(project.output("report.json").read_text())["size_changes"] == []
    project.edit("src/plain.comp", "b[0] = a[0];", "b[0] = a[0] * a[1] + a[2];")
    before = project.output("vulkan/demo_plain.spv").stat().st_size
    project.build()
    changes = json.loads(project.output("report.json").read_text())["size_changes"]
    (change,) = [c for c in changes if c["output"] == "vulkan/demo_plain.spv"]
    assert (change["before"], change["after"]) == (before, project.output("vulkan/demo_plain.spv").stat().st_size)
