"""Compile GLSL jobs: batches for glslc, one process a variant for the wheels; validate; apply module policies."""

from __future__ import annotations

import math
import posixpath
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from shaderc_tool.build.pool import run_pool
from shaderc_tool.build.process import Completed, ProcessRunner
from shaderc_tool.build.tool_result import failure, from_tool_text
from shaderc_tool.build.variant_file import VariantFile, VariantTemplate, make_template
from shaderc_tool.diagnostics import Diagnostic, Severity, has_errors
from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.spirv import read_module
from shaderc_tool.formats.spirv_conversions import may_convert_constant
from shaderc_tool.manifest.model import Policy, ShaderJob
from shaderc_tool.toolchains.glsl import (
    LARGEST_BATCH,
    LEAST_BATCH,
    GlslFlags,
    GlslToolchain,
    Tool,
    glslang_argv,
    glslc_batch_argv,
    glslc_single_argv,
    spirv_opt_argv,
    spirv_val_argv,
)

# glibc fills fresh blocks with the complement, so this gives a batch the zeros that a lone process finds by luck;
# glslang reads one uninitialised value (vulkan-facts.md section 5). It costs a batch 8 % of its time, so a batch runs
# without, and only the modules that could hold such a value are made again with it.
STEADY_MALLOC = {"MALLOC_PERTURB_": "255"}
OTHER_MALLOC = {"MALLOC_PERTURB_": "85"}

RERUN_LIMIT = 40
"""Failed files of one batch that are compiled again alone for their own messages; the rest name the first cause."""


@dataclass(frozen=True)
class CompileResult:
    """One job's outcome: `data` is the validated module, None when it failed. `job` has the level that was used."""

    job: ShaderJob
    data: bytes | None
    diagnostics: tuple[Diagnostic, ...] = ()
    seconds: float = 0.0


def flags_of(job: ShaderJob, include: Sequence[str]) -> GlslFlags:
    """The part of a job that one batch shares."""
    return GlslFlags(job.env, job.spv, job.optimize, job.debug, tuple(include))


@dataclass
class GlslCompiler:
    """Compiles jobs with one toolchain. `work` is an empty folder of its own."""

    chain: GlslToolchain
    runner: ProcessRunner
    root: Path
    include: Sequence[str]
    work: Path
    policies: Sequence[Policy] = ()
    malloc: dict[str, str] | None = None
    _count: int = 0
    _templates: dict[str, VariantTemplate | None] = field(default_factory=dict)

    def compile(
        self, jobs: Sequence[ShaderJob], workers: int, keep_going: bool, alone: Callable[[ShaderJob], bool]
    ) -> Iterator[CompileResult]:
        """Compile all jobs, results in completion order. `alone` marks jobs that cannot go through a variant file.

        Without `keep_going`, no new process is started after the first failure.
        """
        tasks: list[Callable[[], list[CompileResult]]] = []
        for batch in self._batches(jobs, workers, alone):
            folder = self._folder()
            tasks.append(lambda batch=batch, folder=folder: self._run_batch(batch, folder))  # type: ignore[misc]
        for results in run_pool(tasks, workers, self.runner):
            yield from results
            if not keep_going and any(r.data is None for r in results):
                return

    def _batches(
        self, jobs: Sequence[ShaderJob], workers: int, alone: Callable[[ShaderJob], bool]
    ) -> Iterable[list[ShaderJob]]:
        groups: dict[tuple[object, ...], list[ShaderJob]] = {}
        singles: list[list[ShaderJob]] = []
        for job in jobs:
            if self.chain.family != "glslc" or job.debug or alone(job):
                singles.append([job])
            else:
                groups.setdefault((job.env, job.spv, job.optimize), []).append(job)
        ordered = [job for group in groups.values() for job in group]
        for size in batch_sizes([len(group) for group in groups.values()], workers):
            yield ordered[:size]
            del ordered[:size]
        yield from singles

    def _folder(self) -> Path:
        self._count += 1
        folder = self.work / f"b{self._count}"
        folder.mkdir()
        return folder

    # --- glslc batches

    def _run_batch(self, jobs: list[ShaderJob], folder: Path) -> list[CompileResult]:
        if len(jobs) == 1:
            return [self._run_single(jobs[0], folder)]
        variants: dict[str, VariantFile] = {}
        for job in jobs:
            variant = self._variant(job)
            if variant is None:
                return [self._run_single(j, self._sub(folder, j)) for j in jobs]
            variants[f"{job.symbol}.comp"] = variant
            (folder / f"{job.symbol}.comp").write_text(variant.text, "utf-8", newline="")
        done = self._glslc(jobs[0], list(variants), folder, self.malloc or {})
        if self.malloc is None:
            self._steady(jobs, folder)
        return list(self._collect(jobs, folder, variants, done))

    def _glslc(self, like: ShaderJob, files: Sequence[str], folder: Path, malloc: Mapping[str, str]) -> Completed:
        flags = flags_of(like, [str(self.root / i) for i in self.include])
        argv = glslc_batch_argv(flags, files, str(self.chain.compiler.path))
        return self.runner.run(argv, cwd=folder, env={**self.chain.compiler.env, **malloc})

    def _steady(self, jobs: list[ShaderJob], folder: Path) -> None:
        """Make again, under zeroed memory, the modules in which glslang may have left a value uninitialised."""
        made = {f"{job.symbol}.comp": folder / f"{job.symbol}.comp.spv" for job in jobs}
        suspects = [n for n, path in made.items() if path.is_file() and may_convert_constant(path.read_bytes())]
        if suspects and not self._glslc(jobs[0], suspects, folder, STEADY_MALLOC).ok:
            for name in suspects:
                made[name].unlink(missing_ok=True)  # `_collect` compiles it alone

    def _sub(self, folder: Path, job: ShaderJob) -> Path:
        sub = folder / job.symbol
        sub.mkdir()
        return sub

    def _variant(self, job: ShaderJob) -> VariantFile | None:
        if job.file not in self._templates:
            self._templates[job.file] = self._template(job.file)
        template = self._templates[job.file]
        return template.variant(job.defines) if template else None

    def _template(self, file: str) -> VariantTemplate | None:
        try:
            source = (self.root / file).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        beside = posixpath.dirname(file)

        def place_of(written: str) -> str | None:
            full = self.root / posixpath.join(beside, written)
            return full.as_posix() if full.is_file() else None

        return make_template(source, place_of)

    def _collect(
        self, jobs: list[ShaderJob], folder: Path, variants: dict[str, VariantFile], done: Completed
    ) -> Iterator[CompileResult]:
        seconds = done.seconds / len(jobs)
        messages: dict[str, list[Diagnostic]] = {}
        if done.ok and done.stderr.strip():
            for message in self._batch_messages(done, folder, variants, jobs):
                messages.setdefault(message.subject, []).append(message)
        failed = 0
        for job in jobs:
            made = folder / f"{job.symbol}.comp.spv"
            if made.is_file() and made.stat().st_size:
                yield self._finish(job, made, tuple(messages.get(job.symbol, ())), seconds, folder)
            else:
                failed += 1
                if failed > RERUN_LIMIT:
                    yield CompileResult(job, None, (_failed_alike(job),), seconds)
                else:
                    yield self._run_single(job, self._sub(folder, job))

    def _batch_messages(
        self, done: Completed, folder: Path, variants: dict[str, VariantFile], jobs: list[ShaderJob]
    ) -> Iterator[Diagnostic]:
        by_name = {f"{job.symbol}.comp": job for job in jobs}
        for diagnostic in from_tool_text(done, self.root, "", self.chain.family):
            place = diagnostic.place
            job = by_name.get(place.file.rsplit("/", 1)[-1]) if place else None
            if place is None or job is None:
                yield diagnostic
            else:
                line = variants[f"{job.symbol}.comp"].source_line(place.line)
                yield replace(diagnostic, place=replace(place, file=job.file, line=line), subject=job.symbol)

    # --- one process a module

    def _run_single(self, job: ShaderJob, folder: Path) -> CompileResult:
        begun = time.perf_counter()
        output = folder / "out.spv"
        argvs = self._single_argvs(job, folder, output)
        messages: list[Diagnostic] = []
        for tool, argv, made in argvs:
            done = self.runner.run(argv, cwd=self.root, env=self._env(tool))
            found = from_tool_text(done, self.root, job.symbol, self.chain.family)
            problem = failure(done, tool.name, job, made, found)
            if problem:
                return CompileResult(job, None, tuple(problem), time.perf_counter() - begun)
            messages += found
        return self._finish(job, output, tuple(messages), time.perf_counter() - begun, folder)

    def _single_argvs(self, job: ShaderJob, folder: Path, output: Path) -> list[tuple[Tool, list[str], Path]]:
        flags = flags_of(job, self.include)
        compiler = self.chain.compiler
        if self.chain.optimizer is None:
            argv = glslc_single_argv(flags, job.defines, job.file, str(output), program=str(compiler.path))
            return [(compiler, argv, output)]
        plain = folder / "plain.spv"
        depfile = str(folder / "out.d")
        return [
            (compiler, glslang_argv(flags, job.defines, job.file, str(plain), depfile, str(compiler.path)), plain),
            (
                self.chain.optimizer,
                spirv_opt_argv(flags, str(plain), str(output), str(self.chain.optimizer.path)),
                output,
            ),
        ]

    def _env(self, tool: Tool) -> dict[str, str]:
        return {**tool.env, **(STEADY_MALLOC if self.malloc is None else self.malloc)}

    # --- after the compile

    def _finish(
        self, job: ShaderJob, made: Path, messages: tuple[Diagnostic, ...], seconds: float, folder: Path
    ) -> CompileResult:
        data = made.read_bytes()
        found = (*messages, *self._validate(job, made, data))
        if has_errors(found):
            return CompileResult(job, None, found, seconds)
        policy = self._module_policy(job, data)
        if policy is not None and policy.optimize != job.optimize:
            again = replace(job, optimize=policy.optimize, optimize_reason=policy.reason)
            sub = folder / f"{job.symbol}-policy"
            sub.mkdir()
            return self._run_single(again, sub)
        return CompileResult(job, data, found, seconds)

    def _validate(self, job: ShaderJob, made: Path, data: bytes) -> list[Diagnostic]:
        if job.validate == "off":
            return []  # the gate still reads the module
        try:
            read_module(data)
        except FormatError as error:
            return [_invalid(job, str(error), "", Severity.ERROR)]
        tool = self.chain.validator
        argv = spirv_val_argv(job.env, job.layout, str(made), str(tool.path))
        done = self.runner.run(argv, cwd=self.root, env=tool.env)
        if done.ok:
            return []
        severity = Severity.ERROR if job.validate == "error" else Severity.WARNING
        return [_invalid(job, f"spirv-val {done.how_it_ended()}", done.text.replace(str(made), job.output), severity)]

    def _module_policy(self, job: ShaderJob, data: bytes) -> Policy | None:
        policies = [p for p in self.policies if p.needs_module]
        if job.optimize_reason or not policies:
            return None
        module = read_module(data)
        for policy in policies:
            checks = (
                (policy.capabilities, module.capabilities),
                (policy.extensions, module.extensions),
                (policy.kernels, (job.kernel,)),
                (policy.symbols, (job.symbol,)),
            )
            if all(not globs or any(fnmatchcase(n, g) for n in names for g in globs) for globs, names in checks):
                return policy
        return None


def batch_sizes(groups: Iterable[int], workers: int) -> Iterator[int]:
    """Sizes of the batches that groups of files are given in; no batch holds files of two groups.

    Large ones come first, so that few processes start; small ones last, so that all workers end at about one time.
    """
    waiting = list(groups)
    least = max(1, min(LEAST_BATCH, math.ceil(sum(waiting) / workers)))
    for position, count in enumerate(waiting):
        after = sum(waiting[position + 1 :])
        while count > 0:
            size = min(count, LARGEST_BATCH, max(least, math.ceil((count + after) / (2 * workers))))
            yield size
            count -= size


def _invalid(job: ShaderJob, cause: str, detail: str, severity: Severity) -> Diagnostic:
    return Diagnostic(
        "SP3007",
        f"{job.symbol}: the SPIR-V module is not valid for {job.env} with {job.layout} layout",
        job.place,
        cause=cause,
        fix="correct the shader; if it means another block layout, set `layout:`",
        subject=job.symbol,
        severity=severity,
        detail=detail,
    )


def _failed_alike(job: ShaderJob) -> Diagnostic:
    return Diagnostic(
        "SP3002",
        f"{job.symbol} failed to compile with its batch",
        job.place,
        cause=f"more than {RERUN_LIMIT} files of one batch failed; only the first were compiled again alone",
        fix="correct the errors above and build again",
        subject=job.symbol,
        severity=Severity.ERROR,
    )
