"""What the drop-in's own options do: name the fastest client, stop the server."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from shaderc_tool.build.folders import default_cache_folder
from shaderc_tool.build.process import ProcessRunner
from shaderc_tool.dropin import protocol
from shaderc_tool.dropin.client import server_argv
from shaderc_tool.dropin.server import STOP

USAGE = """\
shaderpack-glslc takes glslc's options. Its own are:
  --shaderpack-path   print the path to give to a build, such as -DVulkan_GLSLC_EXECUTABLE=…; it is a small C program,
                      built once with cc or $CC, or this script when there is no C compiler
  --shaderpack-stop   end the resident server
"""


def manage(option: str) -> int:
    """Do what one of our own options says; the exit status."""
    cache = default_cache_folder(os.environ)
    if option == "--shaderpack-path":
        print(native_client(cache, os.environ) or shutil.which(sys.argv[0]) or sys.argv[0])
        return 0
    if option == "--shaderpack-stop":
        return 0 if stop_server(cache) else 1
    sys.stderr.write(USAGE)
    return 0 if option == "--shaderpack-help" else 2


def stop_server(cache: str) -> bool:
    """End the server of this cache folder; false when none runs."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(f"{protocol.meeting_folder(cache)}/s")
            protocol.send(connection, STOP)
            return protocol.read_answer(protocol.receive(connection))[0] == 0
    except OSError:
        return False


def native_client(cache: str, environment: Mapping[str, str]) -> str:
    """The path of the C client, built when it is not there yet; "" when it cannot be built."""
    if os.name != "posix":
        return ""
    folder = protocol.meeting_folder(cache)
    os.makedirs(folder, 0o700, exist_ok=True)
    text = _source(folder)
    home = Path(folder) / hashlib.sha256(text.encode()).hexdigest()[:16]
    program = home / "shaderpack-glslc"
    if not protocol.is_private(folder):
        return ""
    if program.is_file():
        return str(program)
    compiler = next((c for c in (environment.get("CC"), "cc", "gcc", "clang") if c and shutil.which(c)), "")
    if not compiler:
        return ""
    home.mkdir(exist_ok=True)
    source, made = home / "client.c", home / f"made-{os.getpid()}"
    source.write_text(text, "utf-8")
    # A static program starts in two thirds of the time; not every system has static libraries.
    for options in (["-O2", "-static"], ["-O2"]):
        done = ProcessRunner(environment).run([compiler, *options, "-o", str(made), str(source)], cwd=home)
        if done.ok:
            made.replace(program)
            return str(program)
    return ""


def _source(folder: str) -> str:
    """The client's text with the server's command line in front."""
    quoted = ", ".join(_c_string(word) for word in server_argv(folder)[:-1])
    prelude = f"#define GREETING {_c_string(protocol.GREETING)}\n#define SERVER_ARGV {quoted}\n"
    return prelude + Path(__file__).with_name("client.c").read_text("utf-8")


def _c_string(text: str) -> str:
    """A C string literal; bytes that are not printable ASCII as octal escapes, which end after three digits."""
    data = os.fsencode(text)
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in data) + '"'
