"""GLSL toolchains: argument lists and nothing else. Two families make the same outputs:

glslc     one process for many variant files, optimizer inside (vulkan-facts.md 0.2)
glslang   the wheels' `glslangValidator`, then `spirv-opt`; one process a variant
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Defines = Sequence[tuple[str, str]]
"""Macro names and texts, in order."""

LEAST_BATCH, LARGEST_BATCH = 30, 250
"""Variant files per glslc process. With 30, its start-up is a tenth of the time (vulkan-facts.md section 2)."""

_GLSLC_OPTIMIZE = {"none": "-O0", "size": "-Os", "speed": "-O"}
_OPT_OPTIMIZE = {"size": "-Os", "speed": "-O"}
_VAL_LAYOUT = {
    "std430": (),
    "scalar": ("--scalar-block-layout",),
    "relaxed": ("--relax-block-layout",),
    "uniform-std430": ("--uniform-buffer-standard-layout",),
}


@dataclass(frozen=True)
class Tool:
    """An executable that was found and answered. `version` identifies it in cache keys; `path` never does."""

    name: str
    path: Path
    version: str
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class GlslToolchain:
    """The compiler, the validator and, for the glslang family, the optimizer."""

    family: str
    compiler: Tool
    validator: Tool
    optimizer: Tool | None = None

    @property
    def identity(self) -> str:
        """What goes into every cache key of this toolchain."""
        tools = [self.compiler, self.validator] + ([self.optimizer] if self.optimizer else [])
        return "; ".join(f"{t.name} {t.version}" for t in tools)


@dataclass(frozen=True)
class GlslFlags:
    """What one compile needs beside its source: one batch shares one value of this."""

    env: str
    spv: str
    optimize: str
    debug: bool
    include: tuple[str, ...]


def glslc_argv(flags: GlslFlags, program: str = "glslc") -> list[str]:
    """The options that every glslc compile with these flags has; sources and defines follow."""
    argv = [program, "-c", "-fshader-stage=compute", f"--target-env={flags.env}"]
    if flags.spv:
        argv.append(f"--target-spv=spv{flags.spv}")
    argv.append(_GLSLC_OPTIMIZE[flags.optimize])
    if flags.debug:
        argv.append("-g")
    argv += [f"-I{folder}" for folder in flags.include]
    return argv


def glslc_single_argv(
    flags: GlslFlags, defines: Defines, source: str, output: str, depfile: str = "", program: str = "glslc"
) -> list[str]:
    """One source, one output."""
    argv = glslc_argv(flags, program) + define_options(defines)
    if depfile:
        argv += ["-MD", "-MF", depfile]
    return [*argv, source, "-o", output]


def glslc_batch_argv(flags: GlslFlags, sources: Sequence[str], program: str = "glslc") -> list[str]:
    """Many variant files; each output is `<file name>.spv` in the working directory, each depfile `<output>.d`."""
    return [*glslc_argv(flags, program), "-MD", *sources]


def glslang_argv(
    flags: GlslFlags, defines: Defines, source: str, output: str, depfile: str, program: str = "glslangValidator"
) -> list[str]:
    """One source, one unoptimized output. The preamble gives it `#include`, which glslc has by default."""
    argv = [program, "-V", "--quiet", "--target-env", flags.env, "-S", "comp"]
    if flags.spv:
        argv += ["--target-spv", f"spirv{flags.spv}"]
    argv.append("-P#extension GL_GOOGLE_include_directive : enable")
    if flags.debug:
        argv.append("-g")
    argv += [f"-I{folder}" for folder in flags.include]
    argv += define_options(defines)
    return [*argv, "--depfile", depfile, "-o", output, source]


def spirv_opt_argv(flags: GlslFlags, source: str, output: str, program: str = "spirv-opt") -> list[str]:
    """Optimize as asked; without debug, strip the names as glslc does."""
    argv = [program, f"--target-env={flags.env}"]
    if not flags.debug:
        argv.append("--strip-debug")
    if flags.optimize in _OPT_OPTIMIZE:
        argv.append(_OPT_OPTIMIZE[flags.optimize])
    return [*argv, source, "-o", output]


def spirv_val_argv(env: str, layout: str, module: str, program: str = "spirv-val") -> list[str]:
    """Validate one module. The module does not say which block layout it means, so the manifest does."""
    return [program, "--target-env", env, *_VAL_LAYOUT[layout], module]


def define_options(defines: Defines) -> list[str]:
    """`-DNAME=value` options, `-DNAME` for an empty value."""
    return [f"-D{name}={value}" if value else f"-D{name}" for name, value in defines]


def display_argv(family: str, flags: GlslFlags, defines: Defines, source: str, output: str) -> list[str]:
    """The command line that makes one module alone, for reports: relative paths, no tool path."""
    if family == "glslc":
        return glslc_single_argv(flags, defines, source, output)
    return glslang_argv(flags, defines, source, output, f"{output}.d")


def tidy_version(text: str) -> str:
    """A `--version` answer as one line that identifies the build: the lines up to the first list of targets."""
    lines = []
    for line in text.splitlines():
        line = line.strip()
        if line.startswith(("Target", "ESSL Version", "GLSL Version")):
            break
        if line:
            lines.append(line)
    return ", ".join(lines)
