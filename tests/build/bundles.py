"""A project with two kernels and embed bundles, built by a pretended Mac or by the portable compiler."""

from __future__ import annotations

import os
from pathlib import Path

from shaderc_tool.build.pipeline import build
from shaderc_tool.build.records import BuildResult
from shaderc_tool.build.session import BuildRequest
from tests.fakes.xcrun import Script, calls

TARGETS = """\
  ios: {api: metal, sdk: iphoneos, min_os: "17.0", sdk_version: "18.0", std: metal3.1}
  ios-sim: {api: metal, sdk: iphonesimulator, min_os: "17.0", sdk_version: "18.0", std: metal3.1}
"""
KERNELS = """\
  a: {metal: {file: a.metal, functions: [kernel_a]}}
  b: {metal: {file: b.metal, functions: [kernel_b]}}
"""
OUTPUTS = """\
  - {kind: embed, target: [ios, ios-sim]}
  - {kind: xcframework, target: [ios, ios-sim]}
"""
SOURCE = """\
#include <metal_stdlib>
#include "common.h"
using namespace metal;
kernel void kernel_%s(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = scale(x[i]); }
"""
COMMON = "#pragma once\nstatic inline float scale(float value) { return 2.0f * value; }\n"


class Bundles:
    """The folder of the project. With `tools`, a pretended Mac is first on PATH."""

    def __init__(self, folder: Path, outputs: str = OUTPUTS, *, mac: bool = True) -> None:
        self.folder = folder / "dir with space"
        self.folder.mkdir(parents=True)
        self.tools = folder / "tools"
        self.manifest(outputs)
        for name in "ab":
            self.write(f"{name}.metal", SOURCE % name)
        self.write("common.h", COMMON)
        path = os.environ["PATH"]
        if mac:
            Script().install(self.tools)
            path = f"{self.tools}{os.pathsep}{path}"
        cache = str(folder / "cache") if mac else os.environ.get("SHADERPACK_CACHE", str(folder / "cache"))
        self.environment = {"PATH": path, "SHADERPACK_CACHE": cache}

    def manifest(self, outputs: str, kernels: str = KERNELS) -> None:
        text = f"schema: 1\npack: demo\ntargets:\n{TARGETS}kernels:\n{kernels}outputs:\n{outputs}"
        self.write("demo.yaml", text)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, "utf-8")

    def build(self, **options: object) -> BuildResult:
        request = BuildRequest(self.folder / "demo.yaml", self.out.parent, **options)  # type: ignore[arg-type]
        return build(request, self.environment)

    @property
    def out(self) -> Path:
        return self.folder / "out" / "demo"

    def read(self, output: str) -> bytes:
        return (self.out / output).read_bytes()

    def files(self) -> dict[str, bytes]:
        """Every output but the report, whose times differ from run to run."""
        paths = (p for p in sorted(self.out.rglob("*")) if p.is_file() and ".shaderpack" not in p.parts)
        return {p.relative_to(self.out).as_posix(): p.read_bytes() for p in paths if p.name != "report.json"}

    def tools_run(self) -> list[str]:
        """The tools of the pretended Mac that worked, without questions for the version."""
        return [c["argv"][3] for c in calls(self.tools) if "--version" not in c["argv"]]


def codes(result: BuildResult, severity: str = "error") -> set[str]:
    return {d.code for d in result.diagnostics if d.severity.word == severity}
