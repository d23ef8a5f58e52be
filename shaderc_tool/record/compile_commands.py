"""compile_commands.json of a manifest (the JSON Compilation Database format of Clang)."""

from __future__ import annotations

import json

from shaderc_tool.manifest.model import Manifest, MetalUnit, ShaderJob
from shaderc_tool.toolchains.glsl import GlslFlags, glslc_single_argv

_METAL_OPTIMIZE = {"none": "-O0", "size": "-Os", "speed": "-O2"}


def compile_commands(manifest: Manifest) -> str:
    """One entry a module, in the manifest's order. Paths are relative to `directory`, the manifest's root."""
    directory = str(manifest.root)
    entries = [_entry(directory, job.file, job.output, _glsl(job, manifest)) for job in manifest.shaders]
    entries += [_entry(directory, unit.file, unit.output, _metal(unit, manifest)) for unit in manifest.metal]
    return json.dumps(entries, indent=1, ensure_ascii=False) + "\n"


def _entry(directory: str, file: str, output: str, arguments: list[str]) -> dict[str, object]:
    return {"directory": directory, "file": file, "output": output, "arguments": arguments}


def _glsl(job: ShaderJob, manifest: Manifest) -> list[str]:
    flags = GlslFlags(job.env, job.spv, job.optimize, job.debug, manifest.include)
    return glslc_single_argv(flags, job.defines, job.file, job.output)


def _metal(unit: MetalUnit, manifest: Manifest) -> list[str]:
    """The options that an editor's Clang understands: language, macros, include folders."""
    target = manifest.targets[unit.target]
    argv = ["metal", "-x", "metal", f"-std={target.std}", _METAL_OPTIMIZE[unit.optimize]]
    argv += [f"-D{name}={value}" for name, value in unit.defines]
    argv += [f"-I{folder}" for folder in manifest.include]
    return [*argv, "-c", unit.file, "-o", unit.output]
