"""Every folder in `failing/` is a small manifest that must fail with exactly the diagnostics in its expect.json.

`place` and `message` are compared unless null (tool texts and YAML texts differ between versions). `needs` says what
the case needs: "glsl" a GLSL toolchain, "no-metal" the absence of a Metal compiler.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from shaderc_tool.cli import cli
from tests.tools import require_glsl

FAILING = Path(__file__).parent / "failing"
CASES = sorted(path.name for path in FAILING.iterdir())


def _needs(name: str) -> str:
    needs: str = json.loads((FAILING / name / "expect.json").read_text("utf-8")).get("needs", "")
    return needs


RUNS = [(name, family) for name in CASES for family in (("glslc", "glslang") if _needs(name) == "glsl" else ("auto",))]


@pytest.mark.parametrize(("name", "family"), RUNS)
def test_the_failure_is_reported_exactly(
    name: str, family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "case"
    shutil.copytree(FAILING / name, folder)
    expected = json.loads((folder / "expect.json").read_text("utf-8"))
    if family != "auto":
        require_glsl(family)
    if expected.get("needs") == "no-metal":
        monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
        monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SHADERPACK_CACHE", str(tmp_path / "cache"))
    arguments = ["build", str(folder / "manifest.yaml"), "--out", str(tmp_path / "out"), "--format", "json"]
    arguments += ["--glsl-toolchain", family]
    result = CliRunner().invoke(cli, arguments)
    found = json.loads(result.stdout)["diagnostics"]
    assert [_short(d, e) for d, e in _paired(found, expected["diagnostics"])] == expected["diagnostics"]
    assert result.exit_code == expected["exit"]
    assert all(d["cause"] and d["fix"] for d in found)


def test_there_are_at_least_forty_cases() -> None:
    assert len(CASES) >= 40


def _paired(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    blank: dict[str, Any] = {"place": "", "message": ""}
    return [(d, expected[i] if i < len(expected) else blank) for i, d in enumerate(found)]


def _short(diagnostic: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    place = diagnostic["place"]
    where = ":".join(str(place[k]) for k in ("file", "line", "column") if place.get(k)) if place else None
    return {
        "code": diagnostic["code"],
        "place": None if expected["place"] is None else where,
        "message": None if expected["message"] is None else diagnostic["message"],
    }
