"""The only module that starts processes.

Children get an argument list (never a shell), a clean environment and their own process group, so that a time-out or
Ctrl-C ends whatever they started too. Both pipes are drained at once: a child may write any amount to either.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from shaderc_tool.diagnostics import Diagnostic, ShaderpackError

DEFAULT_TIMEOUT = 600.0
"""Seconds after which a child is taken to hang."""

# What a compiler may need from the user's environment. Deployment targets, SDKROOT, CPATH, GLSLC flags and the like
# stay out: they change outputs without showing in any cache key (peers.md rows 15b and 16).
_KEPT = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "TEMP",
    "TMP",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "COMSPEC",
    "PATHEXT",
    "USERPROFILE",
    "LOCALAPPDATA",
    "DEVELOPER_DIR",
    "LD_LIBRARY_PATH",
)


def clean_environment(parent: Mapping[str, str], extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a child: the few variables it needs, the C locale, and `extra` on top."""
    env = {name: parent[name] for name in _KEPT if name in parent}
    env.update({"LC_ALL": "C", "LANG": "C"})
    env.update(extra or {})
    return env


@dataclass(frozen=True)
class Completed:
    """How a child ended. `status` is its exit status, or minus the signal number that killed it."""

    argv: tuple[str, ...]
    status: int
    stdout: bytes
    stderr: bytes
    seconds: float
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        return self.status == 0 and not self.timed_out

    @property
    def text(self) -> str:
        """stderr, then stdout, decoded for people."""
        parts = (self.stderr, self.stdout)
        return "\n".join(p.decode("utf-8", "replace").strip() for p in parts if p.strip())

    def how_it_ended(self) -> str:
        """One phrase for a diagnostic, such as «was killed by signal SIGSEGV»."""
        if self.timed_out:
            return f"did not end within {self.seconds:.0f} s and was stopped"
        if self.status < 0:
            try:
                name = signal.Signals(-self.status).name
            except ValueError:
                name = str(-self.status)
            return f"was killed by signal {name}"
        return f"exited with status {self.status}"


@dataclass
class ProcessRunner:
    """Starts children and remembers the live ones, so that an interrupt can end them all."""

    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    started: int = 0
    _live: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopping: bool = False

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Completed:
        """Run one child to its end. Raises ShaderpackError (SP3001) when it cannot be started."""
        begun = time.perf_counter()
        child = self._start(argv, cwd, clean_environment(self.environment, env))
        timed_out = False
        try:
            stdout, stderr = child.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
            _kill_group(child)
            stdout, stderr = child.communicate()
        except BaseException:
            _kill_group(child)
            child.wait()
            raise
        finally:
            with self._lock:
                self._live.discard(child)
        seconds = time.perf_counter() - begun
        return Completed(tuple(argv), child.returncode, stdout, stderr, seconds, timed_out)

    def start(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], text: BinaryIO
    ) -> subprocess.Popen[bytes]:
        """Start a child that goes on by itself; what it prints goes to the file `text`. End it with `stop`."""
        return self._start(argv, cwd, clean_environment(self.environment, env), text)

    def stop(self, child: subprocess.Popen[bytes]) -> None:
        """End a child of `start`, and whatever it started."""
        _kill_group(child)
        child.wait()
        with self._lock:
            self._live.discard(child)

    def stop_all(self) -> None:
        """End every live child and refuse new ones; used on Ctrl-C."""
        with self._lock:
            self._stopping = True
            live = list(self._live)
        for child in live:
            _kill_group(child)

    def _start(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], text: BinaryIO | None = None
    ) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopping:
                raise KeyboardInterrupt
            try:
                child = subprocess.Popen(
                    list(argv),
                    cwd=cwd,
                    env=dict(env),
                    stdin=subprocess.DEVNULL if text else subprocess.PIPE,
                    stdout=text or subprocess.PIPE,
                    stderr=text or subprocess.PIPE,
                    start_new_session=os.name == "posix",
                )
            except OSError as error:
                raise ShaderpackError(_cannot_start(argv[0], error)) from error
            self.started += 1
            self._live.add(child)
            return child


def run_attached(argv: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the user's own command on the user's terminal; gives its exit status.

    Raises ShaderpackError (SP3001) when it cannot be started.
    """
    try:
        return subprocess.run(list(argv), env=dict(environment)).returncode
    except OSError as error:
        raise ShaderpackError(_cannot_start(argv[0], error)) from error


def _cannot_start(program: str, error: OSError) -> Diagnostic:
    return Diagnostic(
        "SP3001",
        f"cannot start {program}: {error.strerror or error}",
        cause="the operating system refused to start the program",
        fix="run `shaderpack doctor`; if processes run out, lower --jobs",
        subject=program,
    )


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
