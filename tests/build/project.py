"""A small project on disk for build tests: three shaders, two includes."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from shaderc_tool.build.pipeline import build
from shaderc_tool.build.records import BuildResult
from shaderc_tool.build.session import BuildRequest

MANIFEST = """\
schema: 1
pack: demo
sources: {vulkan: src}
include: [inc]
targets: {vulkan: {api: vulkan}}
kernels:
  add: {vulkan: {file: add.comp, symbol: demo_add, bindings: [a, b], push_constants: [n]}}
  mul: {vulkan: {file: mul.comp, symbol: demo_mul}}
  plain: {vulkan: {file: plain.comp, symbol: demo_plain}}
outputs: [{kind: c-header, target: vulkan, storage: incbin}]
"""

HEAD = "#version 450\nlayout(local_size_x = 32) in;\n"
BUFFERS = """\
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) writeonly buffer B { float b[]; };
layout(push_constant) uniform Push { uint n; } push;
"""
FILES = {
    "manifest.yaml": MANIFEST,
    "src/add.comp": HEAD + '#include "common.glsl"\nvoid main() { b[push.n] = helper(a[0]) + OFFSET; }\n',
    "src/mul.comp": HEAD
    + '#include "common.glsl"\n#include "local.glsl"\nvoid main() { b[0] = helper(a[1]) * two; }\n',
    "src/local.glsl": "const float two = 2.0;\n",
    "src/plain.comp": HEAD + BUFFERS + "void main() { b[0] = a[0]; }\n",
    "inc/common.glsl": BUFFERS + "const float OFFSET = 1.0;\nfloat helper(float x) { return x + 0.5; }\n",
}


@dataclass
class Project:
    """The folder, and how builds of it are asked for."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    @classmethod
    def create(cls, folder: Path, cache: Path) -> Project:
        for name, text in FILES.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        return cls(folder, {**os.environ, "SHADERPACK_CACHE": str(cache)})

    @property
    def out(self) -> Path:
        return self.folder / "out"

    def request(self, **options: object) -> BuildRequest:
        base = BuildRequest(self.folder / "manifest.yaml", self.out)
        return replace(base, **options)  # type: ignore[arg-type]

    def build(self, **options: object) -> BuildResult:
        return build(self.request(**options), self.environment)

    def output(self, name: str) -> Path:
        return self.out / "demo" / name

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.folder / name
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new), "utf-8")

    def statuses(self, result: BuildResult) -> dict[str, str]:
        return {r.output.removeprefix("vulkan/"): r.status for r in result.records}

    def reasons(self, result: BuildResult) -> dict[str, str]:
        return {r.output.removeprefix("vulkan/"): r.reason for r in result.records}

    def files(self) -> dict[str, bytes]:
        """Every output but the report, whose times differ from run to run."""
        root = self.out / "demo"
        return {
            str(p.relative_to(root)): p.read_bytes()
            for p in sorted(root.rglob("*"))
            if p.is_file() and ".shaderpack" not in p.parts and p.name != "report.json"
        }
