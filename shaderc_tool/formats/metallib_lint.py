"""Lints of Metal libraries: what an audit should say about a library that parses."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.metallib_model import Function, Library
from shaderc_tool.formats.metallib_profiles import is_newer_than_table, platform, platform_label, profile
from shaderc_tool.formats.metallib_sources import Sources, read_sources

KINDS: Final = {
    "no-functions": "the library has no functions",
    "duplicate-function": "two functions share a name, so only one can be looked up",
    "bad-hash": "bitcode differs from the recorded SHA-256; the loader refuses the function",
    "bad-metadata": "function metadata or recorded sources cannot be read",
    "leaked-path": "an absolute path of the build machine is inside the library",
    "platform-mismatch": "bitcode was compiled for another platform than the library says",
    "os-mismatch": "bitcode was compiled for a newer system than the library says",
    "air-mismatch": "the AIR version is newer than the deployment target loads, or differs from the bitcode's",
    "language-mismatch": "the language version is newer than the deployment target, or differs from the bitcode's",
    "unused-argument": "a kernel does not use one of its arguments",
    "bad-bitcode": "the bitcode of a function cannot be read",
}
"""Every kind of finding and what it means."""

_ABSOLUTE: Final = re.compile(r"(?:(?:(?<![\w./])|(?<=\s-[ILFo]))/(?=[\w.])|\b[A-Za-z]:[\\/])[^\s\"'\0]+")
"""An absolute path by itself, after `=`, or glued to an option such as `-I`."""


@dataclass(frozen=True)
class Finding:
    """One finding. `function` is empty when it is about the whole library."""

    kind: str
    message: str
    function: str = ""


class AirArgument(Protocol):
    """What is looked at of an argument in `air.AirModule`."""

    @property
    def name(self) -> str: ...
    @property
    def unused(self) -> bool: ...


class AirEntryPoint(Protocol):
    """What is looked at of an entry point in `air.AirModule`."""

    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> tuple[AirArgument, ...]: ...


class AirInfo(Protocol):
    """What is looked at of an `air.AirModule`."""

    @property
    def platform(self) -> str: ...
    @property
    def deployment_target(self) -> tuple[int, ...]: ...
    @property
    def air_version(self) -> tuple[int, ...]: ...
    @property
    def language_version(self) -> tuple[int, ...]: ...
    @property
    def entry_points(self) -> tuple[AirEntryPoint, ...]: ...


def lint_library(library: Library, air_infos: Mapping[str, AirInfo] | None = None) -> list[Finding]:
    """All findings. `air_infos` gives the parsed bitcode of functions by name, for the checks that need it."""
    found = [] if library.functions else [Finding("no-functions", KINDS["no-functions"])]
    found += _duplicates(library)
    found += _hashes(library)
    found += _newer_than_target(library)
    found += _unreadable(library)
    found += _paths(library)
    for name, info in (air_infos or {}).items():
        found += _against_air(library, library.function(name), info)
    return found


def _duplicates(library: Library) -> Iterator[Finding]:
    for name, count in Counter(f.name for f in library.functions).items():
        if count > 1:
            yield Finding("duplicate-function", f"{count} functions are called {name}", name)


def _hashes(library: Library) -> Iterator[Finding]:
    # Functions may share bitcode; hashing each part once keeps a crafted library from asking for more.
    digests: dict[tuple[int, int], bytes] = {}
    for function in library.functions:
        if not function.recorded_hash:
            continue
        key = (id(function.bitcode), len(function.bitcode))
        if key not in digests:
            digests[key] = hashlib.sha256(function.bitcode).digest()
        if digests[key] != function.recorded_hash:
            yield Finding("bad-hash", f"the bitcode of {function.name} differs from its recorded hash", function.name)


def _newer_than_target(library: Library) -> Iterator[Finding]:
    """Functions that the system at the deployment target refuses; one finding for each pair of versions."""
    if not library.platform or is_newer_than_table(library.platform, library.os_version[0]):
        return
    try:
        newest = profile(library.platform, library.os_version[0])
    except ValueError:
        return
    for kind, what, limit in (("air-mismatch", "AIR", newest.air), ("language-mismatch", "Metal", newest.language)):
        offenders: dict[tuple[int, ...], list[Function]] = {}
        for function in library.functions:
            version = (function.air_version if kind == "air-mismatch" else function.language_version)[:2]
            if version > limit:
                offenders.setdefault(version, []).append(function)
        for version, functions in sorted(offenders.items()):
            message = f"{_many(functions)} {what} {_dotted(version)}; {library.os_name} loads up to {_dotted(limit)}"
            yield Finding(kind, message, functions[0].name)


def _many(functions: list[Function]) -> str:
    first = functions[0].name
    return f"{first} has" if len(functions) == 1 else f"{first} and {len(functions) - 1} more have"


def _unreadable(library: Library) -> Iterator[Finding]:
    try:
        _ = library.install_name, library.linked_libraries
    except FormatError as error:
        yield Finding("bad-metadata", str(error))
    for function in library.functions:
        try:
            _ = function.constants if function.public else ()
        except FormatError as error:
            yield Finding("bad-metadata", str(error), function.name)


def _paths(library: Library) -> Iterator[Finding]:
    """Absolute paths in DEBI, DEPF and recorded sources; each path once."""
    seen: dict[str, Finding] = {}
    for function in library.functions:
        if not function.private:
            continue
        try:
            debug = function.debug_place
            texts = ((debug[0] if debug else "", "its source path"), (function.air_path, "the path of its .air"))
        except FormatError as error:
            yield Finding("bad-metadata", str(error), function.name)
            continue
        for text, what in texts:
            for path in _ABSOLUTE.findall(text):
                seen.setdefault(path, Finding("leaked-path", f"{function.name} holds {what}: {path}", function.name))
    try:
        sources = read_sources(library)
    except FormatError as error:
        sources = None
        yield Finding("bad-metadata", str(error))
    if sources is not None:
        for path, what in _source_paths(sources):
            seen.setdefault(path, Finding("leaked-path", f"the recorded sources hold {what}: {path}"))
    yield from seen.values()


def _source_paths(sources: Sources) -> Iterator[tuple[str, str]]:
    texts = [(sources.link_command, "the link command"), (sources.working_folder, "the linker's working folder")]
    for archive in sources.archives:
        texts += [
            (archive.input_name, "the compiler's input"),
            (archive.options, "the compiler's options"),
            (archive.working_folder, "the compiler's working folder"),
            *((file.name, "a source file's path") for file in archive.files),
        ]
    for text, what in texts:
        for path in _ABSOLUTE.findall(text):
            yield path, what


def _against_air(library: Library, function: Function, info: AirInfo) -> Iterator[Finding]:
    name = function.name
    if library.platform and info.platform and info.platform != platform(library.platform).slug:
        label = platform_label(library.platform)
        yield Finding("platform-mismatch", f"{name} is compiled for {info.platform}, the library is for {label}", name)
    elif library.platform and info.deployment_target[:2] > library.os_version[:2]:
        target = _dotted(info.deployment_target)
        yield Finding("os-mismatch", f"{name} is compiled for {target}, the library for {library.os_name}", name)
    for kind, what, recorded, actual in (
        ("air-mismatch", "AIR", function.air_version, info.air_version),
        ("language-mismatch", "Metal", function.language_version, info.language_version),
    ):
        if recorded and actual and recorded[:2] != actual[:2]:
            message = f"{name} is listed as {what} {_dotted(recorded)}, its bitcode is {_dotted(actual)}"
            yield Finding(kind, message, name)
    for entry in info.entry_points:
        for argument in entry.arguments:
            if argument.unused:
                yield Finding("unused-argument", f"{entry.name} does not use {argument.name}", entry.name)


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version if version[2:] not in ((), (0,)) else version[:2]))
