"""A manifest of 100,000 variants: expand, plan, and find that there is nothing to do.

    python -m bench.large_manifest                 # prints a Markdown table
    python -m bench.large_manifest --variants 1000

The modules are stand-ins of a few bytes: what is measured is everything that a build does before its first compile.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

from shaderc_tool.build import shaders
from shaderc_tool.build.plan import KEEP
from shaderc_tool.build.quick import memory_text, up_to_date
from shaderc_tool.build.records import ActionRecord
from shaderc_tool.build.session import BuildRequest, Quiet, Session, open_session
from shaderc_tool.manifest.load import load_manifest
from shaderc_tool.toolchains.glsl import GlslToolchain, Tool

CHAIN = GlslToolchain("glslc", Tool("glslc", Path("glslc"), "1"), Tool("spirv-val", Path("spirv-val"), "1"))
SOURCE = '#version 450\n#include "common.glsl"\nlayout(local_size_x = 1) in;\nvoid main() {}\n'


def write_project(folder: Path, variants: int) -> Path:
    """A manifest with four axes, about `variants` in all, over ten sources; gives its path."""
    (folder / "common.glsl").write_text("const uint N = 1u;\n")
    lines = ["schema: 1", "pack: large", "targets: {vulkan: {api: vulkan}}", "variants:"]
    for source in range(10):
        (folder / f"s{source}.comp").write_text(SOURCE)
        values = ", ".join(f"v{i}: {{TYPE: t{i}, WIDTH: '{i}'}}" for i in range(10))
        many = ", ".join(str(i) for i in range(max(1, variants // 1000)))
        lines += [
            f'  set{source}:\n    vulkan: {{file: s{source}.comp, symbol: "k{source}_{{a}}_{{b}}_{{c}}"}}',
            f"    matrix:\n      a: {{{values}}}\n      b: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n      c: [{many}]",
            '    defines: {B: "{b}", C: "{c}"}',
        ]
    path = folder / "large.yaml"
    path.write_text("\n".join(lines) + "\n")
    return path


def pretend_built(session: Session) -> None:
    """Leave what a build leaves: a module for every job, and the state."""
    (session.folder.root / "vulkan").mkdir(parents=True)
    for job, action in shaders.plan(session, CHAIN):
        session.folder.path(action.output).write_bytes(b"spv")
        record = ActionRecord(action.output, "spirv", job.kernel, job.target, "built", "", sha256="0" * 64, size=3)
        session.remember_output(record, action.key, action.parts)
    session.state.save(session.folder)


def measure(folder: Path, variants: int) -> list[tuple[str, float]]:
    """(what, seconds) of each step, then the peak memory in MiB. Run in a process of its own."""
    path = folder / "large.yaml"
    request = BuildRequest(path, folder / "out")
    steps: list[tuple[str, float]] = []
    begun = time.perf_counter()

    def lap(what: str) -> None:
        nonlocal begun
        steps.append((what, time.perf_counter() - begun))
        begun = time.perf_counter()

    manifest = load_manifest(path)
    lap("expand")
    session = open_session(request, manifest, dict(os.environ), Quiet())
    lap("read the state")
    planned = shaders.plan(session, CHAIN)
    assert len(planned) >= variants * 0.9
    assert all(action.verdict == KEEP for _, action in planned)
    lap("plan")
    quick = folder / "quick.json"
    quick.write_bytes(memory_text([str(session.folder.path(a.output)) for _, a in planned], "up to date"))
    begun = time.perf_counter()
    assert up_to_date(str(quick)) == "up to date"
    lap("no-op check")
    steps.append(("peak MiB", _peak()))
    return steps


def _peak() -> float:
    """The most memory that this process held, in MiB. getrusage also counts what the parent had before exec."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_child(folder: Path, variants: int) -> list[tuple[str, float]]:
    """`measure` in a fresh process, so that its memory is its own."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, folder, variants).result()


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variants", type=int, default=100_000)
    variants = parser.parse_args().variants
    with tempfile.TemporaryDirectory(prefix="large-") as name:
        folder = Path(name)
        path = write_project(folder, variants)
        request = BuildRequest(path, folder / "out")
        pretend_built(open_session(request, load_manifest(path), dict(os.environ), Quiet()))
        size = (folder / "out/large/.shaderpack/state.json").stat().st_size
        steps = in_child(folder, variants)
    print("| step | seconds |\n| --- | --- |")
    print("\n".join(f"| {what} | {seconds:.2f} |" for what, seconds in steps))
    print(f"| all steps | {sum(s for _, s in steps[:-1]):.2f} |\n| state.json, MB | {size / 1e6:.1f} |")


if __name__ == "__main__":
    main()
