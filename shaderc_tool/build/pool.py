"""A bounded pool of threads that wait for children. Ctrl-C ends the children and starts no more."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from shaderc_tool.build.process import ProcessRunner

T = TypeVar("T")


def default_workers() -> int:
    """One child per processor that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)


def run_pool(tasks: Sequence[Callable[[], T]], workers: int, runner: ProcessRunner) -> Iterator[T]:
    """Run the tasks on at most `workers` threads and yield results as they end; the first exception is raised.

    When the caller stops iterating, tasks that have not begun are dropped and the running ones are waited for.
    """
    if len(tasks) == 1 or workers == 1:
        for task in tasks:
            yield task()
        return
    # Imported here: it costs more than a whole build that has nothing to do.
    from concurrent.futures import ThreadPoolExecutor, as_completed

    pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="shaderpack")
    try:
        for future in as_completed([pool.submit(task) for task in tasks]):
            yield future.result()
    except KeyboardInterrupt:
        runner.stop_all()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
