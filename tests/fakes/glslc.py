"""A stand-in for glslc that misbehaves as FAKE_GLSLC says; driven by tests/build/test_tool_failures.py.

fail-silently   status 1, nothing printed        warn       status 0, text on stderr, output written
no-output       status 0, nothing written        signal     ends by SIGKILL
flood           1 MB on stderr, then an error    slow       sleeps, then writes
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path


def outputs(arguments: list[str]) -> list[Path]:
    """Where glslc would write for these arguments."""
    if "-o" in arguments:
        return [Path(arguments[arguments.index("-o") + 1])]
    return [Path(f"{a}.spv") for a in arguments if a.endswith(".comp")]


def main() -> int:
    """Behave as asked."""
    mode = Path(os.environ["HOME"], "fake-mode").read_text().strip()
    if "--version" in sys.argv:
        print(f"fake glslc {Path(os.environ['HOME'], 'fake-version').read_text().strip()}")
        return 0
    with Path(os.environ["HOME"], "fake-log").open("a") as log:
        log.write(repr(sys.argv[1:]) + "\n")
    if mode == "fail-silently":
        return 1
    if mode == "no-output":
        return 0
    if mode == "signal":
        os.kill(os.getpid(), signal.SIGKILL)
    if mode == "flood":
        sys.stderr.write("noise\n" * 170_000)
        sys.stderr.write("src/add.comp:3: error: after the flood\n")
        return 1
    if mode == "slow":
        time.sleep(60)
    module = Path(os.environ["HOME"], "module.spv").read_bytes()
    for path in outputs(sys.argv[1:]):
        path.write_bytes(module)
    if mode == "warn":
        source = next(a for a in sys.argv if a.endswith(".comp"))
        sys.stderr.write(f"{source}:3: warning: mind this\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
