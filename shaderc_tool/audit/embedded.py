"""SP4049 to SP4052 and SP4008: are the shaders inside an image the ones that the last build made?

A payload is found by its pair of symbols, its section or a scan, and told apart by its digest, never by its name: the
name only says that these bytes should have been the pack's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from shaderc_tool.audit.artifacts import Description
from shaderc_tool.diagnostics import Diagnostic, Place, Severity
from shaderc_tool.manifest.embeds import embeds
from shaderc_tool.manifest.model import Manifest

_MADE_ELSEWHERE = (".air", ".spv", ".metallib")
"""Endings of outputs that other rules compare."""
_MOST_NAMES = 16


@dataclass(frozen=True)
class Known:
    """What a build made. `current` is the output by SHA-256, `symbols` are those that payloads of the pack have,
    `kernels` the functions of its libraries, `earlier` the SHA-256 of older payloads."""

    pack: str
    current: Mapping[str, str]
    symbols: AbstractSet[str]
    kernels: AbstractSet[str]
    earlier: AbstractSet[str]


@dataclass(frozen=True)
class _Shader:
    """One payload of an image. Without a symbol its `name` says where it was found."""

    name: str
    sha256: str
    kernels: frozenset[str]
    problem: str = ""


def known_payloads(manifest: Manifest, folder: Path, digests: Mapping[str, str]) -> Known:
    """What the last build in `folder` made; `digests` are the SHA-256 of its outputs."""
    wanted = embeds(manifest)
    outputs = [job.output for job in manifest.shaders]
    outputs += [path for embed in wanted for path in (embed.merged, embed.payload)]
    outputs += [f"{target}/default.metallib" for target in manifest.targets]
    try:
        history = set(json.loads((folder / ".shaderpack/payloads.json").read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        history = set()
    return Known(
        manifest.pack,
        {digests[output]: output for output in outputs if output in digests},
        {job.symbol for job in manifest.shaders} | {embed.output.symbol for embed in wanted},
        {function.name for unit in manifest.metal for function in unit.functions},
        history,
    )


def bundles_of(manifest: Manifest, digests: Mapping[str, str]) -> list[str]:
    """The static libraries and xcframeworks whose payloads are among `digests`, below the pack's folder."""
    made = {e.target.name: f"{e.folder}/lib{e.output.symbol}.a" for e in embeds(manifest) if e.payload in digests}
    frameworks = [
        f"{output.name}.xcframework"
        for output in manifest.outputs
        if output.kind == "xcframework" and made.keys() >= set(output.targets)
    ]
    return [path for path in made.values() if path in digests] + frameworks


def check_packaged(folder: Path, digests: Mapping[str, str]) -> list[Diagnostic]:
    """Every packaged file is there and has the bytes that the build recorded."""
    found = []
    for output, recorded in digests.items():
        if output.endswith(_MADE_ELSEWHERE):
            continue
        path = folder / output
        if not path.is_file():
            found.append(_stale(output, "it is not there"))
        elif hashlib.sha256(path.read_bytes()).hexdigest() != recorded:
            found.append(_stale(output, "its SHA-256 differs from report.json"))
    return found


def check_embedded(description: Description, known: Known, notes: bool = True) -> list[Diagnostic]:
    """Compare every payload of an image, archive, framework or folder with the build.

    An image without any payload of the pack is an error, as is each slice of an xcframework. With `notes`, current and
    foreign payloads are named, too.
    """
    found: list[Diagnostic] = []
    is_framework = description.kind == "folder" and description.name.rstrip("/").endswith(".xcframework")
    for image in description.members if is_framework else (description,):
        mine = 0
        for part in image.walk():
            shaders = list(_shaders(part))
            current = [s for s in shaders if s.sha256 in known.current]
            stale = [s for s in shaders if s not in current and _is_the_packs(s, known)]
            foreign = [s for s in shaders if s not in current and s not in stale]
            mine += len(current) + len(stale)
            found += [_another_build(part, s, known) for s in stale]
            if notes and current:
                found.append(_note("SP4052", part, current, f"the current shaders of the pack {known.pack}"))
            if notes and foreign:
                found.append(_note("SP4050", part, foreign, f"shaders that are not of the pack {known.pack}"))
        if not mine:
            found.append(_nothing(image, known))
    return found


def _shaders(part: Description) -> Iterator[_Shader]:
    """The payloads of one image, each place once, a symbol before a scan."""
    libraries = {report.offset: report for report in part.libraries}
    modules = {report.offset: report for report in part.shaders}
    for payload in part.payloads:
        library, module = libraries.pop(payload.offset, None), modules.pop(payload.offset, None)
        kernels = frozenset(kernel.name for kernel in payload.kernels)
        if library:
            kernels = frozenset(function.name for function in library.library.functions)
        digest = next((known.sha256 for known in (library, module) if known), payload.sha256)
        yield _Shader(payload.name or f"byte {payload.offset:#x}", digest, kernels, payload.problem)
    for library in libraries.values():
        kernels = frozenset(function.name for function in library.library.functions)
        yield _Shader(library.where or f"byte {library.offset:#x}", library.sha256, kernels)
    for module in modules.values():
        yield _Shader(f"byte {module.offset:#x}", module.sha256, frozenset())


def _is_the_packs(shader: _Shader, known: Known) -> bool:
    return shader.name in known.symbols or not known.kernels.isdisjoint(shader.kernels)


def _another_build(part: Description, shader: _Shader, known: Known) -> Diagnostic:
    cause = "its bytes are none that a build in this output folder has embedded"
    if shader.problem:
        cause = shader.problem
    elif shader.sha256 in known.earlier:
        cause = f"it is an older build; its SHA-256 is {shader.sha256}"
    return Diagnostic(
        "SP4049",
        f"{part.name}: {shader.name} is not what the last build made",
        Place(part.name),
        cause=cause,
        fix="link it again with the current bundle, or build the pack that it was linked with",
        subject=shader.name,
    )


def _note(code: str, part: Description, shaders: list[_Shader], what: str) -> Diagnostic:
    names = ", ".join(shader.name for shader in shaders[:_MOST_NAMES])
    more = f" and {len(shaders) - _MOST_NAMES} more" if len(shaders) > _MOST_NAMES else ""
    return Diagnostic(
        code,
        f"{part.name} holds {what}: {names}{more}",
        Place(part.name),
        cause="compared by SHA-256 with the last build",
        fix="nothing needs to be done",
        subject=part.name,
        severity=Severity.NOTE,
    )


def _nothing(image: Description, known: Known) -> Diagnostic:
    return Diagnostic(
        "SP4051",
        f"{image.name} holds no shaders of the pack {known.pack}",
        Place(image.name),
        cause="neither its symbols, sections nor a scan lead to a payload of the pack",
        fix="link the bundle into it; a linker drops a static library that nothing refers to",
        subject=image.name,
    )


def _stale(output: str, cause: str) -> Diagnostic:
    return Diagnostic(
        "SP4008",
        f"{output} is not what the last build made",
        Place(output),
        cause=cause,
        fix="build again; do not edit or replace outputs",
        subject=output,
    )
