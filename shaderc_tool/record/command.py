"""`shaderpack record`: run the build, read what was noted, write the manifest."""

from __future__ import annotations

import os.path
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shaderc_tool.build.output import write_atomically
from shaderc_tool.build.process import run_attached
from shaderc_tool.diagnostics import Diagnostic, ShaderpackError, UsageError
from shaderc_tool.manifest.load import load_manifest
from shaderc_tool.record.compiles import read_compiles, remarks
from shaderc_tool.record.metal import read_metal_compiles
from shaderc_tool.record.standins import TOOLS, read_calls, write_standins
from shaderc_tool.record.write import manifest_text


@dataclass(frozen=True)
class Recorded:
    """What was written: modules, lines of manifest, and what to tell the user."""

    modules: int
    lines: int
    diagnostics: tuple[Diagnostic, ...]


def record(command: Sequence[str], manifest: Path, pack: str, environment: Mapping[str, str]) -> Recorded:
    """Run `command` with recording stand-ins and write the manifest.

    Raises ShaderpackError when the command fails (SP1016) and UsageError when it compiles nothing (SP1015).
    """
    with tempfile.TemporaryDirectory(prefix="shaderpack-record-") as name:
        folder = Path(name)
        status = run_attached(command, write_standins(folder, environment))
        calls = read_calls(folder)
    if status:
        raise ShaderpackError(_failed(command, status))
    compiles, found = read_compiles(calls)
    metal, more = read_metal_compiles(calls)
    found += more
    if not compiles and not metal:
        raise UsageError(_nothing(len(calls)), *found)
    manifest = Path(os.path.abspath(manifest))  # noqa: PTH100  (resolve() would follow links that the user sees)
    text = manifest_text(compiles, metal, manifest, pack)
    write_atomically(manifest, text.encode())
    load_manifest(manifest)
    return Recorded(len(compiles) + len(metal), text.count("\n"), (*found, *remarks(compiles)))


def _failed(command: Sequence[str], status: int) -> Diagnostic:
    return Diagnostic(
        "SP1016",
        f"{command[0]} exited with status {status}, so nothing was written",
        cause="a build that failed has not made all of its calls",
        fix="make the build work without `shaderpack record` first",
        subject=command[0],
    )


def _nothing(calls: int) -> Diagnostic:
    return Diagnostic(
        "SP1015",
        "the command compiled no shader through a recorded tool",
        cause=f"{calls} call(s) of {', '.join(TOOLS)} were seen on PATH, none of them a plain compile to a file",
        fix="start from a clean build folder, and let the build call the compiler by its bare name "
        "(llama.cpp: -DVulkan_GLSLC_EXECUTABLE=glslc)",
    )
