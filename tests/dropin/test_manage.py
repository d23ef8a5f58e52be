"""The drop-in's own options."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shaderc_tool.dropin import protocol
from shaderc_tool.dropin.manage import native_client
from tests.tools import require_tool

ROOT = Path(__file__).parents[2]


def run(option: str, cache: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "SHADERPACK_CACHE": str(cache), **environment}
    argv = [sys.executable, "-m", "shaderc_tool.dropin.client", option]
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=120)


def test_the_path_is_a_program_that_is_built_once(tmp_path: Path) -> None:
    require_tool("cc")
    path = Path(run("--shaderpack-path", tmp_path).stdout.strip())
    assert os.access(path, os.X_OK)
    made = path.stat().st_mtime_ns
    assert native_client(str(tmp_path), os.environ) == str(path)
    assert path.stat().st_mtime_ns == made
    assert protocol.is_private(protocol.meeting_folder(str(tmp_path)))


def test_without_a_c_compiler_it_is_the_script(tmp_path: Path) -> None:
    done = run("--shaderpack-path", tmp_path, PATH=str(tmp_path), CC="")
    assert done.stdout.strip().endswith("client.py")


def test_a_c_compiler_that_fails_is_no_compiler(tmp_path: Path) -> None:
    failing = require_tool("false")
    (tmp_path / "cc").symlink_to(failing)
    assert native_client(str(tmp_path / "c"), {"CC": str(tmp_path / "cc"), "PATH": os.environ["PATH"]}) == ""


@pytest.mark.parametrize(("option", "status"), [("--shaderpack-help", 0), ("--shaderpack-other", 2)])
def test_usage(tmp_path: Path, option: str, status: int) -> None:
    done = run(option, tmp_path)
    assert (done.returncode, "--shaderpack-path" in done.stderr) == (status, True)


def test_stop_without_a_server(tmp_path: Path) -> None:
    assert run("--shaderpack-stop", tmp_path).returncode == 1


def test_the_c_client_has_no_warnings(tmp_path: Path) -> None:
    cc = require_tool("cc")
    source = Path(native_client(str(tmp_path), os.environ)).with_name("client.c")
    argv = [cc, "-Wall", "-Wextra", "-Werror", "-O2", "-o", str(tmp_path / "out"), str(source)]
    assert subprocess.run(argv, capture_output=True, text=True).stderr == ""
