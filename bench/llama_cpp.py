"""llama.cpp's shader build: its own under ninja, a recorded manifest, and the drop-in compiler.

    python -m bench.llama_cpp              # the whole tree: some ten minutes
    python -m bench.llama_cpp --every 12   # a twelfth of the sources

Every module of ours is compared with ggml's, byte for byte. Numbers are seconds of wall time, CPU seconds of all
processes (for the drop-in with its server), and MiB of the largest process.
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

from bench.llama_tree import Tree, total
from bench.measure import Sample, finish, run
from shaderc_tool.dropin import protocol
from shaderc_tool.dropin.client import server_argv
from shaderc_tool.dropin.manage import native_client, stop_server

ROOT = Path(__file__).resolve().parent.parent
SHADERPACK = [sys.executable, "-m", "shaderc_tool"]
COMMENT = "// a comment\n"
CODE = "const uint bench_probe = 1u;\n"


class Bench:
    """One tree, three ways to build it, and the rows of the table."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.cache = tree.home / "cache"
        self.env = {**os.environ, "PYTHONPATH": str(ROOT), "SHADERPACK_CACHE": str(self.cache)}
        self.manifest = tree.record(SHADERPACK, self.env)
        self.rows: list[str] = []
        self.build = [*SHADERPACK, "build", str(self.manifest), "--out", str(tree.home / "ours"), "-q"]
        self.ninja = tree.ninja(tree.home / "ggml", "glslc")

    def row(self, what: str, ggml: Sample, ours: Sample) -> None:
        ratios = f"{ggml.wall / ours.wall:.1f} | {ggml.cpu / ours.cpu:.1f}"
        line = f"| {what} | {_text(ggml)} | {_text(ours)} | {ratios} |"
        print(line, file=sys.stderr, flush=True)
        self.rows.append(line)

    def ggml(self) -> Sample:
        return run(self.ninja, self.tree.home, self.env)

    def ours(self) -> Sample:
        return run(self.build, self.tree.home, self.env)

    # --- the manifest

    def cold_and_edits(self) -> tuple[Sample, Sample]:
        """All rows of the manifest; gives ggml's cold and no-op builds for the other comparisons."""
        ours, cold = self.ours(), self.ggml()
        self.row("cold", cold, ours)
        self.same_bytes("manifest", self.tree.home / "ours/ggml/vulkan")
        self.ours()  # the second build in which nothing changes is remembered; the third answers from that
        idle = self.ggml()
        self.row("no-op", idle, self.ours())
        self.tree.touch("mul_mm.comp")
        self.row("mul_mm.comp touched", self.ggml(), self.ours())
        self.tree.append("types.glsl", COMMENT)
        before = self.ours()
        rebuilt = self.ggml()
        self.row("comment in types.glsl", rebuilt, before)
        self.tree.append("types.glsl", CODE)
        # ggml cannot tell code from a comment: it makes the same modules again.
        self.row("code in types.glsl (ggml: as above)", rebuilt, self.ours())
        return cold, idle

    def same_bytes(self, what: str, folder: Path) -> None:
        reference, made = self.tree.modules(self.tree.home / "ggml/spv"), self.tree.modules(folder)
        differing = sorted(name for name in reference if made.get(name) != reference[name])
        print(f"{what}: {len(reference) - len(differing)} of {len(reference)} modules equal", *differing)

    # --- the drop-in

    def drop_in(self, cold: Sample) -> None:
        program = native_client(str(self.cache), self.env)
        out = self.tree.home / "dropin"
        build = self.tree.ninja(out, program)
        for what in ("drop-in, cold", "drop-in, cache filled, build folder deleted"):
            self.row(what, cold, self._served(lambda argv=build: run(argv, self.tree.home, self.env)))
            self.same_bytes(what, out / "spv")
            shutil.rmtree(out)
            build = self.tree.ninja(out, program)

    def _served(self, work: Callable[[], Sample]) -> Sample:
        """A build together with the server that it talks to."""
        folder = protocol.meeting_folder(str(self.cache))
        with open(f"{folder}/lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            begun = time.perf_counter()
            server = subprocess.Popen(server_argv(folder), env=self.env)
            while not Path(folder, "s").exists():
                time.sleep(0.01)
            started = time.perf_counter() - begun
            sample = work()
            stop_server(str(self.cache))
            served = finish(server, begun)
        return Sample(started + sample.wall, sample.cpu + served.cpu, max(sample.rss, served.rss))

    # --- the code that carries the modules

    def storage(self) -> None:
        out, ours = self.tree.home / "ggml", self.tree.home / "ours/ggml/vulkan"
        self.tree.header(out)
        argv = ["g++", "-O0", "-c", "-o", os.devnull]
        ggml = total([run([*argv, str(path)], out) for path in sorted(out.glob("*.cpp"))])
        sizes = sum(path.stat().st_size for path in out.glob("*.cpp")), (ours / "ggml-shaders.S").stat().st_size
        self.row("compile the storage", ggml, run(["gcc", "-c", "ggml-shaders.S", "-o", os.devnull], ours))
        print(f"storage: {sizes[0] / 1e6:.1f} MB of C++ / {sizes[1] / 1e6:.2f} MB of assembler")


def _text(sample: Sample) -> str:
    return f"{sample.wall:.2f} | {sample.cpu:.2f} | {sample.rss:.0f}"


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="use every N-th source only")
    with tempfile.TemporaryDirectory(prefix="llama-bench-") as name:
        bench = Bench(Tree.create(Path(name), parser.parse_args().every))
        cold, _ = bench.cold_and_edits()
        bench.storage()
        bench.drop_in(cold)
    print("| build | ggml wall | CPU | MiB | ours wall | CPU | MiB | ratio wall | ratio CPU |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    print("\n".join(bench.rows))


if __name__ == "__main__":
    main()
