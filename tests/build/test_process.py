"""The process module: statuses, signals, floods, time-outs, a clean environment."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from shaderc_tool.build.process import ProcessRunner, clean_environment
from shaderc_tool.diagnostics import ShaderpackError


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_status_and_both_texts(tmp_path: Path) -> None:
    done = ProcessRunner().run(
        python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"), cwd=tmp_path
    )
    assert (done.status, done.ok) == (3, False)
    assert done.text == "err\nout"
    assert done.how_it_ended() == "exited with status 3"


def test_a_megabyte_on_each_pipe_does_not_hang(tmp_path: Path) -> None:
    code = "import sys; sys.stderr.write('e' * 1_000_000); sys.stdout.write('o' * 1_000_000)"
    done = ProcessRunner().run(python(code), cwd=tmp_path, timeout=30)
    assert (len(done.stdout), len(done.stderr)) == (1_000_000, 1_000_000)


def test_a_signal_is_named(tmp_path: Path) -> None:
    done = ProcessRunner().run(python("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"), cwd=tmp_path)
    assert done.how_it_ended() == "was killed by signal SIGSEGV"


def test_a_hang_ends_with_the_grandchildren(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys, time\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(p.pid))\n"
        "time.sleep(60)"
    )
    begun = time.monotonic()
    done = ProcessRunner().run(python(code), cwd=tmp_path, timeout=2)
    assert done.timed_out
    assert not done.ok
    assert time.monotonic() - begun < 20
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        if _gone(pid):
            return
        time.sleep(0.05)
    pytest.fail("the grandchild is still alive")


def _gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return True
    return state == "Z"


def test_a_program_that_is_not_there_is_a_diagnostic(tmp_path: Path) -> None:
    with pytest.raises(ShaderpackError) as caught:
        ProcessRunner().run(["glslc-NOTFOUND"], cwd=tmp_path)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "SP3001"
    assert "glslc-NOTFOUND" in diagnostic.message


def test_no_child_starts_after_stop(tmp_path: Path) -> None:
    runner = ProcessRunner()
    runner.stop_all()
    with pytest.raises(KeyboardInterrupt):
        runner.run(python("pass"), cwd=tmp_path)


def test_the_environment_is_clean() -> None:
    parent = {"PATH": "/bin", "IPHONEOS_DEPLOYMENT_TARGET": "15.0", "SDKROOT": "/sdk", "GLSLC": "x", "HOME": "/h"}
    assert clean_environment(parent, {"X": "1"}) == {"PATH": "/bin", "HOME": "/h", "LC_ALL": "C", "LANG": "C", "X": "1"}


def test_arguments_reach_the_child_unchanged(tmp_path: Path) -> None:
    nasty = ["a b", "$HOME", '"q"', "`x`", "é", "a;b", "*"]
    done = ProcessRunner().run([*python("import sys; print(ascii(sys.argv[1:]))"), *nasty], cwd=tmp_path)
    assert done.stdout.decode().strip() == ascii(nasty)
    assert os.name != "posix" or done.ok
