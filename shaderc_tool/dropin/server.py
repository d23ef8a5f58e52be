"""The server: one a user and cache folder. It is started by a client, and ends when nobody has asked for a while."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
import threading
import time
from pathlib import Path

from shaderc_tool.build.pool import default_workers
from shaderc_tool.build.process import ProcessRunner
from shaderc_tool.build.store import Store
from shaderc_tool.dropin import protocol
from shaderc_tool.dropin.compilers import Compilers
from shaderc_tool.dropin.service import Service

IDLE_SECONDS = 300.0
"""Without a request for so long, the server ends; SHADERPACK_GLSLC_IDLE overrides it."""

STOP = b"stop"
"""A message that ends the server; the answer comes first."""


def main(folder: str) -> None:
    """Serve at `folder`/s until idle. The caller holds the lock on descriptor 3, which the system frees at the end."""
    idle = float(os.environ.get("SHADERPACK_GLSLC_IDLE", IDLE_SECONDS))
    Server(Path(folder), idle).run()


class Server:
    """Accepts connections, a thread each: clients wait for a compile, and there are as many as the build runs."""

    def __init__(self, folder: Path, idle: float) -> None:
        self.folder = folder
        self.idle = idle
        self._busy = 0
        self._last = time.monotonic()
        self._lock = threading.Lock()
        self._stopping = False

    def run(self) -> None:
        """Serve until idle or told to stop. Stale sockets and work folders of a killed server are removed first."""
        if not protocol.is_private(str(self.folder)):
            return
        self._clean()
        work = Path(tempfile.mkdtemp(prefix="work-", dir=self.folder))
        runner = ProcessRunner(dict(os.environ))
        compilers = Compilers(default_workers(), runner, work)
        service = Service(Store(self.folder.parent), runner, compilers.compile, work)
        try:
            with socket.socket(socket.AF_UNIX) as listener:
                # Bound under another name first: a client that can see the socket can already connect to it.
                listener.bind(str(self.folder / "n"))
                listener.listen(256)
                (self.folder / "n").rename(self.folder / "s")
                self._serve(listener, service)
        finally:
            self._clean()
            compilers.close()
            shutil.rmtree(work, ignore_errors=True)

    def _clean(self) -> None:
        for name in ("n", "s"):
            (self.folder / name).unlink(missing_ok=True)
        for folder in self.folder.glob("work-*"):
            if not self._busy:
                shutil.rmtree(folder, ignore_errors=True)

    def _serve(self, listener: socket.socket, service: Service) -> None:
        listener.settimeout(min(1.0, self.idle / 4))
        while not self._stopping:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                if not self._busy and time.monotonic() - self._last > self.idle:
                    return
                continue
            with self._lock:
                self._busy += 1
            threading.Thread(target=self._talk, args=(connection, service), daemon=True).start()

    def _talk(self, connection: socket.socket, service: Service) -> None:
        try:
            with connection, contextlib.suppress(OSError):
                if protocol.peer_uid(connection) != os.getuid():
                    return
                connection.settimeout(30)
                message = protocol.receive(connection)
                if message == STOP:
                    self._stopping = True
                    answer: protocol.Answer = (0, b"", b"")
                else:
                    answer = service.answer(message)
                protocol.send(connection, protocol.answer_bytes(answer))
        finally:
            with self._lock:
                self._busy -= 1
                self._last = time.monotonic()
