"""Wall time, CPU time and memory of whole processes, children included."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sample:
    """Seconds of wall time, user plus system seconds of a process and its children, MiB of the largest of them."""

    wall: float
    cpu: float
    rss: float = 0.0


def run(argv: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None, stdin: str = "") -> Sample:
    """Run one command to its end; raises CalledProcessError, with what it printed, when it fails."""
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+", errors="replace") as said:
        given.write(stdin)
        given.seek(0)
        begun = time.perf_counter()
        child = subprocess.Popen(
            list(argv), cwd=cwd, env=dict(env) if env else None, stdin=given, stdout=said, stderr=said
        )
        sample = finish(child, begun)
        if child.returncode:
            said.seek(0)
            raise subprocess.CalledProcessError(child.returncode, list(argv), said.read())
    return sample


def finish(child: subprocess.Popen[bytes], begun: float) -> Sample:
    """Wait for a child; `begun` is when it was started, by `time.perf_counter`."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return Sample(time.perf_counter() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


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
