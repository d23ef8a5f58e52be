"""The Vulkan stage: plan, take from the store, compile the rest, put in place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shaderc_tool.build import place
from shaderc_tool.build.plan import KEEP, Action, plan_shaders
from shaderc_tool.build.records import FAILED, PLANNED, SKIPPED, ActionRecord
from shaderc_tool.build.session import Session
from shaderc_tool.diagnostics import Diagnostic, Place, Severity
from shaderc_tool.manifest.model import ShaderJob
from shaderc_tool.toolchains.glsl import GlslFlags, GlslToolchain, display_argv


def plan(session: Session, chain: GlslToolchain) -> list[tuple[ShaderJob, Action]]:
    """Pair every selected job with its planned action."""
    jobs = session.manifest.shaders
    policy = "\n".join(
        f"{p.optimize}:{p.capabilities}:{p.extensions}:{p.kernels}:{p.symbols}" for p in session.manifest.policies
    )
    outputs = session.state.outputs if session.request.use_cache else {}
    actions = plan_shaders(jobs, session.index, outputs, session.output_signature, chain.identity, policy)
    return list(zip(jobs, actions, strict=True))


def run(
    session: Session, chain: GlslToolchain, planned: list[tuple[ShaderJob, Action]]
) -> tuple[list[ActionRecord], list[Diagnostic]]:
    """Bring every module into place. Records come back in the manifest's order, whatever order they were made in."""
    records: dict[str, ActionRecord] = {}
    found: list[Diagnostic] = []
    misses: list[tuple[ShaderJob, Action]] = []
    for job, action in planned:
        record = _record(session, job, action, chain)
        records[action.output] = record
        if not action.closure.digest:
            record.status = FAILED
            found.append(_no_source(job))
        elif action.verdict == KEEP:
            place.keep(session, record)
        elif session.request.dry_run:
            record.status = PLANNED
        elif not place.restore(session, record, action):
            misses.append((job, action))
    if misses:
        session.progress.begin(len(misses), "compile")
        found += _compile(session, chain, misses, records)
    found += [_damaged(key) for key in session.store.damaged]
    return list(records.values()), found


def _record(session: Session, job: ShaderJob, action: Action, chain: GlslToolchain) -> ActionRecord:
    return ActionRecord(
        output=action.output,
        kind="spirv",
        subject=job.kernel,
        target=job.target,
        status=SKIPPED,
        reason=action.reason,
        tool=chain.identity,
        argv=_argv(job, session, chain),
        inputs=action.closure.files,
        note=job.optimize_reason,
    )


def _argv(job: ShaderJob, session: Session, chain: GlslToolchain) -> tuple[str, ...]:
    flags = GlslFlags(job.env, job.spv, job.optimize, job.debug, session.manifest.include)
    return tuple(display_argv(chain.family, flags, job.defines, job.file, job.output))


def _compile(
    session: Session,
    chain: GlslToolchain,
    misses: list[tuple[ShaderJob, Action]],
    records: dict[str, ActionRecord],
) -> Iterator[Diagnostic]:
    # Imported here: a build with nothing to do needs neither the compiler driver nor the SPIR-V reader.
    from shaderc_tool.build.glsl_run import GlslCompiler

    actions = {action.output: action for _, action in misses}
    manifest = session.manifest
    sensitive = {a.output for _, a in misses if a.closure.line_sensitive or a.closure.computed_include}
    with session.folder.work_folder() as work:
        compiler = GlslCompiler(chain, session.runner, manifest.root, manifest.include, work, manifest.policies)
        jobs = [job for job, _ in misses]
        request = session.request
        results = compiler.compile(jobs, request.workers, request.keep_going, lambda j: j.output in sensitive)
        for result in results:
            record, action = records[result.job.output], actions[result.job.output]
            record.argv = _argv(result.job, session, chain)
            record.seconds = result.seconds
            record.note = result.job.optimize_reason
            if result.data is None:
                record.status = FAILED
            else:
                place.put(session, record, action, result.data)
            session.progress.step(record)
            yield from result.diagnostics


def check_determinism(session: Session, chain: GlslToolchain) -> list[Diagnostic]:
    """Compile every job under two fills of fresh memory and compare the bytes (vulkan-facts.md section 5)."""
    from shaderc_tool.build.glsl_run import OTHER_MALLOC, STEADY_MALLOC, GlslCompiler

    manifest, request = session.manifest, session.request
    made: list[dict[str, bytes]] = []
    for malloc in (STEADY_MALLOC, OTHER_MALLOC):
        with session.folder.work_folder() as work:
            compiler = GlslCompiler(
                chain, session.runner, manifest.root, manifest.include, work, manifest.policies, dict(malloc)
            )
            results = compiler.compile(manifest.shaders, request.workers, True, lambda j: j.debug)
            made.append({r.job.output: r.data for r in results if r.data is not None})
    first, second = made
    differing = [job for job in manifest.shaders if first.get(job.output) != second.get(job.output)]
    return [_not_deterministic(job) for job in differing] + _conversions(session, chain)


def _conversions(session: Session, chain: GlslToolchain) -> list[Diagnostic]:
    from shaderc_tool.build.glsl_run import GlslCompiler
    from shaderc_tool.formats.spirv import read_module

    manifest = session.manifest
    plain = [replace(job, optimize="none") for job in manifest.shaders]
    found = []
    with session.folder.work_folder() as work:
        compiler = GlslCompiler(chain, session.runner, manifest.root, manifest.include, work)
        for result in compiler.compile(plain, session.request.workers, True, lambda j: j.debug):
            conversions = read_module(result.data).constant_conversions if result.data else ()
            if conversions:
                found.append(_conversion(result.job, len(conversions)))
    return found


def _no_source(job: ShaderJob) -> Diagnostic:
    return Diagnostic(
        "SP3010",
        f"{job.symbol}: the source {job.file} is not there",
        job.place,
        cause="the manifest names a file that does not exist",
        fix="restore the file or remove the kernel from the manifest",
        subject=job.symbol,
    )


def _damaged(key: str) -> Diagnostic:
    return Diagnostic(
        "SP7002",
        f"cache entry {key[:16]}… was damaged and has been dropped",
        cause="its bytes do not match their digest",
        fix="nothing to do; check the disk if it happens often",
        subject=key,
        severity=Severity.WARNING,
    )


def _not_deterministic(job: ShaderJob) -> Diagnostic:
    return Diagnostic(
        "SP3008",
        f"{job.symbol}: two compiles of the same text differ",
        Place(job.file),
        cause="the compiler reads memory that it never wrote; `float16_t(0)` with an integer literal is the known case",
        fix="write `float16_t(0.0)`, or enable GL_EXT_shader_explicit_arithmetic_types_float16",
        subject=job.symbol,
    )


def _conversion(job: ShaderJob, count: int) -> Diagnostic:
    return Diagnostic(
        "SP3009",
        f"{job.symbol}: {count} constant conversion(s) are left to run time",
        Place(job.file),
        cause="glslang leaves such a constant uninitialised in some versions",
        fix="give the literal the type it is converted to, such as `float16_t(0.0)`",
        subject=job.symbol,
        severity=Severity.WARNING,
    )
