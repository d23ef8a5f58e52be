"""llama.cpp's shader tree in a scratch folder, and its own build of it under ninja."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.measure import Sample, run
from tests.corpora import unpack

SHADERS = "vendor/llama.cpp/ggml/src/ggml-vulkan/vulkan-shaders"

# A compiler that leaves an empty module: the calls of a build do not depend on what its compiler writes.
_NOTHING = """\
#!/bin/sh
for word; do [ "$before" = -o ] && : > "$word"; before=$word; done
"""


@dataclass
class Tree:
    """`home`/shaders is a copy that may be edited, `home`/gen is vulkan-shaders-gen."""

    home: Path
    sources: Sequence[str] = field(default_factory=tuple)

    @classmethod
    def create(cls, home: Path, every: int) -> Tree:
        """Copy the tree and build its generator. With `every` above 1, only so many of the sources are used."""
        (original,) = unpack("llama-cpp-python").glob(f"*/{SHADERS}")
        shutil.copytree(original, home / "shaders")
        source = str(home / "shaders/vulkan-shaders-gen.cpp")
        run(["g++", "-O2", "-std=c++17", "-pthread", source, "-o", str(home / "gen")], home)
        names = sorted(path.name for path in (home / "shaders").glob("*.comp"))
        chosen = names if every == 1 else sorted({*names[::every], "rms_norm.comp", "tri.comp"})
        return cls(home, chosen)

    def ninja(self, out: Path, glslc: str) -> list[str]:
        """Write ggml's build, a rule as in its CMakeLists.txt for each source, and give the command that runs it."""
        out.mkdir(exist_ok=True)
        lines = [
            "rule gen",
            f"  command = {self.home}/gen --glslc {glslc} --source $in --output-dir {out}/spv "
            f"--target-hpp {out}/ggml-vulkan-shaders.hpp --target-cpp $out",
            "  depfile = $out.d",
            *(f"build {out}/{name}.cpp: gen {self.home}/shaders/{name}" for name in self.sources),
        ]
        (out / "build.ninja").write_text("\n".join(lines) + "\n")
        return ["ninja", "-C", str(out)]

    def header(self, out: Path) -> None:
        """The declarations that the generated sources include."""
        argv = [str(self.home / "gen"), "--output-dir", str(out / "spv"), "--target-hpp"]
        run([*argv, str(out / "ggml-vulkan-shaders.hpp")], self.home)

    def record(self, shaderpack: Sequence[str], environment: Mapping[str, str]) -> Path:
        """The manifest of ggml's build, recorded without compiling anything."""
        tools, out, manifest = self.home / "nothing", self.home / "recorded", self.home / "ggml.yaml"
        tools.mkdir()
        (tools / "glslc").write_text(_NOTHING)
        (tools / "glslc").chmod(0o755)
        env = {**environment, "PATH": f"{tools}:{environment['PATH']}"}
        build = self.ninja(out, "glslc")
        run([*shaderpack, "record", "-o", str(manifest), "--pack", "ggml", "--", *build], self.home, env)
        shutil.rmtree(out)
        return manifest

    def modules(self, folder: Path) -> dict[str, bytes]:
        """All modules of a folder by name."""
        return {path.name: path.read_bytes() for path in folder.glob("*.spv")}

    def touch(self, name: str) -> None:
        os.utime(self.home / "shaders" / name)

    def append(self, name: str, text: str) -> None:
        with open(self.home / "shaders" / name, "a") as stream:
            stream.write(text)


def total(samples: Sequence[Sample]) -> Sample:
    """One after the other: times add up, the largest process counts."""
    return Sample(sum(s.wall for s in samples), sum(s.cpu for s in samples), max(s.rss for s in samples))
