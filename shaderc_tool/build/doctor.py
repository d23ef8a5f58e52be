"""Probe every toolchain by running it: a stub that is found but cannot work counts as missing."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shaderc_tool.build.process import ProcessRunner
from shaderc_tool.diagnostics import ShaderpackError, ToolMissingError
from shaderc_tool.toolchains.apple_find import find_apple
from shaderc_tool.toolchains.apple_targets import AppleTarget
from shaderc_tool.toolchains.discover import Finder
from shaderc_tool.toolchains.glsl import GlslFlags, Tool, glslc_argv

_EXTENSIONS = (
    "GL_KHR_cooperative_matrix",
    "GL_NV_cooperative_matrix2",
    "GL_EXT_integer_dot_product",
    "GL_EXT_bfloat16",
)


@dataclass(frozen=True)
class Check:
    """One line of `shaderpack doctor`."""

    name: str
    ok: bool
    detail: str
    can: str = ""
    fix: str = ""
    essential: bool = False

    def value(self) -> dict[str, Any]:
        return asdict(self)


def run_checks(environment: Mapping[str, str], runner: ProcessRunner, folder: Path) -> list[Check]:
    """All checks, in the order in which a build would need the tools."""

    def probe(argv: list[str], env: Mapping[str, str]) -> tuple[int, str]:
        try:
            done = runner.run(argv, cwd=folder, env=env, timeout=60)
        except ShaderpackError as error:
            return 127, str(error)
        return done.status, done.stdout.decode("utf-8", "replace") + done.stderr.decode("utf-8", "replace")

    finder = Finder(environment, probe)
    glslc, glslang = finder.glslc(), finder.wheel("glslangValidator")
    validator, optimizer = finder.spirv_tool("spirv-val"), finder.spirv_tool("spirv-opt")
    compiler = glslc or glslang
    return [
        _glsl(compiler, probe),
        _tool("spirv-val", validator, "pip install 'shaderpack[glsl]'", essential=True),
        _tool("spirv-opt", optimizer, "pip install 'shaderpack[glsl]'", essential=glslc is None),
        _apple(probe),
        _portable_metal(),
        _vulkan_device(),
    ]


def _tool(name: str, tool: Tool | None, fix: str, *, essential: bool) -> Check:
    if tool is None:
        return Check(name, False, "not found", fix=fix, essential=essential)
    return Check(name, True, f"{tool.version} ({tool.path})", essential=essential)


def _glsl(tool: Tool | None, probe: Callable[[list[str], Mapping[str, str]], tuple[int, str]]) -> Check:
    name = "GLSL compiler"
    if tool is None:
        fix = "pip install 'shaderpack[glsl]' (or Debian: apt-get install glslc)"
        return Check(name, False, "neither glslc nor the wheels' glslang", fix=fix, essential=True)
    can = (
        "optimized SPIR-V in batches" if tool.name == "glslc" else "SPIR-V, one process a variant; spirv-opt optimizes"
    )
    if tool.name == "glslc":
        known = [name for name in _EXTENSIONS if _accepts(tool, name, probe)]
        can += "; extensions: " + (", ".join(known) or f"none of {', '.join(_EXTENSIONS)}")
    return Check(name, True, f"{tool.name} {tool.version} ({tool.path})", can, essential=True)


def _accepts(tool: Tool, extension: str, probe: Callable[[list[str], Mapping[str, str]], tuple[int, str]]) -> bool:
    """Probe with `require` and the exit status: `enable` of an unknown extension exits 0 (peers.md 2c)."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "probe.comp"
        source.write_text(f"#version 450\n#extension {extension} : require\nvoid main() {{}}\n", "utf-8")
        argv = [*glslc_argv(GlslFlags("vulkan1.2", "", "none", False, ()), str(tool.path)), str(source)]
        status, _ = probe([*argv, "-o", str(Path(folder) / "probe.spv")], tool.env)
        return status == 0


def _apple(probe: Callable[[list[str], Mapping[str, str]], tuple[int, str]]) -> Check:
    name = "Apple Metal compiler"
    try:
        found = find_apple(AppleTarget("macosx", "14.0", "metal3.1"), probe)
    except ToolMissingError as error:
        first = error.diagnostics[0]
        here = sys.platform == "darwin"
        fix = first.fix if here else "none needed: the portable compiler is used here"
        return Check(name, False, first.message if here else "only on macOS", fix=fix)
    return Check(name, True, found.identity, "metallibs for every Apple SDK")


def _portable_metal() -> Check:
    name = "portable Metal"
    missing = [m for m in ("ziglang", "llvmlite") if importlib.util.find_spec(m) is None]
    if missing:
        return Check(name, False, f"{' and '.join(missing)} not installed", fix="pip install 'shaderpack[metal]'")
    return Check(name, True, "ziglang's clang and llvmlite", "metallibs without a Mac (not proven on Apple hardware)")


def _vulkan_device() -> Check:
    name = "Vulkan device"
    if importlib.util.find_spec("vulkan") is None or importlib.util.find_spec("numpy") is None:
        return Check(name, False, "the `verify` extra is not installed", fix="pip install 'shaderpack[verify]'")
    from shaderc_tool.verify.vulkan_loader import devices

    try:
        found = devices()
    except ShaderpackError as error:
        first = error.diagnostics[0]
        return Check(name, False, first.message, fix=first.fix)
    return Check(name, True, "; ".join(f"{d.name} ({d.kind})" for d in found), "shaderpack verify --backend vulkan")
