"""Stand-ins for shader compilers, first on PATH: each notes its call and becomes the real tool.

A call is noted in a file of its own process, so that parallel builds need no lock: the tool's name, the working
directory and the arguments, each ended by NUL, then one more NUL-ended record mark.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

TOOLS = ("glslc", "glslangValidator", "xcrun")
_MARK = "\x1e"
_SCRIPT = """\
#!/bin/sh
printf '%s\\0' {name} "$PWD" "$@" '{mark}' >> {log}/$$
exec {real} "$@"
"""


@dataclass(frozen=True)
class Call:
    """One call of a recorded tool. `arguments` are without the program."""

    tool: str
    folder: Path
    arguments: tuple[str, ...]


def write_standins(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Write a stand-in for every tool that is on PATH; gives the environment that puts them first.

    `folder` is an empty folder of their own. Variables by which builds find the tools are pointed at them too.
    """
    scripts, log = folder / "bin", folder / "log"
    scripts.mkdir()
    log.mkdir()
    for name in TOOLS:
        real = shutil.which(name, path=environment.get("PATH"))
        if real is None:
            continue
        script = scripts / name
        text = _SCRIPT.format(name=name, mark=_MARK, log=shlex.quote(str(log)), real=shlex.quote(real))
        script.write_text(text, "utf-8")
        script.chmod(0o755)
    changed = {"PATH": f"{scripts}:{environment.get('PATH', '')}"}
    if (scripts / "glslc").exists():
        changed["GLSLC"] = str(scripts / "glslc")
    return {**environment, **changed}


def read_calls(folder: Path) -> list[Call]:
    """Every noted call, in an order that does not depend on how the processes interleaved."""
    calls = [call for path in (folder / "log").iterdir() for call in _calls(path.read_text("utf-8", "surrogateescape"))]
    return sorted(calls, key=lambda c: (c.tool, c.folder, c.arguments))


def _calls(text: str) -> Iterator[Call]:
    words = text.split("\0")
    start = 0
    for at, word in enumerate(words):
        if word == _MARK:
            yield Call(words[start], Path(words[start + 1]), tuple(words[start + 2 : at]))
            start = at + 1
