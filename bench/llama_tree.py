"""llama.cpp in a scratch folder: its own CMake build of the shaders, and the manifest recorded from it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.measure import Sample, run
from tests.corpora import unpack

BACKEND = "ggml/src/ggml-vulkan"

# A compiler that leaves an empty module: the calls of a build do not depend on what its compiler writes.
_NOTHING = """\
#!/bin/sh
for word; do [ "$before" = -o ] && : > "$word"; before=$word; done
"""


@dataclass(frozen=True)
class CMakeBuild:
    """A configured build folder in which all that comes before the shaders has been built."""

    folder: Path
    sources: Sequence[str]

    @property
    def backend(self) -> Path:
        return self.folder / BACKEND

    @property
    def modules(self) -> Path:
        return self.backend / "vulkan-shaders.spv"

    @property
    def command(self) -> list[str]:
        """Generate the C++ text of the shaders: this compiles every variant."""
        return ["ninja", "-C", str(self.folder), *(f"{BACKEND}/{name}.cpp" for name in self.sources)]

    def clean(self) -> None:
        """Remove what `command` makes."""
        shutil.rmtree(self.modules, ignore_errors=True)
        for path in (*self.backend.glob("*.comp.cpp"), *self.backend.glob("*.comp.cpp.d")):
            path.unlink()


@dataclass(frozen=True)
class Tree:
    """`home`/llama.cpp is a copy that may be edited. Only `sources` are built."""

    home: Path
    sources: Sequence[str]

    @classmethod
    def create(cls, home: Path, every: int, ggml: Path | None = None) -> Tree:
        """Copy the tree, with the checkout `ggml` in place of its own when given.

        With `every` above 1, only so many of the sources are used, and a few of interest.
        """
        (original,) = unpack("llama-cpp-python").glob("*/vendor/llama.cpp")
        shutil.copytree(original, home / "llama.cpp")
        if ggml is not None:
            shutil.rmtree(home / "llama.cpp/ggml")
            shutil.copytree(ggml, home / "llama.cpp/ggml", ignore=shutil.ignore_patterns(".git"))
        names = sorted(path.name for path in (home / "llama.cpp" / BACKEND / "vulkan-shaders").glob("*.comp"))
        return cls(home, names if every == 1 else sorted({*names[::every], "rms_norm.comp", "tri.comp"}))

    @property
    def shaders(self) -> Path:
        return self.home / "llama.cpp" / BACKEND / "vulkan-shaders"

    def configure(self, name: str, glslc: str, environment: Mapping[str, str]) -> CMakeBuild:
        """Configure llama.cpp as it is, and build what its shader rules wait for."""
        stub, folder = self.home / "stub", self.home / name
        stub.mkdir(exist_ok=True)
        # Only ggml-vulkan.cpp includes these headers, and it is not built here.
        (stub / "SPIRV-HeadersConfig.cmake").write_text("set(SPIRV-Headers_FOUND TRUE)\n")
        options = {
            "GGML_VULKAN": "ON",
            "GGML_NATIVE": "OFF",
            "LLAMA_CURL": "OFF",
            **{f"LLAMA_BUILD_{part}": "OFF" for part in ("COMMON", "TESTS", "TOOLS", "EXAMPLES", "SERVER")},
            "CMAKE_C_FLAGS_RELEASE": "-O0",
            "CMAKE_CXX_FLAGS_RELEASE": "-O0",
            "SPIRV-Headers_DIR": str(stub),
            "Vulkan_GLSLC_EXECUTABLE": glslc,
        }
        argv = ["cmake", "-G", "Ninja", "-S", str(self.home / "llama.cpp"), "-B", str(folder)]
        run([*argv, *(f"-D{key}={value}" for key, value in options.items())], self.home, environment)
        run(["ninja", "-C", str(folder), "ggml-base", "vulkan-shaders-gen"], self.home, environment)
        return CMakeBuild(folder, self.sources)

    def record(self, build: CMakeBuild, shaderpack: Sequence[str], environment: Mapping[str, str]) -> Path:
        """The manifest of the build's calls, recorded without compiling anything."""
        tools, out, manifest = self.home / "nothing", self.home / "recorded", self.home / "ggml.yaml"
        tools.mkdir()
        out.mkdir()
        (tools / "glslc").write_text(_NOTHING)
        (tools / "glslc").chmod(0o755)
        lines = ["set -e"]
        for name in self.sources:
            words = ["--source", self.shaders / name, "--output-dir", out, "--target-hpp", out / "x.hpp"]
            words += ["--target-cpp", out / f"{name}.cpp"]
            lines.append(f"{build.folder}/Release/vulkan-shaders-gen {' '.join(map(str, words))}")
        (out / "all.sh").write_text("\n".join(lines) + "\n")
        env = {**environment, "PATH": f"{tools}:{environment['PATH']}"}
        argv = [*shaderpack, "record", "-o", str(manifest), "--pack", "ggml", "--", "sh", str(out / "all.sh")]
        run(argv, self.home, env)
        shutil.rmtree(out)
        return manifest

    def header(self, build: CMakeBuild, environment: Mapping[str, str]) -> None:
        """The declarations that the generated sources include."""
        run(["ninja", "-C", str(build.folder), f"{BACKEND}/ggml-vulkan-shaders.hpp"], self.home, environment)

    def touch(self, name: str) -> None:
        os.utime(self.shaders / name)

    def append(self, name: str, text: str) -> None:
        with open(self.shaders / name, "a") as stream:
            stream.write(text)


def modules(folder: Path) -> dict[str, bytes]:
    """All modules of a folder by name."""
    return {path.name: path.read_bytes() for path in folder.glob("*.spv")}


def total(samples: Sequence[Sample]) -> Sample:
    """One after the other: times add up, the largest process counts."""
    return Sample(sum(s.wall for s in samples), sum(s.cpu for s in samples), max(s.rss for s in samples))
