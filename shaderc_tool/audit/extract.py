"""Take Metal libraries apart: one valid library for each function, and the recorded sources."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from shaderc_tool.audit.artifacts import Description
from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.metallib import Library, single_function, write_library
from shaderc_tool.formats.metallib_sources import read_sources

_UNSAFE = re.compile(r"[^\w.+-]", re.ASCII)
_LONGEST = 120


class _Names:
    """File names that are safe on every system and never used twice."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def take(self, wanted: str, suffix: str = "") -> str:
        stem = _UNSAFE.sub("_", wanted)[:_LONGEST].strip(".") or "_"
        name, number = stem, 1
        # Some file systems do not tell upper from lower case.
        while (name + suffix).lower() in self._used:
            number += 1
            name = f"{stem}-{number}"
        self._used.add((name + suffix).lower())
        return name + suffix


def extract(description: Description, select: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """(relative path, bytes) of every function that `select` takes, and of the sources of libraries that have some.

    With several libraries each gets a folder of its own. Sources that cannot be read are left out; a lint names them.
    """
    reports = [(part, report) for part in description.walk() for report in part.libraries]
    folders = _Names()
    for part, report in reports:
        folder = ""
        if len(reports) > 1:
            label = re.split(r"[\\/(]", part.name.rstrip(")"))[-1]
            folder = folders.take(f"{label}-{report.offset:x}" if report.offset else label) + "/"
        yield from ((folder + path, data) for path, data in _library(report.library, select))


def _library(library: Library, select: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    names = _Names()
    for function in library.functions:
        if select(function.name):
            yield names.take(function.name, ".metallib"), write_library(single_function(library, function))
    try:
        sources = read_sources(library)
    except FormatError:
        return
    files = _Names()
    for archive in sources.archives if sources else ():
        for file in archive.files:
            base = re.split(r"[\\/]", file.name)[-1]
            yield f"sources/{files.take(f'{archive.identifier}-{base}')}", file.data
