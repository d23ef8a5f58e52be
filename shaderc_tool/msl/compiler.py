"""`compile_msl`: one Metal source to diagnostics, AIR text and bitcode, on any operating system."""

from __future__ import annotations

import contextlib
import hashlib
import re
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shaderc_tool.diagnostics import Diagnostic, Place, Related, Severity, ToolMissingError
from shaderc_tool.msl import checks, clang
from shaderc_tool.msl.air.emit import Emitted, emit_air
from shaderc_tool.msl.air.profiles import profile
from shaderc_tool.msl.diagnose import SOURCE, Diagnoser, Verdict
from shaderc_tool.msl.options import Completed, KernelInfo, MslOptions, MslResult, Run
from shaderc_tool.msl.repair import ROUNDS, repair
from shaderc_tool.msl.rewrite import Rewritten, rewrite
from shaderc_tool.msl.shim import INCLUDE, shim_text
from shaderc_tool.msl.shim.names import NOT_MODELLED_TYPES
from shaderc_tool.msl.tokens import WORD, Token, TokenStream, tokenize, unclosed_brace

LANGUAGES = ((1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2), (2, 3), (2, 4), (3, 0), (3, 1), (3, 2), (4, 0))

_PRECOMPILING = threading.Lock()
_DAMAGED_SHIM = re.compile(rb"(?:AST|PCH|precompiled) file|\.pch'|metal_stdlib-\w+\.h' (?:not found|has been modified)")

# On the first and last line, so that line numbers stay: debug information of functions costs time and is not used.
_NO_DEBUG = '_Pragma("clang attribute push(__attribute__((nodebug)), apply_to = hasType(functionType))") '
_END = '_Pragma("clang attribute pop")\n'


def compile_msl(source: str, filename: str, options: MslOptions, run: Run, cwd: Path) -> MslResult:
    """Compile `source`. `filename` is its path relative to `cwd`, as diagnostics shall show it.

    Raises ToolMissingError when the `ziglang` or `llvmlite` wheel is not installed, and ValueError for options that
    name no platform or language.
    """
    problem = _option_problem(options)
    if problem is not None:
        return MslResult("error", (problem,))
    return _Compile(source, filename, options, run, cwd).result()


def _option_problem(options: MslOptions) -> Diagnostic | None:
    target = profile(options)
    if options.language not in LANGUAGES:
        known = ", ".join(f"metal{a}.{b}" for a, b in LANGUAGES)
        return Diagnostic(
            "SP8007", f"unknown language standard '{options.std}'", cause=f"known are {known}", fix="use one"
        )
    if target.language > target.max_language:
        newest = "metal{}.{}".format(*target.max_language)
        return Diagnostic(
            "SP8007",
            f"{options.std} is too new for {options.platform} {options.min_os}",
            cause=f"that system's newest language is {newest}",
            fix=f"raise the minimum OS or use {newest}",
        )
    return None


@dataclass
class _Compile:
    source: str
    filename: str
    options: MslOptions
    run: Run
    cwd: Path

    def __post_init__(self) -> None:
        program = clang.clang_program()
        if program is None:
            raise ToolMissingError(
                Diagnostic(
                    "SP2003",
                    "the portable Metal compiler needs the ziglang wheel",
                    fix="pip install 'shaderpack[metal]'",
                )
            )
        self._program = program
        self._dependencies: tuple[str, ...] = ()
        self._lines = self.source.split("\n")

    def result(self) -> MslResult:
        preprocessed, problems = self._preprocess()
        if problems:
            return MslResult("error", tuple(problems), dependencies=self._dependencies)
        stream = tokenize(preprocessed)
        self._dependencies = self._user_files(stream)
        open_brace = unclosed_brace(stream)
        diagnoser = Diagnoser(stream, self._read_line)
        if open_brace is not None:
            return MslResult("error", (_unclosed(open_brace, stream, diagnoser),), dependencies=self._dependencies)
        unit = rewrite(stream)
        found = checks.check(unit, diagnoser.place_of)
        completed, messages = self._attempts(unit)
        verdict = diagnoser.judge(messages)
        verdict.errors[:0] = _without_repeats(found, verdict)
        if completed.status != 0 and not verdict.errors and not verdict.not_modelled:
            verdict.not_modelled.append(self._crash(completed))
        verdict.not_modelled += self._opaque_uses(unit, diagnoser)
        if verdict.errors:
            return MslResult("error", tuple(verdict.errors), dependencies=self._dependencies)
        if verdict.not_modelled:
            return MslResult("not-modelled", tuple(verdict.not_modelled), dependencies=self._dependencies)
        if self.options.debug:
            completed = self._debug_build(unit)
        return self._emit(completed.stdout.decode("utf-8"), unit, diagnoser)

    def _preprocess(self) -> tuple[str, list[Diagnostic]]:
        argv = clang.preprocess_argv(self._program, self.filename, self.options)
        marked = f'# 1 "{self.filename}"\n{self.source}'
        completed = self.run(argv, self.cwd, marked.encode("utf-8"))
        problems: list[Diagnostic] = []
        for message in clang.parse_messages(completed.stderr.decode("utf-8", "replace")):
            if message.severity == "warning":
                continue
            missing = "file not found" in message.text
            place = Place(self.filename if message.file == SOURCE else message.file, message.line, message.column)
            problems.append(
                Diagnostic(
                    "SP3011" if missing else "SP8001",
                    message.text,
                    place,
                    cause="preprocessing",
                    fix="add the folder to the include directories" if missing else "",
                )
            )
        if completed.status != 0 and not problems:
            problems.append(self._crash(completed))
        return completed.stdout.decode("utf-8", "replace"), problems

    def _user_files(self, stream: TokenStream) -> tuple[str, ...]:
        own = str(INCLUDE)
        return tuple(
            f for f in stream.files if f and f != self.filename and not f.startswith("<") and not f.startswith(own)
        )

    def _read_line(self, file: str, line: int) -> str | None:
        if file == self.filename:
            return self._lines[line - 1] if 0 < line <= len(self._lines) else None
        with contextlib.suppress(OSError, UnicodeDecodeError):
            lines = (self.cwd / file).read_text(encoding="utf-8").split("\n")
            return lines[line - 1] if 0 < line <= len(lines) else None
        return None

    def _attempts(self, unit: Rewritten) -> tuple[Completed, list[clang.Message]]:
        """Compile, and again for as long as a message tells how to put the text right for clang."""
        with _shim(self.options, self._program, self.run, self.cwd) as (header, precompiled):
            completed = self._clang(unit, header, precompiled)
            if precompiled and _DAMAGED_SHIM.search(completed.stderr):
                header.unlink(missing_ok=True)
                header.with_suffix(".h").unlink(missing_ok=True)
        if precompiled and _DAMAGED_SHIM.search(completed.stderr):
            with _shim(self.options, self._program, self.run, self.cwd) as (header, precompiled):
                completed = self._clang(unit, header, precompiled)
        return completed, clang.parse_messages(completed.stderr.decode("utf-8", "replace"))

    def _clang(self, unit: Rewritten, header: Path, precompiled: bool) -> Completed:
        argv = clang.compile_argv(self._program, self.options, header, precompiled)
        completed = self._compile_once(argv, unit)
        for _ in range(ROUNDS):
            messages = clang.parse_messages(completed.stderr.decode("utf-8", "replace"))
            if not repair(unit.stream, messages):
                break
            completed = self._compile_once(argv, unit)
        return completed

    def _compile_once(self, argv: list[str], unit: Rewritten) -> Completed:
        text = f"{_NO_DEBUG}{unit.stream.text()}{_END}{unit.entries.probes}\n"
        return self.run(argv, self.cwd, text.encode("utf-8"))

    def _debug_build(self, unit: Rewritten) -> Completed:
        """Once more, with the user's files and lines in the text: messages need the text's own lines instead."""
        text = f"{unit.stream.text_with_markers()}\n{unit.entries.probes}\n"
        with _shim(self.options, self._program, self.run, self.cwd) as (header, precompiled):
            argv = clang.compile_argv(self._program, self.options, header, precompiled)
            names = ["-main-file-name", self.filename, "-fdebug-compilation-dir=."]
            return self.run([*argv[:-1], *names, argv[-1]], self.cwd, text.encode("utf-8"))

    def _crash(self, completed: Completed) -> Diagnostic:
        tail = completed.stderr.decode("utf-8", "replace").strip().splitlines()[-3:]
        ended = f"signal {-completed.status}" if completed.status < 0 else f"status {completed.status}"
        return Diagnostic(
            "SP8008",
            f"the portable Metal compiler failed on {self.filename} ({ended})",
            Place(self.filename),
            cause="clang ended without a diagnostic; this is a fault of the portable compiler, not of the source",
            fix="compile with Apple's toolchain, and report the source",
            severity=Severity.WARNING,
            detail="\n".join(tail),
        )

    def _opaque_uses(self, unit: Rewritten, diagnoser: Diagnoser) -> list[Diagnostic]:
        found: dict[str, Diagnostic] = {}
        for token in unit.stream.tokens:
            if token.kind == WORD and token.was in NOT_MODELLED_TYPES and token.was not in found:
                found[token.was] = _not_modelled(token.was, diagnoser.place_of(token))
        for pattern in unit.entries.patterns:
            if pattern.stage not in ("kernel", ""):
                word = f"{pattern.stage} functions"
                found.setdefault(word, _not_modelled(word, diagnoser.place_of(unit.stream.tokens[pattern.token])))
        return list(found.values())

    def _emit(self, clang_ir: str, unit: Rewritten, diagnoser: Diagnoser) -> MslResult:
        emitted = emit_air(clang_ir, unit, self.options, self.filename)
        if emitted.not_modelled:
            gaps = tuple(_not_modelled(what, self._where(name, unit, diagnoser)) for what, name in emitted.not_modelled)
            return MslResult("not-modelled", gaps, dependencies=self._dependencies)
        return self._assemble(emitted, unit, diagnoser)

    def _where(self, name: str, unit: Rewritten, diagnoser: Diagnoser) -> Place:
        for pattern in unit.entries.patterns:
            if re.search(rf"\d{re.escape(pattern.name)}(?![a-z0-9_])", name):
                return diagnoser.place_of(unit.stream.tokens[pattern.token])
        return Place(self.filename)

    def _assemble(self, emitted: Emitted, unit: Rewritten, diagnoser: Diagnoser) -> MslResult:
        from shaderc_tool.msl.air.bitcode import assemble

        try:
            bitcode = assemble(emitted.text)
        except RuntimeError as refused:
            crash = Diagnostic(
                "SP8008",
                f"the portable Metal compiler made AIR that does not verify from {self.filename}",
                Place(self.filename),
                cause="this is a fault of the portable compiler, not of the source",
                fix="compile with Apple's toolchain, and report the source",
                severity=Severity.WARNING,
                detail=str(refused),
            )
            return MslResult("not-modelled", (crash,), dependencies=self._dependencies)
        kernels: list[KernelInfo] = []
        for name, pattern in emitted.entries:
            place = diagnoser.place_of(unit.stream.tokens[pattern.token])
            kernels.append(KernelInfo(name, pattern.stage, place.file, place.line))
        return MslResult("clean", (), emitted.text, bitcode, tuple(kernels), self._dependencies)


def _without_repeats(found: list[Diagnostic], verdict: Verdict) -> list[Diagnostic]:
    """The checks' findings; what clang says about the same line follows from them."""
    lines = {(d.place.file, d.place.line) for d in found if d.place is not None}
    verdict.errors[:] = [d for d in verdict.errors if d.place is None or (d.place.file, d.place.line) not in lines]
    unique: dict[tuple[str, int], Diagnostic] = {}
    for diagnostic in found:
        place = diagnostic.place or Place("")
        unique.setdefault((place.file, place.line), diagnostic)
    return list(unique.values())


def _unclosed(brace: Token, stream: TokenStream, diagnoser: Diagnoser) -> Diagnostic:
    return Diagnostic(
        "SP8001",
        "expected '}' before the end of the file",
        diagnoser.place_of(stream.tokens[-1]),
        cause="a brace is not closed",
        fix=f"close the brace of line {diagnoser.place_of(brace).line}",
        related=(Related(diagnoser.place_of(brace), "to match this '{'"),),
    )


def _not_modelled(what: str, place: Place) -> Diagnostic:
    return Diagnostic(
        "SP8002",
        f"not modelled by the portable Metal compiler: {what}",
        place,
        cause="the portable compiler cannot express it in AIR",
        fix="compile with Apple's toolchain",
        subject=what,
        severity=Severity.WARNING,
    )


@contextlib.contextmanager
def _shim(options: MslOptions, program: Path, run: Run, cwd: Path) -> Iterator[tuple[Path, bool]]:
    """The shim on disk: precompiled in the cache folder, or as text in a temporary one."""
    text = shim_text(options.math == "fast")
    if options.cache_dir is None:
        with tempfile.TemporaryDirectory(prefix="shaderpack-") as folder:
            header = Path(folder) / "metal_stdlib.h"
            header.write_text(text, encoding="utf-8")
            yield header, False
        return
    folder_path = options.cache_dir.resolve()
    yield precompiled_shim(options, program, run, cwd, folder_path, text), True


def precompiled_shim(options: MslOptions, program: Path, run: Run, cwd: Path, folder: Path, text: str) -> Path:
    """The precompiled shim for these options, made when it is not in `folder` yet. Safe for concurrent compiles."""
    argv = clang.header_argv(program, options, Path("shim"), Path("out"))
    stamp = program.stat()
    key = hashlib.sha256("\0".join([text, *argv, str(stamp.st_size), str(stamp.st_mtime_ns)]).encode()).hexdigest()[:24]
    output = folder / f"metal_stdlib-{key}.pch"
    with _PRECOMPILING:  # threads of one build would otherwise all make it at once
        if not output.is_file():
            _precompile(options, program, run, cwd, text, output)
    return output


def _precompile(options: MslOptions, program: Path, run: Run, cwd: Path, text: str, output: Path) -> None:
    folder, header = output.parent, output.with_suffix(".h")
    folder.mkdir(parents=True, exist_ok=True)
    if not header.is_file():
        _replace(header, text.encode("utf-8"))
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".tmp", delete=False) as temporary:
        target = Path(temporary.name)
    completed = run(clang.header_argv(program, options, header, target), cwd, b"")
    if completed.status != 0:
        target.unlink(missing_ok=True)
        raise RuntimeError(f"the Metal shim does not compile: {completed.stderr.decode('utf-8', 'replace')[:2000]}")
    target.replace(output)


def _replace(path: Path, data: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as temporary:
        temporary.write(data)
    Path(temporary.name).replace(path)
