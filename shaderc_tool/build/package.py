"""C headers and storages, made from the SPIR-V modules that are in place."""

from __future__ import annotations

from collections.abc import Mapping

from shaderc_tool.build.packaging import Package
from shaderc_tool.build.records import ActionRecord
from shaderc_tool.build.session import Session
from shaderc_tool.diagnostics import Diagnostic
from shaderc_tool.manifest.model import Manifest, Output


def header_stem(manifest: Manifest, target: str) -> str:
    """The file-name stem of a target's header: the pack, with the target when several Vulkan targets exist."""
    vulkan = [t for t in manifest.targets.values() if t.api == "vulkan"]
    return manifest.pack if target == "vulkan" or len(vulkan) == 1 else f"{manifest.pack}-{target}"


def package_shaders(session: Session, digests: Mapping[str, str]) -> tuple[list[ActionRecord], list[Diagnostic]]:
    """Make the C headers and storages. `digests` gives the SHA-256 of every module that is in place."""
    records: list[ActionRecord] = []
    made: dict[str, Output] = {}
    found: list[Diagnostic] = []
    for output in session.manifest.outputs:
        for target in output.targets if output.kind == "c-header" else ():
            if target not in session.manifest.targets:
                continue
            if target in made and made[target].storage != output.storage:
                found.append(_second_storage(target, output, made[target]))
                continue
            made[target] = output
            records += _header(session, output, target, digests)
    return records, found


def _header(session: Session, output: Output, target: str, digests: Mapping[str, str]) -> list[ActionRecord]:
    jobs = [j for j in session.manifest.shaders if j.target == target]
    if any(j.output not in digests for j in jobs):
        return []  # a module failed; the earlier header stays as it is
    stem = header_stem(session.manifest, target)
    parts = {
        "storage": output.storage,
        "stem": stem,
        "payloads": "\n".join(f"{j.symbol}={digests[j.output]}" for j in jobs),
    }
    package = Package(session, "c-header", target, parts)
    kept = package.kept()
    if kept is not None:
        return kept
    # Imported here: a build with nothing to do emits nothing.
    from shaderc_tool.emit.c_header import c_header, header_name
    from shaderc_tool.emit.payload import Payload
    from shaderc_tool.emit.storage import storage

    payloads = [Payload(j.symbol, session.folder.path(j.output).read_bytes(), f"{j.symbol}.spv") for j in jobs]
    files = {header_name(stem): c_header(stem, payloads).encode(), **storage(output.storage, stem, payloads)}
    return package.write({f"{target}/{name}": data for name, data in files.items()})


def _second_storage(target: str, output: Output, first: Output) -> Diagnostic:
    return Diagnostic(
        "SP1010",
        f"the target «{target}» has two C headers",
        output.place,
        cause=f"the first, with storage {first.storage}, is asked for at {first.place}",
        fix="keep one, or add a second Vulkan target",
        subject=target,
    )
