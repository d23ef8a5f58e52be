"""Is there anything to do at all? The answer of an unchanged tree, from stat calls alone.

After a build in which everything was kept, this remembers the stat signature of every file and folder that the build
looked at. While all of them are the same, the next build with the same options would find the same, so nothing else is
read or imported. Folders count too: a new file in an include folder or on PATH could change what is found.

Imports stay minimal here: they are most of what a build with nothing to do costs.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping

from shaderc_tool import __version__

_WATCHED_VARIABLES = ("PATH", "GLSLC", "VULKAN_SDK", "DEVELOPER_DIR")


def quick_file(cache: str, manifest: str, out: str, options: Iterable[object], environment: Mapping[str, str]) -> str:
    """Where the memory for this very command lies."""
    parts = [__version__, sys.version, os.path.abspath(manifest), os.path.abspath(out), *map(repr, options)]  # noqa: PTH100
    parts += [environment.get(name, "") for name in _WATCHED_VARIABLES]
    return os.path.join(cache, "quick", hashlib.sha256("\0".join(parts).encode()).hexdigest() + ".json")  # noqa: PTH118


def up_to_date(file: str) -> str | None:
    """The summary of the last build when nothing that it looked at has changed since, else None."""
    try:
        with open(file, encoding="utf-8") as stream:
            memory = json.load(stream)
        for path, known in memory["signatures"]:
            if stamp(path) != known:
                return None
        return str(memory["summary"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def memory_text(paths: Iterable[str], summary: str) -> bytes:
    """What to store in the quick file after a build that kept everything."""
    return json.dumps({"summary": summary, "signatures": [[p, stamp(p)] for p in sorted(set(paths))]}).encode()


def search_folders(environment: Mapping[str, str]) -> list[str]:
    """The folders in which a new file could change which tool is found."""
    return [p for p in (*environment.get("PATH", "").split(os.pathsep), *sys.path) if p]


def stamp(path: str) -> str:
    """A path's stat signature, "" when there is nothing."""
    try:
        stat = os.stat(path)  # noqa: PTH116
    except OSError:
        return ""
    return f"{stat.st_mtime_ns}.{stat.st_ctime_ns}.{stat.st_size}.{stat.st_ino}"
