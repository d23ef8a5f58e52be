"""The client: ask the server; when anything is wrong, become the real glslc, as if this program were not there."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Mapping

from shaderc_tool.build.folders import default_cache_folder
from shaderc_tool.dropin import protocol

GUARD = "SHADERPACK_GLSLC_INSIDE"
"""Set for the real glslc, so that two drop-ins on PATH cannot call each other for ever."""

LOCK = 3
"""The descriptor by which the server holds the lock file: whoever starts it has locked it already."""

_START_SECONDS = 3.0
_ANSWER_SECONDS = 600.0


def main() -> None:
    """Entry point of the console script `shaderpack-glslc`."""
    arguments = sys.argv[1:]
    if arguments[:1] and arguments[0].startswith("--shaderpack-"):
        from shaderc_tool.dropin.manage import manage

        sys.exit(manage(arguments[0]))
    sys.exit(run(arguments, os.environ))


def run(arguments: list[str], environment: Mapping[str, str]) -> int:
    """Serve one command line; does not return when it becomes the real glslc."""
    real = protocol.real_glslc(environment, sys.argv[0])
    if not real or environment.get(GUARD):
        sys.stderr.write("shaderpack-glslc: error: no glslc on PATH but this one; set SHADERPACK_GLSLC\n")
        return 127
    answer = _ask(arguments, real, environment)
    if answer is None:
        return _become(real, arguments, {**environment, GUARD: "1"})
    status, out, err = answer
    sys.stdout.buffer.write(out)
    sys.stderr.buffer.write(err)
    return status


def _become(real: str, arguments: list[str], environment: Mapping[str, str]) -> int:
    if os.name == "posix":
        os.execve(real, [real, *arguments], environment)
    return os.spawnve(os.P_WAIT, real, [real, *arguments], environment)


def _ask(arguments: list[str], real: str, environment: Mapping[str, str]) -> protocol.Answer | None:
    if not hasattr(os, "getuid") or not hasattr(socket, "AF_UNIX"):
        return None
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            if not _connect(connection, default_cache_folder(environment)):
                return None
            connection.settimeout(_ANSWER_SECONDS)
            umask = os.umask(0o077)
            os.umask(umask)
            protocol.send(connection, protocol.request_bytes(arguments, real, os.getcwd(), umask))
            answer = protocol.read_answer(protocol.receive(connection))
    except OSError:
        return None
    return None if answer[0] == protocol.DECLINED else answer


def _connect(connection: socket.socket, cache: str) -> bool:
    """Reach the server, started when there is none; false when it cannot be trusted or does not come up."""
    folder = protocol.meeting_folder(cache)
    if not os.path.isdir(folder):
        os.makedirs(folder, 0o700, exist_ok=True)
    if not protocol.is_private(folder):
        return False
    deadline = time.monotonic() + _START_SECONDS
    started = False
    while True:
        try:
            connection.connect(f"{folder}/s")
            return protocol.peer_uid(connection) == os.getuid()
        except OSError:
            started = started or _start_server(folder)
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)


def _start_server(folder: str) -> bool:
    """Start a server and be true; else one is starting, running or ending, and holds the lock."""
    import fcntl

    lock = os.open(f"{folder}/lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return False
    if os.fork() == 0:
        become_server(folder, lock)
    os.close(lock)
    return True


def server_argv(folder: str) -> list[str]:
    """The server's command line. Nothing of the user's environment or working directory gets into it."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    code = f"import sys; sys.path.insert(0, {root!r}); from shaderc_tool.dropin.server import main; main(sys.argv[1])"
    return [sys.executable, "-I", "-S", "-c", code, folder]


def become_server(folder: str, lock: int) -> None:
    """In a child: detach from the terminal and the build, keep only the lock, start the server. Does not return."""
    try:
        os.setsid()
        os.chdir("/")
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        os.dup2(lock, LOCK)
        os.set_inheritable(LOCK, True)
        os.closerange(LOCK + 1, 256)
        os.execv(sys.executable, server_argv(folder))
    finally:
        os._exit(1)


if __name__ == "__main__":
    main()
