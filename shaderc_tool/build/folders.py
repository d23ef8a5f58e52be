"""Where things lie by default."""

from __future__ import annotations

import os.path
import sys
from collections.abc import Mapping


def default_cache_folder(environment: Mapping[str, str]) -> str:
    """`SHADERPACK_CACHE`, else the platform's cache folder."""
    if given := environment.get("SHADERPACK_CACHE"):
        return given
    home = environment.get("HOME") or environment.get("USERPROFILE") or os.path.expanduser("~")  # noqa: PTH111
    if sys.platform == "darwin":
        return f"{home}/Library/Caches/shaderpack"
    if sys.platform == "win32":
        return f"{environment.get('LOCALAPPDATA', home)}/shaderpack/cache"
    return f"{environment.get('XDG_CACHE_HOME') or home + '/.cache'}/shaderpack"
