"""Kernels that Apple's compiler built, run from their AIR on the CPU: errors against NumPy and times.

    python -m bench.metal_on_cpu            # prints the table
    python -m bench.metal_on_cpu --write    # puts it into docs/metal-on-cpu.md

The libraries come out of wheels that are downloaded by name and digest (about 60 MB). Errors are the largest over all
outputs, `relative` to the largest expected magnitude. `compile` is bitcode to machine code, `run` the best of three
dispatches. One core.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from shaderc_tool.formats.metallib import Library, read_library
from shaderc_tool.verify import air_cpu
from tests.corpora import metallibs, packages
from tests.verify.metal_cases import CASES, MetalCase, relative_error

PAGE: Final = Path(__file__).resolve().parents[1] / "docs/metal-on-cpu.md"
BEGIN: Final = "<!-- table: python -m bench.metal_on_cpu --write -->"
END: Final = "<!-- end of table -->"
_REPEATS: Final = 3


@dataclass(frozen=True)
class Row:
    """One kernel. Times in seconds; `passed` when every output is within the case's tolerance."""

    case: MetalCase
    absolute: float
    relative: float
    compile_time: float
    run_time: float
    threads: int
    passed: bool


@cache
def _libraries(package: str) -> list[Library]:
    return [read_library(data) for _, data in metallibs(package)]


def measure(case: MetalCase) -> Row:
    """Compile the kernel once, dispatch it on fresh inputs, compare each time."""
    (library,) = (lib for lib in _libraries(case.package) if any(f.name == case.kernel for f in lib.functions))
    start = time.perf_counter()
    kernel = air_cpu.load(library, case.kernel, constants=case.constants)
    compile_time = time.perf_counter() - start
    results, errors = [], []
    for _ in range(_REPEATS):
        prepared = case.prepare()
        results.append(
            kernel.dispatch(
                prepared.buffers,
                threadgroup=prepared.threadgroup,
                grid=prepared.grid,
                threads=prepared.threads,
                threadgroup_memory=prepared.threadgroup_memory,
            )
        )
        errors += [relative_error(got, expected) for got, expected in prepared.outputs]
    relative = max(error[1] for error in errors)
    return Row(
        case,
        max(error[0] for error in errors),
        relative,
        compile_time,
        min(result.seconds for result in results),
        results[0].threads,
        relative <= case.tolerance,
    )


def table(rows: Sequence[Row]) -> Iterator[str]:
    """The rows in Markdown."""
    yield "| library | kernel | GPU threads | max error | relative | compile, ms | run, ms |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for row in rows:
        library = f"{row.case.package} {packages()[row.case.package].version}"
        name = f"`{row.case.kernel}`{f' {row.case.variant}' if row.case.variant else ''}"
        name = name if row.passed else f"{name} **fails**"
        errors = f"{row.absolute:.2g} | {row.relative:.2g}"
        times = f"{row.compile_time * 1e3:.0f} | {row.run_time * 1e3:.2f}"
        yield f"| {library} | {name} | {row.threads} | {errors} | {times} |"


def main() -> None:
    """Print or write the table; ends with an error when a kernel fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the table in docs/metal-on-cpu.md")
    options = parser.parse_args()
    rows = [measure(case) for case in CASES]
    lines = "\n".join(table(rows))
    if options.write:
        head, rest = PAGE.read_text("utf-8").split(BEGIN)
        PAGE.write_text(f"{head}{BEGIN}\n{lines}\n{END}{rest.split(END)[1]}", "utf-8")
    else:
        print(lines)
    failed = [row.case.kernel for row in rows if not row.passed]
    if failed:
        raise SystemExit(f"wrong: {', '.join(failed)}")


if __name__ == "__main__":
    main()
