"""Record a build made by other means, build the manifest, and compare every byte."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from shaderc_tool.build.pipeline import build
from shaderc_tool.build.session import BuildRequest
from shaderc_tool.cli import cli
from shaderc_tool.diagnostics import ShaderpackError, UsageError
from shaderc_tool.manifest.load import load_manifest
from shaderc_tool.record.command import record
from tests.tools import require_glsl

SHADER = """\
#version 450
#include "common.glsl"
layout(local_size_x = WG) in;
layout(binding = 0) buffer B { TYPE b[]; };
void main() { b[gl_GlobalInvocationID.x] = helper(TYPE(EXTRA)); }
"""

# What a user's build script does: loops over variants, a probe of the compiler, one failed try, an odd one.
SCRIPT = """\
set -e
mkdir -p out
glslc --version > /dev/null
glslc -o - -fshader-stage=compute --target-env=vulkan1.3 src/scale.comp -DTYPE=float -DWG=1 -DEXTRA=1 > /dev/null
glslc -fshader-stage=compute src/scale.comp -o out/broken.spv -DTYPE=nonsense -DWG=1 2> /dev/null || true
for type in float int uint; do for wg in 32 64 128 256; do
  glslc -fshader-stage=compute --target-env=vulkan1.2 -O src/scale.comp -o out/scale_${type}_$wg.spv \\
    -DTYPE=$type -DWG=$wg -DEXTRA=2 &
done; done
wait
cd out
glslc -c -fshader-stage=compute --target-env=vulkan1.3 ../src/scale.comp -o special.spv \\
  -DTYPE=float -DWG=7 '-DEXTRA=1.5 /* {odd} */' -I ../src
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    require_glsl("glslc")
    folder = tmp_path / "pro ject"
    (folder / "src").mkdir(parents=True)
    (folder / "src/scale.comp").write_text(SHADER)
    (folder / "src/common.glsl").write_text("TYPE helper(TYPE x) { return x + x; }\n")
    (folder / "make.sh").write_text(SCRIPT)
    monkeypatch.chdir(folder)
    return folder


def test_the_manifest_makes_the_same_bytes(project: Path, tmp_path: Path) -> None:
    recorded = record(["sh", "make.sh"], project / "rec.yaml", "demo", os.environ)
    assert recorded.modules == 13
    assert not recorded.diagnostics
    reference = {p.stem: p.read_bytes() for p in (project / "out").glob("*.spv")}
    shutil.rmtree(project / "out")
    environment = {**os.environ, "SHADERPACK_CACHE": str(tmp_path / "cache")}
    result = build(BuildRequest(project / "rec.yaml", tmp_path / "o"), environment)
    assert result.ok, result.diagnostics
    assert {p.stem: p.read_bytes() for p in (tmp_path / "o/demo").rglob("*.spv")} == reference


def test_it_is_compact(project: Path) -> None:
    record(["sh", "make.sh"], project / "rec.yaml", "demo", os.environ)
    text = (project / "rec.yaml").read_text()
    assert 'symbol: "{a}{b}"' in text
    assert text.count("scale_float") == 1
    manifest = load_manifest(project / "rec.yaml")
    special = next(job for job in manifest.shaders if job.symbol == "special")
    assert dict(special.defines)["EXTRA"] == "1.5 /* {odd} */"
    assert (special.target, special.env, special.optimize) == ("vulkan1.3", "vulkan1.3", "none")


def test_recording_twice_writes_the_same_text(project: Path) -> None:
    record(["sh", "make.sh"], project / "a.yaml", "demo", os.environ)
    record(["sh", "make.sh"], project / "b.yaml", "demo", os.environ)
    assert (project / "a.yaml").read_text() == (project / "b.yaml").read_text()


def test_a_failed_build_writes_nothing(project: Path) -> None:
    with pytest.raises(ShaderpackError) as caught:
        record(["sh", "-c", "exit 7"], project / "rec.yaml", "demo", os.environ)
    assert [d.code for d in caught.value.diagnostics] == ["SP1016"]
    assert not (project / "rec.yaml").exists()


def test_a_build_without_compiles_says_why(project: Path) -> None:
    with pytest.raises(UsageError) as caught:
        record(["sh", "-c", "glslc --version > /dev/null"], project / "rec.yaml", "demo", os.environ)
    assert caught.value.diagnostics[0].code == "SP1015"


def test_what_does_not_fit_is_named(project: Path) -> None:
    script = (
        "glslc -fshader-stage=compute src/scale.comp -o a.spv -DTYPE=int -DWG=1 -DEXTRA=1 -g\n"
        "glslc -fshader-stage=compute src/scale.comp -S -o a.s -DTYPE=int -DWG=1 -DEXTRA=1\n"
    )
    recorded = record(["sh", "-c", script], project / "rec.yaml", "demo", os.environ)
    assert [d.code for d in recorded.diagnostics] == ["SP1017", "SP1018"]
    assert "-S" in recorded.diagnostics[0].message
    assert load_manifest(project / "rec.yaml").shaders[0].debug


def test_the_commands(project: Path) -> None:
    run = CliRunner().invoke(cli, ["record", "-o", "rec.yaml", "--", "sh", "make.sh"])
    assert run.exit_code == 0, run.output
    assert "13 modules" in run.output
    run = CliRunner().invoke(cli, ["compile-commands", "rec.yaml"])
    assert run.exit_code == 0, run.output
    entries = json.loads((project / "compile_commands.json").read_text())
    assert len(entries) == 13
    entry = next(e for e in entries if e["output"].endswith("scale_int_64.spv"))
    assert entry["file"] == "src/scale.comp"
    assert {"-DTYPE=int", "-DWG=64", "-O"} <= set(entry["arguments"])
    assert entry["directory"] == str(project)
