"""Running the CMake files of a (patched) tree: Metal with a scripted xcrun, Vulkan with the real glslc."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.fakes.xcrun import Order, Script, calls
from tests.tools import require_tool

_LISTS = """\
cmake_minimum_required(VERSION 3.19)
project(harness C CXX)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_INSTALL_BINDIR bin)
file(WRITE ${CMAKE_BINARY_DIR}/stub.c "int stub;")
function(ggml_add_backend_library name)
    add_library(${name} STATIC EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/stub.c)
endfunction()
add_subdirectory(${TREE}/ggml/src/${BACKEND} backend)
"""


class Project:
    """One backend folder of a tree, configured for Ninja. `folder` gets everything that CMake makes."""

    def __init__(self, folder: Path, tree: Path, backend: str, options: Sequence[str]) -> None:
        self.ninja = require_tool("ninja")
        self.build_folder = folder / "build"
        self.environment = dict(os.environ)
        (folder / "CMakeLists.txt").write_text(_LISTS, "utf-8")
        self._argv = [require_tool("cmake"), "-G", "Ninja", "-S", str(folder), "-B", str(self.build_folder)]
        self._argv += [f"-DTREE={tree}", f"-DBACKEND={backend}", *options]

    def configure(self) -> None:
        self._run(self._argv)

    def build(self, *targets: str) -> str:
        return self._run([self.ninja, "-C", str(self.build_folder), *targets])

    def targets(self) -> list[str]:
        """All that can be built, files included, by their paths below the build folder."""
        text = self._run([self.ninja, "-C", str(self.build_folder), "-t", "targets", "all"])
        names = [line.split(": ")[0] for line in text.splitlines() if ": " in line]
        return [name for name in names if not Path(name).is_absolute()]

    def _run(self, argv: list[str]) -> str:
        run = subprocess.run(argv, env=self.environment, capture_output=True, text=True, timeout=600)
        assert run.returncode == 0, run.stdout + run.stderr
        return run.stdout


class MetalProject(Project):
    """ggml-metal with an `xcrun` that only notes what it was asked to do."""

    def __init__(self, folder: Path, tree: Path, *, embed: bool) -> None:
        frameworks = ("FOUNDATION_LIBRARY", "METAL_FRAMEWORK", "METALKIT_FRAMEWORK")
        options = [f"-D{name}={name}" for name in frameworks]
        options.append(f"-DGGML_METAL_EMBED_LIBRARY={'ON' if embed else 'OFF'}")
        folder.mkdir()
        super().__init__(folder, tree, "ggml-metal", options)
        self.tools = folder / "tools"
        Script(orders={"metal": Order(), "metallib": Order()}).install(self.tools)
        self.environment["PATH"] = f"{self.tools}{os.pathsep}{self.environment['PATH']}"
        self.configure()

    def commands(self, tool: str) -> list[list[str]]:
        """The command lines of `metal` or `metallib` so far, without `xcrun -sdk SDK TOOL`."""
        return [
            argv[4:]
            for call in calls(self.tools)
            if (argv := call["argv"])[:2] == ["xcrun", "-sdk"] and argv[3] == tool
        ]
