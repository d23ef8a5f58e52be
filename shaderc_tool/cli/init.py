"""`shaderpack init`."""

from __future__ import annotations

from pathlib import Path

import click

from shaderc_tool.diagnostics import Diagnostic, UsageError

_MANIFEST = """\
# A shaderpack manifest: `shaderpack build {name}.yaml` compiles, packages and checks everything below.
schema: 1
pack: {pack}
targets:
  vulkan: {{api: vulkan, env: vulkan1.2}}
kernels:
  scale:
    vulkan:
      file: scale.comp
      symbol: {pack}_scale
      # What the host code relies on; the build fails when the shader disagrees.
      local_size: [64, 1, 1]
      bindings: [src, dst]
      push_constants: [n, "factor: float"]
outputs:
  - {{kind: c-header, target: vulkan, storage: incbin}}
"""

_SHADER = """\
#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Src { float src[]; };
layout(std430, binding = 1) writeonly buffer Dst { float dst[]; };
layout(push_constant) uniform Push { uint n; float factor; } push;

void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < push.n) dst[i] = src[i] * push.factor;
}
"""


@click.command("init")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path())
def init_command(folder: Path) -> None:
    """Write a small working manifest and shader into FOLDER.

    Existing files are never overwritten.
    """
    name = folder.resolve().name or "pack"
    pack = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    pack = pack if pack[:1].isalpha() else f"pack_{pack}"
    manifest, shader = folder / f"{pack}.yaml", folder / "scale.comp"
    for path in (manifest, shader):
        if path.exists():
            raise UsageError(
                Diagnostic(
                    "SP1014",
                    f"{path} is already there",
                    cause="init never overwrites a file",
                    fix="give another folder, or remove the file",
                )
            )
    folder.mkdir(parents=True, exist_ok=True)
    manifest.write_text(_MANIFEST.format(name=pack, pack=pack), "utf-8")
    shader.write_text(_SHADER, "utf-8")
    click.echo(f"wrote {manifest} and {shader}\nnext: shaderpack build {manifest}")
