"""One request to one answer: from the store, from a resident compiler, or from a glslc of its own.

The bytes of a lone glslc are the reference. What a batch could get wrong (a value that glslang leaves uninitialised,
text that reads its own line) is compiled alone, and a command that prints anything is left to the client, so that its
messages are the real ones.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shaderc_tool.build.plan import key_of
from shaderc_tool.build.process import ProcessRunner
from shaderc_tool.build.sources import Closure, SourceIndex
from shaderc_tool.build.store import Store
from shaderc_tool.build.variant_file import make_template
from shaderc_tool.dropin import protocol
from shaderc_tool.dropin.compilers import Compile
from shaderc_tool.formats.depfile import parse_glslc_depfile
from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.spirv_conversions import may_convert_constant
from shaderc_tool.toolchains.discover import VersionMemory
from shaderc_tool.toolchains.glsl import GlslFlags, tidy_version
from shaderc_tool.toolchains.glslc_command import GlslcCommand, NotPlainError, read_glslc


@dataclass(frozen=True)
class _Request:
    folder: str
    umask: int
    real: str
    arguments: list[str]
    command: GlslcCommand

    @property
    def source(self) -> str:
        return os.path.normpath(os.path.join(self.folder, self.command.source))

    def path(self, written: str) -> str:
        return os.path.join(self.folder, written)


@dataclass(frozen=True)
class _Result:
    """A module; `dependencies` as the depfile shows them after the source, when one was asked for."""

    data: bytes
    dependencies: list[str]


@dataclass
class Service:
    """Answers requests, from any number of threads. `work` is a private folder."""

    store: Store
    runner: ProcessRunner
    compile: Compile
    work: Path
    _versions: VersionMemory = field(default_factory=VersionMemory)
    _known: dict[str, dict[str, list[Any]]] = field(default_factory=dict)

    def answer(self, message: bytes) -> protocol.Answer:
        """The answer to a request; `DECLINED` when the client has to run the real glslc itself."""
        try:
            request = _read_request(message)
            result = self._result(request)
            if result is None:
                return protocol.DECLINED, b"", b""
            _write_outputs(request, result)
        except (NotPlainError, OSError, ValueError, FormatError):
            return protocol.DECLINED, b"", b""
        return 0, b"", b""

    def _result(self, request: _Request) -> _Result | None:
        command = request.command
        version = self._version(request.real)
        if command.debug or not version:
            return None
        closure = self._closure(request)
        if not closure.digest:
            return None
        key = _key(command, closure, version)
        entry = self.store.get(key)
        if entry is not None:
            return _Result(entry.data, json.loads(entry.messages))
        plain = not (closure.line_sensitive or closure.computed_include) and _same_names(command)
        result = (self._batched(request) if plain else None) or self._alone(request)
        if result is not None:
            self.store.put(key, result.data, json.dumps(result.dependencies))
        return result

    def _version(self, real: str) -> str:
        key = self._versions.key(Path(real))
        if key and key not in self._versions.answers:
            done = self.runner.run([real, "--version"], cwd=self.work, timeout=30)
            self._versions.answers[key] = tidy_version(done.text) if done.ok else ""
        return self._versions.answers.get(key, "")

    def _closure(self, request: _Request) -> Closure:
        """The include closure, with paths relative to the source's folder, so that a moved tree keeps its entries."""
        folder, name = os.path.split(request.source)
        include = [request.path(i) for i in request.command.include]
        return SourceIndex(Path(folder), include, self._known.setdefault(folder, {})).closure(name)

    def _batched(self, request: _Request) -> _Result | None:
        command, folder = request.command, os.path.dirname(request.source)

        def beside(written: str) -> str | None:
            full = os.path.join(folder, written)
            return full if os.path.isfile(full) else None

        with open(request.source, encoding="utf-8") as stream:
            variant = make_template(stream.read(), beside).variant(command.defines)
        include = tuple(os.path.normpath(request.path(i)) for i in command.include)
        flags = GlslFlags(command.env, command.spv, command.optimize, False, include)
        made = self.compile((request.real, flags), variant.text)
        if made is None or may_convert_constant(made.data):
            return None
        return _Result(made.data, list(made.dependencies))

    def _alone(self, request: _Request) -> _Result | None:
        """What the real glslc makes of it; None when it fails or prints anything."""
        with tempfile.TemporaryDirectory(dir=self.work) as name:
            output, depfile = f"{name}/out.spv", f"{name}/out.d"
            argv = [request.real, *_redirected(request.arguments, output, depfile)]
            done = self.runner.run(argv, cwd=Path(request.folder))
            if not done.ok or done.stdout or done.stderr:
                return None
            rule = Path(depfile).read_text("utf-8", "surrogateescape")
            read = parse_glslc_depfile(rule, output, lambda path: os.path.exists(request.path(path)))
            data = Path(output).read_bytes()
        return _Result(data, list(read[1:]))


def _read_request(message: bytes) -> _Request:
    greeting, folder, identity, umask, real, *arguments = message.decode("utf-8", "surrogateescape").split("\0")
    here = os.stat(folder)
    if greeting != protocol.GREETING or identity != f"{here.st_dev}:{here.st_ino}":
        raise NotPlainError("another version, or another view of the file system")
    return _Request(folder, int(umask, 8), os.path.join(folder, real), arguments, read_glslc(arguments))


def _key(command: GlslcCommand, closure: Closure, version: str) -> str:
    """The content key. How folders are written only counts when a depfile is to show it."""
    folders = [os.path.dirname(command.source), *command.include] if command.depfile else []
    parts = {
        "tool": version,
        "env": f"{command.env} {command.spv}",
        "optimize": command.optimize,
        "messages": f"{command.werror} {command.quiet}",
        "depfile": "\n".join(folders) if command.depfile else "none",
        "defines": "\n".join(f"{name}={value}" for name, value in command.defines),
        "sources": closure.digest,
    }
    return key_of(parts, "glslc")


def _same_names(command: GlslcCommand) -> bool:
    """True when the depfile of a resident compiler, which sees absolute paths, is that of the command as written.

    glslc orders a depfile by the hashes of the names, so names cannot be put in their written form afterwards.
    """
    folders = (os.path.dirname(command.source), *command.include)
    return not command.depfile or all(os.path.isabs(f) and os.path.normpath(f) == f for f in folders)


def _redirected(arguments: list[str], output: str, depfile: str) -> list[str]:
    """The same command with its files elsewhere; the last `-o` and `-MF` win nothing, so the old ones go."""
    kept: list[str] = []
    words = iter(arguments)
    for word in words:
        if word in ("-o", "-MF"):
            next(words, None)
        elif word in ("-D", "-I", "-x"):
            kept += [word, next(words, "")]
        elif word != "-MD" and not word.startswith(("-o", "-MF")):
            kept.append(word)
    return [*kept, "-MD", "-MF", depfile, "-o", output]


def _write_outputs(request: _Request, result: _Result) -> None:
    command = request.command
    mode = 0o666 & ~request.umask
    _write(request.path(command.output), result.data, mode)
    if command.depfile:
        text = f"{command.output}: {' '.join([command.source, *result.dependencies])}\n"
        _write(request.path(command.depfile), text.encode("utf-8", "surrogateescape"), mode)


def _write(path: str, data: bytes, mode: int) -> None:
    """Replace a file in one step. OSError for what is no plain file: a link or a device is glslc's to write to."""
    if os.path.lexists(path) and (os.path.islink(path) or not os.path.isfile(path)):
        raise OSError(f"{path} is not a plain file")
    temporary = f"{path}.{os.getpid()}-{id(data):x}.tmp"
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
            os.fchmod(stream.fileno(), mode)
            stream.write(data)
        os.replace(temporary, path)
    except OSError:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
