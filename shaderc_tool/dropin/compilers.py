"""Worker threads, each with its resident compilers."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from shaderc_tool.build.process import ProcessRunner
from shaderc_tool.dropin.resident import Made, ResidentGlslc
from shaderc_tool.toolchains.glsl import GlslFlags

_KEPT = 3
"""Resident compilers of one worker: as many sets of flags as a build mixes."""

Setting = tuple[str, GlslFlags]
"""The program and the flags."""


@dataclass(frozen=True)
class _Task:
    setting: Setting
    text: str
    result: Future[Made | None]


class Compilers:
    """Compile variant files on `workers` threads. A worker prefers nothing: tasks are served in order."""

    def __init__(self, workers: int, runner: ProcessRunner, base: Path) -> None:
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._runner = runner
        self._base = base
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(workers)]
        for thread in self._threads:
            thread.start()

    def compile(self, setting: Setting, text: str) -> Made | None:
        """Wait for one variant file to be compiled; None when glslc printed anything or failed."""
        task = _Task(setting, text, Future())
        self._tasks.put(task)
        return task.result.result()

    def close(self) -> None:
        """End all compilers. Tasks that wait are dropped."""
        for _ in self._threads:
            self._tasks.put(None)
        self._runner.stop_all()
        for thread in self._threads:
            thread.join(5)

    def _work(self) -> None:
        residents: dict[Setting, ResidentGlslc] = {}
        while (task := self._tasks.get()) is not None:
            try:
                task.result.set_result(self._resident(residents, task.setting).compile(task.text))
            except BaseException as error:
                task.result.set_exception(error)
        for resident in residents.values():
            resident.close()

    def _resident(self, residents: dict[Setting, ResidentGlslc], setting: Setting) -> ResidentGlslc:
        resident = residents.pop(setting, None)
        if resident is not None and not resident.usable:
            resident.close()
            resident = None
        if resident is None:
            while len(residents) >= _KEPT:
                residents.pop(next(iter(residents))).close()
            resident = ResidentGlslc(*setting, self._runner, self._base)
        residents[setting] = resident  # the last used is the last to go
        return resident


Compile = Callable[[Setting, str], "Made | None"]
