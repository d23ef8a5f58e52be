"""Cold and no-op builds of variants of this project's shaders, against one glslc a variant and a bare import.

    python -m bench.vulkan_build            # prints a Markdown table

Cold: 208 variants, ours (batched, validated, packaged) against `xargs -P2` with one glslc each (not validated).
No-op: the second build of manifests/milady.yaml against `python -c "import click, yaml"`.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from bench.measure import Sample, interleaved, median_ratio, run

ROOT = Path(__file__).resolve().parent.parent
SHADERS = ("turbo3", "turbo4", "turbo3_tcq", "qjl", "qjl_get_rows", "qjl_mul_mv", "polar", "polar_get_rows")
COPIES = 26
RUNS = 5


def manifest_text() -> str:
    """A manifest with COPIES variants of each of the eight shaders."""
    lines = [
        "schema: 1",
        "pack: bench",
        f"root: {ROOT}",
        f"sources: {{vulkan: {ROOT}/vulkan}}",
        f"include: [{ROOT}/vulkan/include]",
        "targets: {vulkan: {api: vulkan}}",
        "variants:",
    ]
    copies = ", ".join(str(i) for i in range(COPIES))
    for name in SHADERS:
        lines.append(
            f'  {name}: {{vulkan: {{file: {name}.comp, symbol: "{name}_{{i}}"}}, matrix: {{i: [{copies}]}}, '
            'defines: {VARIANT: "{i}"}}'
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and print the table."""
    glslc = shutil.which("glslc")
    if glslc is None:
        sys.exit("this bench compares with glslc, which is not on PATH")
    with tempfile.TemporaryDirectory(dir=ROOT / "bench") as name:
        folder = Path(name)
        cold = _cold(folder)
        noop = _noop(folder)
    print(f"| comparison | ratio | runs |\n| --- | --- | --- |\n{cold}\n{noop}")


def _cold(folder: Path) -> str:
    # The manifest lies in the repository, so that its paths stay below the root.
    manifest = folder / "bench.yaml"
    text = manifest_text().replace(f"root: {ROOT}", "root: ../..").replace(f"{ROOT}/vulkan", "../../vulkan")
    manifest.write_text(text, "utf-8")
    ours_argv = [sys.executable, "-m", "shaderc_tool", "build", str(manifest), "--no-cache", "-q", "-j2"]
    lines = [f"{name} {i}" for name in SHADERS for i in range(COPIES)]
    peer_dir = folder / "peer"
    peer_dir.mkdir()
    one = (
        'set -- $1; glslc -c -fshader-stage=compute --target-env=vulkan1.2 -O -DVARIANT="$2" '
        f'-I"{ROOT}/vulkan/include" "{ROOT}/vulkan/$1.comp" -o "{peer_dir}/$1_$2.spv"'
    )

    def ours() -> Sample:
        out = folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        return run([*ours_argv, "--out", str(out)], ROOT)

    def peer() -> Sample:
        return run(["xargs", "-P2", "-I{}", "sh", "-c", one, "one", "{}"], ROOT, stdin="\n".join(lines) + "\n")

    a, b = interleaved(RUNS, ours, peer)
    same = sum(
        (folder / "out/bench/vulkan" / f"{n}_{i}.spv").read_bytes() == (peer_dir / f"{n}_{i}.spv").read_bytes()
        for n in SHADERS
        for i in range(COPIES)
    )
    count = len(lines)
    return (
        f"| cold, {count} variants: glslc each / ours, CPU | {median_ratio(a, b, 'cpu'):.2f} | {RUNS} |\n"
        f"| cold, {count} variants: glslc each / ours, wall | {median_ratio(a, b, 'wall'):.2f} | {RUNS} |\n"
        f"| modules with equal bytes | {same} of {count} | 1 |"
    )


def _noop(folder: Path) -> str:
    out = folder / "noop"
    env = {**os.environ, "SHADERPACK_CACHE": str(folder / "cache")}
    script = shutil.which("shaderpack", path=str(Path(sys.executable).parent))
    start = [script] if script else [sys.executable, "-m", "shaderc_tool"]
    argv = [*start, "build", "manifests/milady.yaml", "--target", "vulkan", "-q", "--out", str(out)]
    run(argv, ROOT, env)
    a, b = interleaved(
        4 * RUNS,
        lambda: run(argv, ROOT, env),
        lambda: run([sys.executable, "-c", "import click, yaml"], ROOT, env),
    )
    ratio = statistics.median(x.wall / y.wall for x, y in zip(a, b, strict=True))
    return f"| no-op build / `import click, yaml`, wall | {ratio:.2f} | {4 * RUNS} |"


if __name__ == "__main__":
    main()
