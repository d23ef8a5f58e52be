"""Packaging: what the manifest's `outputs` ask for, made from the modules and libraries that are in place."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from shaderc_tool import __version__
from shaderc_tool.build.plan import key_of
from shaderc_tool.build.records import BUILT, KEPT, ActionRecord
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
        "version": __version__,
        "storage": output.storage,
        "stem": stem,
        "payloads": "\n".join(f"{j.symbol}={digests[j.output]}" for j in jobs),
    }
    key = key_of(parts, "c-header")
    kept = _kept(session, key, target, "c-header")
    if kept is not None:
        return kept
    # Imported here: a build with nothing to do emits nothing.
    from shaderc_tool.emit.c_header import c_header, header_name
    from shaderc_tool.emit.payload import Payload
    from shaderc_tool.emit.storage import storage

    payloads = [Payload(j.symbol, session.folder.path(j.output).read_bytes(), f"{j.symbol}.spv") for j in jobs]
    files = {header_name(stem): c_header(stem, payloads).encode(), **storage(output.storage, stem, payloads)}
    return [_write(session, f"{target}/{name}", data, target, key, parts) for name, data in files.items()]


def _write(session: Session, path: str, data: bytes, target: str, key: str, parts: Mapping[str, str]) -> ActionRecord:
    before = session.state.outputs.get(path)
    session.folder.write(path, data)
    record = ActionRecord(
        output=path,
        kind="c-header",
        subject=session.manifest.pack,
        target=target,
        status=BUILT,
        reason="its payloads or options changed" if before else "first build of this output",
        tool=f"shaderpack {__version__}",
        sha256=hashlib.sha256(data).hexdigest(),
        size=len(data),
    )
    session.remember_output(record, key, {**parts, "kind": "c-header"})
    session.progress.step(record)
    return record


def _kept(session: Session, key: str, target: str, kind: str) -> list[ActionRecord] | None:
    """Records of the files that the same key made before, when all of them are untouched."""
    mine = {
        path: known
        for path, known in session.state.outputs.items()
        if known["key"] == key and known["target"] == target and known["parts"].get("kind") == kind
    }
    if not mine or not session.request.use_cache:
        return None
    if any(session.output_signature(path) != known["signature"] for path, known in mine.items()):
        return None
    return [
        ActionRecord(
            path,
            kind,
            session.manifest.pack,
            target,
            KEPT,
            "nothing changed",
            tool=f"shaderpack {__version__}",
            sha256=known["sha256"],
            size=known["size"],
        )
        for path, known in mine.items()
    ]


def _second_storage(target: str, output: Output, first: Output) -> Diagnostic:
    return Diagnostic(
        "SP1010",
        f"the target «{target}» has two C headers",
        output.place,
        cause=f"the first, with storage {first.storage}, is asked for at {first.place}",
        fix="keep one, or add a second Vulkan target",
        subject=target,
    )


def remove_orphans(session: Session, records: list[ActionRecord]) -> list[str]:
    """Remove files that earlier builds made for these targets and this one does not: nothing stale may ship."""
    current = {r.output for r in records}
    selected = set(session.manifest.targets)
    gone = [
        path for path, known in session.state.outputs.items() if path not in current and known["target"] in selected
    ]
    for path in gone:
        session.folder.remove(path)
        del session.state.outputs[path]
    return gone
