"""The commands as a user types them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from shaderc_tool.cli import _COMMANDS, cli
from tests.build.project import Project
from tests.tools import require_glsl

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    require_glsl()
    made = Project.create(tmp_path / "project", tmp_path / "cache")
    monkeypatch.setenv("SHADERPACK_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(made.folder)
    return made


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, list(arguments))
    return result.exit_code, result.stdout, result.stderr


def test_every_command_has_help_that_teaches() -> None:
    code, text, _ = run("--help")
    assert code == 0
    assert "Exit codes" in text
    for name, (_, _, line) in _COMMANDS.items():
        assert name in text
        code, text_of, _ = run(name, "--help")
        assert code == 0, name
        assert "Usage:" in text_of
        assert line.endswith(".")


def test_an_unknown_command_gets_a_suggestion() -> None:
    code, _, text = run("biuld")
    assert code == 2
    assert "did you mean «build»?" in text


def test_build_audit_and_explain(project: Project) -> None:
    code, text, _ = run("build", "manifest.yaml", "--out", "out")
    assert code == 0
    assert "gate ok" in text
    assert run("audit", "manifest.yaml", "--out", "out")[0] == 0
    code, text, _ = run("explain", "add", "--out", "out")
    assert code == 0
    assert "first build of this output" in text
    assert "glslc" in text or "glslangValidator" in text
    code, text, _ = run("build", "manifest.yaml", "--out", "out", "--explain")
    assert "kept     vulkan/demo_add.spv: nothing changed" in text


def test_audit_finds_a_cut_module_a_missing_one_and_a_swapped_one(project: Project) -> None:
    assert run("build", "manifest.yaml", "--out", "out")[0] == 0
    add, mul, plain = (project.output(f"vulkan/demo_{n}.spv") for n in ("add", "mul", "plain"))
    whole = add.read_bytes()
    add.write_bytes(whole[: len(whole) // 2 & ~3])
    mul.write_bytes(plain.read_bytes())
    plain.unlink()
    code, text, _ = run("audit", "manifest.yaml", "--out", "out", "--format", "json")
    assert code == 1
    found = {(d["code"], d["subject"]) for d in json.loads(text)["diagnostics"]}
    assert found == {("SP4002", "demo_add"), ("SP4008", "demo_mul"), ("SP4001", "demo_plain")}


def test_audit_without_a_build_says_what_to_do(project: Project) -> None:
    code, _, text = run("audit", "manifest.yaml", "--out", "out")
    assert code == 2
    assert "shaderpack build" in text


def test_a_compile_error_shows_the_line_with_a_caret_or_marker(project: Project) -> None:
    project.edit("src/add.comp", "+ OFFSET", "+ OFFSET +")
    code, _, text = run("build", "manifest.yaml", "--out", "out")
    assert code == 1
    assert "src/add.comp:4" in text
    assert "b[push.n] = helper(a[0]) + OFFSET +" in text
    assert "fix:" in text


@pytest.mark.parametrize("form", ["json", "sarif", "junit", "github"])
def test_machine_formats_print_on_standard_output_only(project: Project, form: str) -> None:
    project.edit("src/add.comp", "+ OFFSET", "+ OFFSET +")
    code, out, err = run("build", "manifest.yaml", "--out", "out", "--format", form)
    assert code == 1
    assert "SP3002" in out
    assert err == ""


def test_init_makes_something_that_builds(project: Project, tmp_path: Path) -> None:
    assert run("init", str(tmp_path / "my demo"))[0] == 0
    code, text, err = run("build", str(tmp_path / "my demo/my_demo.yaml"), "--out", str(tmp_path / "o"))
    assert code == 0, err
    assert "gate ok" in text
    code, _, text = run("init", str(tmp_path / "my demo"))
    assert code == 2
    assert "already there" in text


def test_the_schema_accepts_the_examples_and_refuses_a_slip() -> None:
    schema = json.loads(run("schema")[1])
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for path in sorted((ROOT / "manifests").glob("*.yaml")):
        data = yaml.safe_load(path.read_text("utf-8"))
        assert not list(validator.iter_errors(data)), path
        data["kernls"] = {}
        assert list(validator.iter_errors(data))


def test_cache_commands(project: Project) -> None:
    run("build", "manifest.yaml", "--out", "out")
    assert "entries  3" in run("cache", "stats", "--verify")[1]
    assert "removed 3 entries" in run("cache", "clear")[1]
    assert "removed 0 entries" in run("cache", "gc")[1]


def test_explain_a_code_and_an_unknown_kernel(project: Project) -> None:
    assert "interface differs" in run("explain", "SP4005")[1]
    run("build", "manifest.yaml", "--out", "out")
    code, _, text = run("explain", "demo_ad", "--out", "out")
    assert code == 2
    assert "did you mean «demo_add»?" in text


def test_doctor_names_tools_and_fixes() -> None:
    require_glsl()
    code, text, _ = run("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(text)}
    assert code == 0
    assert checks["GLSL compiler"]["ok"]
    assert all(check["ok"] or check["fix"] for check in checks.values())


HEAVY = ("lief", "numpy", "llvmlite", "pygments", "vulkan")


def heavy_imports(*arguments: str, cwd: Path) -> set[str]:
    code = (
        "import sys, shaderc_tool.cli as c\n"
        f"sys.argv[1:] = {list(arguments)!r}\n"
        "try: c.main()\nexcept SystemExit as e: status = e.code or 0\n"
        f"print('HEAVY', status, *[m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env=_environment(), capture_output=True, text=True, check=True
    )
    _, status, *modules = done.stdout.strip().splitlines()[-1].split()
    assert status == "0", done.stderr
    return set(modules)


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT)}


def test_help_and_a_build_with_nothing_to_do_import_nothing_heavy(project: Project) -> None:
    assert heavy_imports("--help", cwd=project.folder) == set()
    assert heavy_imports("build", "manifest.yaml", "--out", "out", "-q", cwd=project.folder) <= {"pygments"}
    assert heavy_imports("build", "manifest.yaml", "--out", "out", "-q", cwd=project.folder) == set()
