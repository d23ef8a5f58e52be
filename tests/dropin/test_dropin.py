"""The drop-in against the real glslc: same files, same messages, same exit status, whatever the command line."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from shaderc_tool.build.store import Store
from shaderc_tool.dropin import protocol
from shaderc_tool.dropin.manage import native_client, stop_server
from tests.tools import require_glsl, require_tool

ROOT = Path(__file__).parents[2]
FILES = {
    "src/a.comp": '#version 450\n#include "beside.glsl"\n#include "sub/far.glsl"\nlayout(local_size_x = 32) in;\n'
    "layout(binding = 0) buffer B { T b[]; };\nvoid main() { b[gl_GlobalInvocationID.x] = near(T(X)) + far(T(2)); }\n",
    "src/beside.glsl": "T near(T x) { return x * x; }\n",
    "inc/sub/far.glsl": '#include "deep.glsl"\nT far(T x) { return deep(x) + x; }\n',
    "inc/sub/deep.glsl": "T deep(T x) { return x + T(3); }\n",
    "src/warn.comp": "#version 450\n#extension GL_nothing : enable\nlayout(local_size_x = 1) in;\nvoid main() {}\n",
    "src/bad.comp": "#version 450\nlayout(local_size_x = 1) in;\nvoid main() { nonsense(); }\n",
    "src/line.comp": "#version 450\nlayout(local_size_x = 1) in;\nlayout(binding = 0) buffer B { int b[]; };\n"
    "void main() { b[0] = __LINE__; }\n",
    "src/half.comp": "#version 450\n#extension GL_EXT_shader_16bit_storage : enable\nlayout(local_size_x = 1) in;\n"
    "layout(binding = 0) buffer B { float16_t b[]; };\nvoid main() { b[0] = float16_t(0); }\n",
    "src/v.vert": "#version 450\nvoid main() { gl_Position = vec4(0); }\n",
}
USUAL = "-fshader-stage=compute --target-env=vulkan1.2 -Iinc -DT=float"


@dataclass
class Project:
    folder: Path
    environment: dict[str, str]
    client: list[str]

    def drop_in(self, line: str, cwd: str = "") -> subprocess.CompletedProcess[bytes]:
        argv = [*self.client, *line.split()]
        return subprocess.run(argv, cwd=self.folder / cwd, env=self.environment, capture_output=True, timeout=60)

    def real(self, line: str, cwd: str = "") -> subprocess.CompletedProcess[bytes]:
        argv = ["glslc", *line.split()]
        return subprocess.run(argv, cwd=self.folder / cwd, env=self.environment, capture_output=True, timeout=60)

    def same(self, line: str, cwd: str = "") -> bool:
        """Run both from a folder without outputs; all that they print and leave is compared. True when they succeed."""
        results = []
        for run in (self.drop_in, self.real):
            out = self.folder / cwd / "out"
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir(parents=True)
            done = run(line, cwd)
            left = {p.name: (p.read_bytes(), stat.S_IMODE(p.stat().st_mode)) for p in out.iterdir()}
            results.append((done.returncode, done.stdout, done.stderr, left))
        assert results[0] == results[1]
        return results[0][0] == 0

    @property
    def store(self) -> Store:
        return Store(Path(self.environment["SHADERPACK_CACHE"]))


@pytest.fixture(params=["python", "c"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    require_glsl("glslc")
    folder = tmp_path / "p"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    cache = str(tmp_path / "c")
    environment = {**os.environ, "SHADERPACK_CACHE": cache, "PYTHONPATH": str(ROOT), "SHADERPACK_GLSLC_IDLE": "60"}
    client = [sys.executable, "-S", "-m", "shaderc_tool.dropin.client"]
    if request.param == "c":
        require_tool("cc")
        client = [native_client(cache, environment)]
    yield Project(folder, environment, client)
    stop_server(cache)


def test_files_messages_and_status_are_those_of_glslc(project: Project) -> None:
    assert project.same(f"{USUAL} src/a.comp -o out/a.spv -O -MD -MF out/a.d -DX=1")
    assert project.same(f"{USUAL} src/a.comp -o out/a.spv -O -MD -MF out/a.d -DX=1")
    assert project.store.stats().entries == 1
    assert project.same(f"{USUAL} src/a.comp -o out/a.spv -O0 -MD -DX=2")
    assert project.same(f"{USUAL} -c {project.folder}/src/a.comp -o {project.folder}/out/a.spv -Os -MD -MF out/d -DX=2")
    assert project.same("-fshader-stage=compute a.comp -DT=int -DX=1 -I ../inc -o out/b.spv -MD -MF out/b.d", cwd="src")
    assert project.same("src/half.comp -fshader-stage=compute -O -o out/h.spv")
    assert project.same("src/line.comp -fshader-stage=compute -O -o out/l.spv")
    assert project.store.stats().entries == 6


@pytest.mark.parametrize(
    ("line", "succeeds"),
    [
        ("src/warn.comp -o out/w.spv", True),
        ("src/warn.comp -w -o out/w.spv", True),
        ("src/warn.comp -Werror -o out/w.spv", False),
        ("src/bad.comp -o out/b.spv", False),
        ("src/none.comp -o out/n.spv", False),
        ("src/warn.comp -o nowhere/n.spv", False),
        (f"{USUAL} src/a.comp -DX=1 -o -", True),
        (f"{USUAL} src/a.comp -DX=1 -S -o out/a.s", True),
        (f"{USUAL} src/a.comp -DX=1 -E -o out/a.i", True),
        (f"{USUAL} src/a.comp -DX=1 -g -o out/a.spv", True),
        (f"{USUAL} src/a.comp -DX=1 -mfmt=num -o out/a.num", True),
        ("src/v.vert -o out/v.spv", True),
        ("--no-such-option src/a.comp -o out/a.spv", False),
        ("--version", True),
        ("", False),
    ],
)
def test_what_is_no_plain_compile_is_glslcs_own(project: Project, line: str, succeeds: bool) -> None:
    assert project.same(line) is succeeds
    assert project.store.stats().entries == (line.startswith("src/warn.comp -w") and succeeds)


def test_an_edit_is_seen_and_a_comment_is_not(project: Project) -> None:
    line = f"{USUAL} src/a.comp -o out/a.spv -O -MD -MF out/a.d -DX=1"
    assert project.same(line)
    deep = project.folder / "inc/sub/deep.glsl"
    deep.write_text("// a comment\n" + deep.read_text())
    assert project.same(line)
    assert project.store.stats().entries == 1
    deep.write_text(deep.read_text().replace("T(3)", "T(4)"))
    assert project.same(line)
    assert project.store.stats().entries == 2
    (project.folder / "src/sub").mkdir()
    (project.folder / "src/sub/far.glsl").write_text("T far(T x) { return x; }\n")  # now beside the source
    assert project.same(line)
    assert project.store.stats().entries == 3


def test_many_at_once(project: Project) -> None:
    (project.folder / "out").mkdir()
    lines = [f"{USUAL} src/a.comp -o out/{i}.spv -MD -MF out/{i}.d -DX={i} {'-O' if i % 2 else ''}" for i in range(24)]
    threads = [threading.Thread(target=project.drop_in, args=(line,)) for line in lines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made = {i: (project.folder / f"out/{i}.spv").read_bytes() for i in range(24)}
    assert len(set(made.values())) == 24
    for i in (0, 7, 23):
        assert project.real(lines[i]).returncode == 0
        assert (project.folder / f"out/{i}.spv").read_bytes() == made[i]
    assert project.store.stats().entries == 24


def test_one_server_and_it_ends_when_idle(project: Project) -> None:
    project.environment["SHADERPACK_GLSLC_IDLE"] = "0.4"
    folder = Path(protocol.meeting_folder(project.environment["SHADERPACK_CACHE"]))
    assert project.same("src/half.comp -fshader-stage=compute -o out/h.spv")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    limit = time.monotonic() + 20
    while (folder / "s").exists() and time.monotonic() < limit:
        time.sleep(0.05)
    assert not (folder / "s").exists()
    assert project.same("src/half.comp -fshader-stage=compute -o out/h.spv")


@pytest.mark.parametrize("wrong", ["open folder", "folder of a link", "damaged socket", "liar", "silent"])
def test_whatever_is_wrong_glslc_runs(project: Project, wrong: str, tmp_path: Path) -> None:
    folder = Path(protocol.meeting_folder(project.environment["SHADERPACK_CACHE"]))
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    with contextlib.ExitStack() as stack:
        if wrong == "open folder":
            folder.chmod(0o770)
        elif wrong == "folder of a link":
            project.client = [
                shutil.copy(word, str(tmp_path)) if word.startswith(str(folder)) else word for word in project.client
            ]
            shutil.move(folder, tmp_path / "elsewhere")
            folder.symlink_to(tmp_path / "elsewhere")
        elif wrong == "damaged socket":
            lock = stack.enter_context(open(folder / "lock", "w"))
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
            (folder / "s").write_text("no socket")
        else:
            answer = b"\x05\0\0\0hello" if wrong == "liar" else b""
            _answering(stack, folder / "s", answer)
        assert project.same("src/half.comp -fshader-stage=compute -o out/h.spv")
    assert project.store.stats().entries == 0


def _answering(stack: contextlib.ExitStack, path: Path, answer: bytes) -> None:
    """A server that says this to everybody and hangs up."""
    import socket

    listener = stack.enter_context(socket.socket(socket.AF_UNIX))
    listener.bind(str(path))
    listener.listen()

    def talk() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer)

    threading.Thread(target=talk, daemon=True).start()
    stack.callback(listener.shutdown, socket.SHUT_RDWR)


def test_a_killed_server_is_replaced(project: Project) -> None:
    line = f"{USUAL} src/a.comp -o out/a.spv -O -DX=1"
    assert project.same(line)
    folder = Path(protocol.meeting_folder(project.environment["SHADERPACK_CACHE"]))
    found = subprocess.run(["pgrep", "-f", str(folder)], capture_output=True, text=True).stdout.split()
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), 9)
    # On a busy machine a client may find the dying server, or give the new one up: plain glslc serves it then.
    for value in range(2, 30):
        assert project.same(line.replace("-DX=1", f"-DX={value}"))
        if project.store.stats().entries > 1:
            return
        time.sleep(0.1)
    pytest.fail("no new server was started")


def test_an_output_that_is_no_plain_file_is_left_to_glslc(project: Project) -> None:
    target = project.folder / "target.spv"
    target.write_bytes(b"old")
    link = project.folder / "link.spv"
    link.symlink_to(target)
    assert project.drop_in("src/half.comp -fshader-stage=compute -o link.spv").returncode == 0
    assert link.is_symlink()
    assert target.read_bytes()[:4] == b"\x03\x02\x23\x07"


def test_a_drop_in_that_finds_only_itself_says_so(project: Project, tmp_path: Path) -> None:
    project.environment["PATH"] = str(tmp_path)
    done = project.drop_in("a.comp -o a.spv")
    assert done.returncode == 127
    assert b"SHADERPACK_GLSLC" in done.stderr
