"""The console script. A build with nothing to do is answered here, before click or anything else is imported."""

from __future__ import annotations

import os
import sys

from shaderc_tool.build import quick
from shaderc_tool.build.folders import default_cache_folder


def main() -> None:
    """Entry point of `shaderpack`: the quick answer when there is one, else the whole command line."""
    memory = _memory_file(sys.argv[1:])
    summary = quick.up_to_date(memory) if memory else None
    if summary is None:
        from shaderc_tool.cli import main as whole

        whole()
    elif not {"-q", "--quiet"} & set(sys.argv):
        print(summary)


def _memory_file(words: list[str]) -> str:
    """Where the answer to a plain `build MANIFEST [--out DIR] [--target NAME]… [-q]` is kept; "" for all else."""
    if words[:1] != ["build"]:
        return ""
    manifests, targets, out = [], [], "build"
    rest = iter(words[1:])
    for word in rest:
        if word == "--out":
            out = next(rest, "")
        elif word == "--target":
            targets.append(next(rest, ""))
        elif not word.startswith("-"):
            manifests.append(word)
        elif word not in ("-q", "--quiet"):
            return ""
    if len(manifests) != 1:
        return ""
    asked = (tuple(targets), False, "auto", "auto")
    return quick.quick_file(default_cache_folder(os.environ), manifests[0], out, asked, os.environ)
