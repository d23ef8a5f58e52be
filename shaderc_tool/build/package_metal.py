"""Embed bundles, xcframeworks and the Xcode build phase, made from the libraries and merged sources in place."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from shaderc_tool.build.output import PRIVATE
from shaderc_tool.build.packaging import Package
from shaderc_tool.build.records import ActionRecord
from shaderc_tool.build.session import Session
from shaderc_tool.diagnostics import Diagnostic, ToolMissingError
from shaderc_tool.manifest.embeds import Embed, embeds
from shaderc_tool.manifest.model import Manifest, Output

if TYPE_CHECKING:
    from shaderc_tool.emit.bundle import EmbedTarget
    from shaderc_tool.emit.loader import MetalBundle

HISTORY = f"{PRIVATE}/payloads.json"
"""SHA-256 of every payload that builds in this folder have embedded, with the bundle's symbol."""


def package_metal(session: Session, digests: Mapping[str, str]) -> list[ActionRecord]:
    """Make what `outputs` asks for of the Metal targets. `digests` gives the SHA-256 of every output in place.

    A payload that could not be made leaves the earlier bundle as it is. Raises ToolMissingError without llvmlite.
    """
    records: list[ActionRecord] = []
    wanted = embeds(session.whole)
    for embed in wanted:
        if embed.payload in digests:
            records += _bundle(session, embed, digests[embed.payload])
    for output in session.whole.outputs:
        if output.kind == "xcframework" and not session.manifest.targets.keys().isdisjoint(output.targets):
            slices = [embed for embed in wanted if embed.target.name in output.targets]
            records += _framework(session, output, slices, digests)
    if records:
        records += _xcode(session, wanted)
        _remember(session, wanted, digests)
    return records


# --- one bundle


def _bundle(session: Session, embed: Embed, digest: str) -> list[ActionRecord]:
    package = Package(session, "embed", embed.target.name, _parts(session.whole, embed, digest))
    kept = package.kept()
    if kept is not None:
        return kept
    _require_llvmlite(embed)
    # Imported here: a build with nothing to do emits nothing.
    from shaderc_tool.emit.bundle import embed_bundle

    files = embed_bundle(*_slice(session, embed))
    return package.write({f"{embed.folder}/{name}": data for name, data in files.items()})


def _parts(manifest: Manifest, embed: Embed, digest: str) -> dict[str, str]:
    """Everything that can change the files of a bundle."""
    target, output = embed.target, embed.output
    return {
        "payload": f"{output.payload} {digest}",
        "target": f"{target.sdk} {target.min_os} {target.sdk_version}",
        "symbol": f"{output.symbol} {output.section} {output.private_extern}",
        "functions": "\n".join(_functions(embed)),
        "options": f"{embed.units[0].math} {embed.units[0].defines} {_language(embed)}" if embed.is_source else "",
        "module": _module(manifest, embed),
    }


def _functions(embed: Embed) -> tuple[str, ...]:
    """The functions that a program may rely on: of a source those that every language version gives."""
    stds = embed.stds if embed.is_source else (embed.target.std,)
    everywhere = set.intersection(*({f.name for f in embed.required(std)} for std in stds))
    return tuple(f.name for unit in embed.units for f in unit.functions if f.name in everywhere)


def _language(embed: Embed) -> str:
    """The version that the loader asks for. Empty where several may be met: the system's newest is taken then."""
    return embed.stds[0].removeprefix("metal") if len(embed.stds) == 1 else ""


def _module(manifest: Manifest, embed: Embed) -> str:
    """The xcframework that holds the bundle, whose module the Swift loader imports; empty for none."""
    names = (o.name for o in manifest.outputs if o.kind == "xcframework" and embed.target.name in o.targets)
    return next(names, "")


def _slice(session: Session, embed: Embed) -> tuple[MetalBundle, EmbedTarget]:
    from shaderc_tool.emit.assembler import MACHO_SECTION
    from shaderc_tool.emit.bundle import EmbedTarget
    from shaderc_tool.emit.loader import MetalBundle
    from shaderc_tool.emit.payload import Payload

    target, output = embed.target, embed.output
    name = embed.payload.rsplit("/", 1)[-1]
    payload = Payload(
        output.symbol,
        session.folder.path(embed.payload).read_bytes(),
        name if embed.is_source else f"../{name}",
    )
    bundle = MetalBundle(
        embed.pack,
        payload,
        _functions(embed),
        is_source=embed.is_source,
        macros=dict(embed.units[0].defines) if embed.is_source else None,
        language=_language(embed) if embed.is_source else "",
        fast_math=embed.is_source and embed.units[0].math == "fast",
        module=_module(session.whole, embed),
    )
    section = output.section or MACHO_SECTION
    where = EmbedTarget(target.sdk, target.min_os, target.sdk_version, (), section, output.private_extern)
    return bundle, where


# --- all of them


def _framework(session: Session, output: Output, slices: list[Embed], digests: Mapping[str, str]) -> list[ActionRecord]:
    """Every slice, also those of targets that this build was not asked for, as they were built before."""
    payloads = {embed.target.name: digests.get(embed.payload) or _earlier(session, embed) for embed in slices}
    absent = [name for name, digest in payloads.items() if not digest]
    if absent:
        session.progress.note(f"{output.name}.xcframework is not made: {', '.join(absent)} is not built")
        return []
    parts = {
        embed.target.name: "\n".join(_parts(session.whole, embed, payloads[embed.target.name]).values())
        for embed in slices
    }
    package = Package(session, "xcframework", output.targets[0], {"name": output.name, **parts})
    kept = package.kept()
    if kept is not None:
        return kept
    _require_llvmlite(slices[0])
    from shaderc_tool.emit.bundle import embed_xcframework

    files = embed_xcframework(output.name, [_slice(session, embed) for embed in slices])
    return package.write({f"{output.name}.xcframework/{name}": data for name, data in files.items()})


def _earlier(session: Session, embed: Embed) -> str:
    """The digest of the payload of a target that this build was not asked for; empty when it is not in place."""
    known = session.state.outputs.get(embed.payload)
    if known is None or embed.target.name in session.manifest.targets:
        return ""
    return str(known["sha256"]) if session.output_signature(embed.payload) == known["signature"] else ""


def _require_llvmlite(embed: Embed) -> None:
    if importlib.util.find_spec("llvmlite") is None:
        raise ToolMissingError(
            Diagnostic(
                "SP2006",
                f"no object can be written for the target «{embed.target.name}»",
                embed.output.place,
                cause="the objects of an embed bundle are made by LLVM, and llvmlite is not installed",
                fix="run `pip install 'shaderpack[metal]'`",
                subject=embed.target.name,
            )
        )


def _remember(session: Session, wanted: list[Embed], digests: Mapping[str, str]) -> None:
    """Keep the digests for audits, which tell an older payload from one that was never built here."""
    try:
        before: dict[str, str] = json.loads(session.folder.path(HISTORY).read_text("utf-8"))
    except (OSError, ValueError):
        before = {}
    now = {digests[e.payload]: e.output.symbol for e in wanted if e.payload in digests}
    session.folder.write(HISTORY, json.dumps({**before, **now}, indent=1).encode())


# --- Xcode


def _xcode(session: Session, wanted: list[Embed]) -> list[ActionRecord]:
    """The build phase and its file lists; one set for all targets, since one Xcode target builds for all."""
    compiled = {file for unit in session.whole.metal for file in session.index.closure(unit.file).files}
    inputs = sorted(compiled.union(*(_merged_files(session, embed) for embed in wanted)))
    bundles = {embed.target.sdk: embed for embed in wanted}
    manifest = Path(os.path.relpath(session.request.manifest, session.whole.root)).as_posix()
    parts = {
        "manifest": manifest,
        "inputs": "\n".join(inputs),
        "bundles": "\n".join(f"{sdk} {e.target.name} {e.output.symbol} {e.payload}" for sdk, e in bundles.items()),
    }
    mine = next(embed.target.name for embed in wanted if embed.target.name in session.manifest.targets)
    package = Package(session, "xcode", mine, parts)
    kept = package.kept()
    if kept is not None:
        return kept
    from shaderc_tool.emit.xcode import PhaseBundle, xcode_phase

    phases = [PhaseBundle(sdk, embed.target.name, embed.output.symbol, embed.payload) for sdk, embed in bundles.items()]
    files = xcode_phase(session.whole.pack, manifest, inputs, phases)
    return package.write({f"xcode/{name}": data for name, data in files.items()})


def _merged_files(session: Session, embed: Embed) -> set[str]:
    """The files that the merged source was made from: a substitution or a marker leads to more than includes do."""
    known = session.state.outputs.get(embed.merged, {"parts": {}})
    asked = (line.partition("=") for line in known["parts"].get("sources", "").splitlines())
    return {path for path, _, digest in asked if digest}
