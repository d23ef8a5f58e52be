"""What client and server say to each other, and where they meet. Standard library only, and little of it.

A message is a 4-byte little-endian length and that many bytes. A request is NUL-separated text: `GREETING`, the
working directory with its device and inode (a server in another container would see another tree), the umask, the
real glslc, then the arguments. An answer is the exit status, the lengths of standard output and standard error, and
both texts; the status `DECLINED` means that the client has to run the real glslc itself.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
import sys
from collections.abc import Mapping

from shaderc_tool import __version__

GREETING = f"shaderpack-glslc {__version__}"
DECLINED = 0xFFFF_FFFF
LARGEST = 16 * 1024 * 1024
"""Bytes of a message; more is a fault of the other side."""

_LENGTH = struct.Struct("<I")
_ANSWER = struct.Struct("<3I")

Answer = tuple[int, bytes, bytes]
"""Exit status, standard output, standard error."""


def meeting_folder(cache: str) -> str:
    """The folder with the socket `s` and the lock `lock`; only its owner may enter it."""
    return f"{cache}/glslc-{__version__}"


def is_private(folder: str) -> bool:
    """True for a real folder of this user that nobody else may enter."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def peer_uid(connection: socket.socket) -> int:
    """The user at the other end of a local socket; -1 when the system does not say."""
    try:
        if sys.platform == "linux":
            raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            return int(struct.unpack("iII", raw)[1])
        if sys.platform == "darwin":
            # struct xucred { u_int version; uid_t uid; … }, by LOCAL_PEERCRED (1) at level 0
            return int(struct.unpack_from("II", connection.getsockopt(0, 1, 76))[1])
    except OSError:
        pass
    return -1


def send(connection: socket.socket, data: bytes) -> None:
    connection.sendall(_LENGTH.pack(len(data)) + data)


def receive(connection: socket.socket) -> bytes:
    """One message. ConnectionError when the other side is gone or sends too much."""
    (length,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    if length > LARGEST:
        raise ConnectionError(f"a message of {length} bytes")
    return _exactly(connection, length)


def request_bytes(arguments: list[str], real: str, folder: str, umask: int) -> bytes:
    here = os.stat(".")
    words = [GREETING, folder, f"{here.st_dev}:{here.st_ino}", f"{umask:o}", real, *arguments]
    return "\0".join(words).encode("utf-8", "surrogateescape")


def answer_bytes(answer: Answer) -> bytes:
    status, out, err = answer
    return _ANSWER.pack(status, len(out), len(err)) + out + err


def read_answer(data: bytes) -> Answer:
    """ConnectionError for a message that is no answer."""
    if len(data) < _ANSWER.size:
        raise ConnectionError("the answer is cut")
    status, out, err = _ANSWER.unpack_from(data)
    body = data[_ANSWER.size :]
    if len(body) != out + err:
        raise ConnectionError("the answer is cut")
    return status, body[:out], body[out:]


def real_glslc(environment: Mapping[str, str], own: str) -> str:
    """The glslc to stand in for: SHADERPACK_GLSLC, the Vulkan SDK's, the first on PATH that is not this program."""
    if given := environment.get("SHADERPACK_GLSLC"):
        return given
    folders = environment.get("PATH", os.defpath).split(os.pathsep)
    if sdk := environment.get("VULKAN_SDK"):
        folders = [f"{sdk}/bin", *folders]
    for folder in folders:
        path = f"{folder or '.'}/glslc"
        if os.access(path, os.X_OK) and not _same(path, own):
            return path
    return ""


def _same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        part = connection.recv(min(count, 1 << 20))
        if not part:
            raise ConnectionError("the other side is gone")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
