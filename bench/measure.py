"""Wall and CPU time of whole processes, children included."""

from __future__ import annotations

import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sample:
    """Seconds: wall, and user plus system of the process and all its children."""

    wall: float
    cpu: float


def run(argv: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None, stdin: str = "") -> Sample:
    """Run one command to its end; raises CalledProcessError when it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    subprocess.run(
        list(argv), cwd=cwd, env=dict(env) if env else None, input=stdin, text=True, check=True, capture_output=True
    )
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Sample(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def interleaved(runs: int, ours: Callable[[], Sample], peer: Callable[[], Sample]) -> tuple[list[Sample], list[Sample]]:
    """Ours and the peer in turn, so that a machine whose speed drifts is fair to both."""
    a, b = [], []
    for _ in range(runs):
        a.append(ours())
        b.append(peer())
    return a, b


def median_ratio(a: Sequence[Sample], b: Sequence[Sample], what: str) -> float:
    """Median over the pairs of b/a: how many times more the peer needs."""
    return float(statistics.median(getattr(y, what) / getattr(x, what) for x, y in zip(a, b, strict=True)))
