"""Recorded Metal compiles: read from any way of naming the target, and built again by a pretended Mac."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shaderc_tool.build.pipeline import build
from shaderc_tool.build.session import BuildRequest
from shaderc_tool.manifest.load import load_manifest
from shaderc_tool.record.command import record
from shaderc_tool.record.metal import kernels_of
from shaderc_tool.toolchains.glslc_command import NotPlainError
from shaderc_tool.toolchains.metal_command import read_metal
from tests.fakes.xcrun import Script

SOURCE = """\
#include <metal_stdlib>
// kernel void in_a_comment(
kernel void plain(device float *a [[buffer(0)]]) {}
template<typename T> kernel void generic(device T *a [[buffer(0)]]) {}
template [[host_name("generic_f32")]] kernel void generic<float>(device float *);
"""
SCRIPT = """\
set -e
xcrun -sdk macosx metal -c -O2 -fno-fast-math -target air64-apple-macos14.0 \\
  -std=metal3.1 -DN=4 -MMD -MF k.d -o k.air k.metal
xcrun -sdk iphoneos metal -c -O2 -fno-fast-math -target air64-apple-ios17.0 \\
  -std=metal3.1 -DN=4 -MMD -MF ki.d -o ki.air k.metal
xcrun -sdk macosx metallib -o default.metallib k.air
"""


def test_kernels_are_those_that_a_host_can_name() -> None:
    assert kernels_of(SOURCE) == ("generic_f32", "plain")


def test_every_spelling_of_a_target() -> None:
    common = ["metal", "-c", "-std=macos-metal2.4", "a.metal", "-o", "a.air"]
    for words in (["-mmacosx-version-min=12.0"], ["-target", "air64-apple-macos12.0"], ["-mmacos-version-min=12.0"]):
        command = read_metal(["-sdk", "macosx", *common, *words])
        assert command is not None
        assert (command.sdk, command.min_os, command.std) == ("macosx", "12.0", "metal2.4")
        assert (command.optimize, command.math) == ("speed", "fast")
    simulator = read_metal(["--sdk", "iphonesimulator", *common, "-target", "air64-apple-ios15.0-simulator"])
    assert simulator is not None
    assert simulator.sdk == "iphonesimulator"


@pytest.mark.parametrize(
    "words",
    [["-std=metal3.1"], ["-mmacosx-version-min=14.0"], ["-std=metal3.1", "-mmacosx-version-min=14.0", "-unknown"]],
)
def test_what_the_sdk_would_decide_is_refused(words: list[str]) -> None:
    with pytest.raises(NotPlainError):
        read_metal(["-sdk", "macosx", "metal", "-c", *words, "a.metal", "-o", "a.air"])


def test_other_tools_are_no_compiles() -> None:
    assert read_metal(["-sdk", "macosx", "metallib", "a.air", "-o", "x"]) is None
    assert read_metal(["--find", "metal"]) is None


@pytest.mark.skipif(os.name != "posix", reason="the stand-ins are shell scripts")
def test_a_recorded_metal_build_builds_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Script().install(tmp_path / "mac")
    project = tmp_path / "p"
    project.mkdir()
    (project / "k.metal").write_text(SOURCE)
    (project / "make.sh").write_text(SCRIPT)
    monkeypatch.chdir(project)
    environment = {**os.environ, "PATH": f"{tmp_path}/mac:{os.environ['PATH']}", "SHADERPACK_CACHE": f"{tmp_path}/c"}
    recorded = record(["sh", "make.sh"], project / "rec.yaml", "demo", environment)
    assert (recorded.modules, recorded.diagnostics) == (2, ())
    manifest = load_manifest(project / "rec.yaml")
    assert {t.name: t.min_os for t in manifest.targets.values()} == {"macosx": "14.0", "iphoneos": "17.0"}
    unit = manifest.metal[0]
    assert [f.name for f in unit.functions] == ["generic_f32", "plain"]
    assert (unit.math, unit.optimize, unit.defines) == ("safe", "speed", (("N", "4"),))
    assert [o.kind for o in manifest.outputs] == ["metallib"]
    dry = BuildRequest(project / "rec.yaml", tmp_path / "out", dry_run=True, metal_toolchain="apple")
    planned = build(dry, environment)
    assert {"macosx/k.air", "iphoneos/k.air"} <= {r.output for r in planned.records}
