"""Pieces of manifest text."""

from __future__ import annotations

import json
import os.path
import re
from pathlib import Path

from shaderc_tool.record.fold import Macros

_PLAIN = re.compile(r"[A-Za-z_][\w./-]*|\d[\w.]*")


def scalar(text: str) -> str:
    """A YAML scalar, quoted when it needs to be. JSON's double-quoted strings are YAML's."""
    plain = _PLAIN.fullmatch(text) and text.lower() != "null"
    return text if plain else json.dumps(text, ensure_ascii=False)


def mapping(macros: Macros) -> str:
    """Macros as a flow mapping."""
    return "{" + ", ".join(f"{name}: {scalar(text)}" for name, text in sorted(macros)) + "}"


def relative(path: Path, folder: Path) -> str:
    """A path as a manifest in `folder` writes it."""
    return Path(os.path.relpath(path, folder)).as_posix()


def entry_name(file: str, taken: set[str]) -> str:
    """A name for what is made of `file`, not yet in `taken`, to which it is added."""
    stem = re.sub(r"[^\w.+-]", "_", Path(file).stem, flags=re.ASCII)
    stem = stem if re.match(r"[A-Za-z_]", stem) else f"_{stem}"
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}-{number}"
    taken.add(name)
    return name
