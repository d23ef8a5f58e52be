"""The build, as the design draws it: manifest → plan → run → emit → audit → report."""

from __future__ import annotations

import time
from collections.abc import Mapping

from shaderc_tool import __version__
from shaderc_tool.build import shaders
from shaderc_tool.build.package import package_shaders
from shaderc_tool.build.packaging import remove_orphans
from shaderc_tool.build.plan import key_of
from shaderc_tool.build.quick import search_folders
from shaderc_tool.build.records import FAILED, SKIPPED, BuildResult
from shaderc_tool.build.report_file import write_reports
from shaderc_tool.build.session import BuildRequest, Progress, Quiet, Session, open_session
from shaderc_tool.diagnostics import (
    Diagnostic,
    InterruptedBuildError,
    has_errors,
)
from shaderc_tool.manifest.load import load_manifest


def build(request: BuildRequest, environment: Mapping[str, str], progress: Progress | None = None) -> BuildResult:
    """Build a manifest. Raises UsageError (2), ToolMissingError (3) or InterruptedBuildError (130).

    Compile and audit faults do not raise: they come back in the result, so that everything found is reported.
    """
    begun = time.perf_counter()
    progress = progress or Quiet()
    session = open_session(request, load_manifest(request.manifest), environment, progress)
    waiting = "another build of this pack is running; waiting for it"
    with session.folder.locked(lambda: progress.note(waiting)):
        try:
            result = _run(session)
        except KeyboardInterrupt:
            session.runner.stop_all()
            raise InterruptedBuildError(_interrupted()) from None
        finally:
            session.save()
    result.processes = session.runner.started
    result.looked_at = _looked_at(session, result, environment)
    result.seconds = time.perf_counter() - begun
    return result


def _run(session: Session) -> BuildResult:
    result = BuildResult(session.manifest)
    vulkan = _vulkan_stage(session, result)
    _metal_stage(session, result)
    if session.request.dry_run:
        return result
    if vulkan:
        result.add(*package_shaders(session, result.output_digests()))
    if result.ok and not session.request.keep_going:
        gone = remove_orphans(session, result.records)
        for path in gone:
            session.progress.note(f"removed {path}: no longer an output")
    _gate(session, result)
    write_reports(session, result)
    return result


def _vulkan_stage(session: Session, result: BuildResult) -> bool:
    if not session.manifest.shaders:
        return False
    chain = session.finder.glsl(session.request.glsl_toolchain)
    result.toolchains["glsl"] = f"{chain.family}: {chain.identity}"
    session.progress.note(f"GLSL toolchain {result.toolchains['glsl']}")
    planned = shaders.plan(session, chain)
    records, found = shaders.run(session, chain, planned)
    result.add(records, found)
    if session.request.check_determinism and not has_errors(found) and not session.request.dry_run:
        result.diagnostics += shaders.check_determinism(session, chain)
    return True


def _metal_stage(session: Session, result: BuildResult) -> None:
    if not session.manifest.metal:
        return
    # Imported here: neither compiler driver is wanted for a Vulkan pack.
    from shaderc_tool.build.merged import check_merged, merge_sources
    from shaderc_tool.build.metal import MetalStage
    from shaderc_tool.build.metal_choice import choose_metal
    from shaderc_tool.build.package_metal import package_metal

    toolchain = choose_metal(session)
    for target in session.manifest.targets.values():
        if target.api == "metal":
            result.toolchains[f"metal {target.name}"] = f"{toolchain.family}: {toolchain.identity(target)}"
    session.progress.note(f"Metal toolchain {toolchain.family}")
    dry_run = session.request.dry_run
    records, found = ([], []) if dry_run else merge_sources(session)
    result.add(records, found)
    stage = MetalStage(session, toolchain)
    if has_errors(found) and not session.request.keep_going:
        # What cannot be one source is said before any compiler runs.
        result.add(stage.skip("the sources do not merge"), [])
        return
    result.add(*stage.run())
    if not dry_run:
        result.add(*check_merged(session, toolchain, result.output_digests()))
        result.add(package_metal(session, result.output_digests()), [])


def _gate(session: Session, result: BuildResult) -> None:
    """Audit what is in place. The same outputs under the same manifest were audited before, so once is enough."""
    from shaderc_tool.audit.consumers import inputs_digest

    beside = inputs_digest(session.manifest)
    facts = {"version": __version__, "manifest": session.manifest.digest, "beside": beside, **result.output_digests()}
    key = key_of(facts, "gate")
    if session.state.complete == key and result.ok:
        return
    from shaderc_tool.audit.command import audit_outputs

    # What failed to compile has its own diagnostic; that it is missing follows from it.
    failed = {r.output for r in result.records if r.status in (FAILED, SKIPPED)}
    digests = result.output_digests()
    result.diagnostics += audit_outputs(session.manifest, session.folder.root, digests, failed, session.whole)
    session.state.complete = key if result.ok else ""


def _looked_at(session: Session, result: BuildResult, environment: Mapping[str, str]) -> list[str]:
    """Every path whose change could change the next build."""
    from shaderc_tool.audit.consumers import gate_inputs

    root = session.manifest.root
    hosts = gate_inputs(session.manifest)
    files = [root / name for name in session.state.files]
    folders = {path.parent for path in files} | {root / name for name in session.manifest.include}
    outputs = [session.folder.path(r.output) for r in result.records]
    evidence = [*session.folder.root.glob("evidence-*.json"), session.folder.root]
    beside = [*hosts, *{path.parent for path in hosts}]
    paths = [session.request.manifest.absolute(), *files, *folders, *outputs, *evidence, *beside]
    return [*map(str, paths), *search_folders(environment)]


def _interrupted() -> Diagnostic:
    return Diagnostic(
        "SP3012",
        "interrupted",
        cause="Ctrl-C was pressed; every output is either whole and new or as it was",
        fix="run the same command to go on where it stopped",
    )
