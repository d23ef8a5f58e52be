"""llama.cpp's shader build: its own under CMake and ninja, a recorded manifest, and the drop-in compiler.

    python -m bench.llama_cpp              # the whole tree: some twenty minutes on two cores
    python -m bench.llama_cpp --every 12   # a twelfth of the sources

Every module of ours is compared with ggml's, byte for byte. A module that differs is compiled once more, alone, with
fresh memory filled (MALLOC_PERTURB_): when that gives our bytes, ggml's hold a value that glslang never wrote.
Numbers are seconds of wall time, CPU seconds of all processes (for the drop-in with its server), and MiB of the
largest process.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.llama_tree import CMakeBuild, Tree, modules, total
from bench.measure import Sample, finish, run
from shaderc_tool.dropin import protocol
from shaderc_tool.dropin.client import server_argv
from shaderc_tool.dropin.manage import native_client, stop_server
from shaderc_tool.manifest.load import load_manifest
from shaderc_tool.toolchains.glsl import GlslFlags, glslc_single_argv

ROOT = Path(__file__).resolve().parent.parent
SHADERPACK = [sys.executable, "-m", "shaderc_tool"]
COMMENT = "// a comment\n"
CODE = "#define BENCH_PROBE 1\n"
REPEATS = 5


class Bench:
    """One tree, three ways to build it, and the rows of the table."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.cache = tree.home / "cache"
        self.env = {**os.environ, "PYTHONPATH": str(ROOT), "SHADERPACK_CACHE": str(self.cache)}
        self.glslc = shutil.which("glslc") or sys.exit("this bench compares with glslc, which is not on PATH")
        self.theirs = tree.configure("ggml", self.glslc, self.env)
        self.manifest = tree.record(self.theirs, SHADERPACK, self.env)
        self.build = [*SHADERPACK, "build", str(self.manifest), "--out", str(tree.home / "ours"), "-q"]
        self.rows: list[str] = []

    def row(self, what: str, ggml: Sample, ours: Sample) -> None:
        ratios = f"{ggml.wall / ours.wall:.1f} | {ggml.cpu / ours.cpu:.1f}"
        line = f"| {what} | {_text(ggml)} | {_text(ours)} | {ratios} |"
        print(line, file=sys.stderr, flush=True)
        self.rows.append(line)

    def ggml(self) -> Sample:
        return run(self.theirs.command, self.tree.home, self.env)

    def ours(self) -> Sample:
        return run(self.build, self.tree.home, self.env)

    # --- the manifest

    def cold(self) -> Sample:
        ours, theirs = self.ours(), self.ggml()
        self.row("cold", theirs, ours)
        self.same_bytes("manifest", self.tree.home / "ours/ggml/vulkan")
        return theirs

    def edits(self) -> None:
        """ggml's no-op is ninja on the whole CMake build; ours answers from the third unchanged build on."""
        self.ours()
        pairs = sorted(((self.ggml(), self.ours()) for _ in range(REPEATS)), key=lambda p: p[0].wall / p[1].wall)
        self.row("no-op", *pairs[REPEATS // 2])
        if "mul_mm.comp" in self.tree.sources:
            self.tree.touch("mul_mm.comp")
            ours = self.ours()
            self.row("mul_mm.comp touched, not changed", self.ggml(), ours)
        self.tree.append("types.glsl", COMMENT)
        ours = self.ours()
        rebuilt = self.ggml()
        self.row("comment added to types.glsl", rebuilt, ours)
        self.tree.append("types.glsl", CODE)
        # ggml cannot tell code from a comment: it makes the same modules again.
        self.row("code added to types.glsl (ggml: the row above)", rebuilt, self.ours())

    def same_bytes(self, what: str, folder: Path) -> None:
        reference, made = modules(self.theirs.modules), modules(folder)
        differing = sorted(name for name in reference if made.get(name) != reference[name])
        steady = [name for name in differing if self.steady(name) == made.get(name)]
        print(f"{what}: {len(reference) - len(differing)} of {len(reference)} modules equal ggml's", flush=True)
        print(f"  uninitialised in ggml's: {steady}; differing for another reason: {sorted({*differing} - {*steady})}")

    def steady(self, name: str) -> bytes:
        """The module from a glslc of its own whose fresh memory is filled."""
        manifest = load_manifest(self.manifest)
        job = next(j for j in manifest.shaders if f"{j.symbol}.spv" == name)
        output = self.tree.home / "steady.spv"
        flags = GlslFlags(job.env, job.spv, job.optimize, job.debug, manifest.include)
        argv = glslc_single_argv(flags, job.defines, job.file, str(output), program=self.glslc)
        run(argv, manifest.root, {**self.env, "MALLOC_PERTURB_": "255"})
        return output.read_bytes()

    # --- the drop-in

    def drop_in(self, cold: Sample) -> None:
        program = native_client(str(self.cache), self.env)
        build = self.tree.configure("dropin", program, self.env)
        stop_server(str(self.cache))
        for what in ("drop-in, cold", "drop-in, cache filled, outputs deleted"):
            self.row(what, cold, self._served(build))
            self.same_bytes(what, build.modules)
            build.clean()

    def _served(self, build: CMakeBuild) -> Sample:
        """A build together with the server that it talks to, started for it."""
        folder = protocol.meeting_folder(str(self.cache))
        with open(f"{folder}/lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            begun = time.perf_counter()
            server = subprocess.Popen(server_argv(folder), env=self.env)
            while not Path(folder, "s").exists():
                time.sleep(0.01)
            started = time.perf_counter() - begun
            sample = run(build.command, self.tree.home, self.env)
            stop_server(str(self.cache))
            served = finish(server, begun)
        return Sample(started + sample.wall, sample.cpu + served.cpu, max(sample.rss, served.rss))

    # --- the code that carries the modules

    def storage(self) -> None:
        generated, ours = self.theirs.backend, self.tree.home / "ours/ggml/vulkan"
        self.tree.header(self.theirs, self.env)
        argv = ["g++", "-O0", "-c", "-o", os.devnull]
        ggml = total([run([*argv, str(path)], generated) for path in sorted(generated.glob("*.comp.cpp"))])
        self.row("compile the storage", ggml, run(["gcc", "-c", "ggml-shaders.S", "-o", os.devnull], ours))
        text = sum(path.stat().st_size for path in generated.glob("*.comp.cpp"))
        print(f"storage: {text / 1e6:.1f} MB of C++; ours {(ours / 'ggml-shaders.S').stat().st_size / 1e6:.2f} MB")


def _text(sample: Sample) -> str:
    return f"{sample.wall:.2f} | {sample.cpu:.2f} | {sample.rss:.0f}"


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="use every N-th source only")
    parser.add_argument("--ggml", type=Path, metavar="DIR", help="this ggml checkout in place of the tree's own")
    steps: dict[str, Callable[[Bench, Sample], None]] = {
        "storage": lambda bench, _: bench.storage(),
        "drop-in": lambda bench, cold: bench.drop_in(cold),
        "edits": lambda bench, _: bench.edits(),
    }
    parser.add_argument("--step", choices=steps, action="append", help="do these after the cold build; all by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="llama-bench-") as name:
        bench = Bench(Tree.create(Path(name), options.every, options.ggml))
        cold = bench.cold()
        for step in options.step or steps:
            steps[step](bench, cold)
    print("| build | ggml wall | CPU | MiB | ours wall | CPU | MiB | ratio wall | ratio CPU |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    print("\n".join(bench.rows))


if __name__ == "__main__":
    main()
