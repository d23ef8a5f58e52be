"""The `outputs:` part of a manifest: nodes whose shape is sound to frozen requests."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from shaderc_tool.diagnostics import Diagnostic
from shaderc_tool.manifest.audit_keys import Found, Inside, unknown_target
from shaderc_tool.manifest.model import MetalUnit, Output, Target
from shaderc_tool.manifest.nodes import Node

_KEYS = {
    "storage": ("c-header",),
    "payload": ("embed",),
    "symbol": ("embed",),
    "section": ("embed",),
    "private_extern": ("embed",),
    "substitutions": ("embed",),
    "std": ("embed",),
    "name": ("xcframework",),
}
"""The kinds that each key belongs to. `kind` and `target` belong to all."""


def load_outputs(
    nodes: Iterable[Node],
    targets: dict[str, Target],
    units: Collection[MetalUnit],
    pack: str,
    inside: Inside,
    found: Found,
) -> tuple[Output, ...]:
    """The requests of a sound `outputs:` list; what is wrong with targets, keys and paths is added to `found`."""
    outputs = tuple(_output(node, targets, pack.replace("-", "_"), inside, found) for node in nodes)
    _check_kernels(outputs, targets, {unit.target for unit in units}, found)
    _check_once(outputs, found)
    _check_slices(outputs, found)
    return outputs


def _output(entry: Node, targets: dict[str, Target], pack: str, inside: Inside, found: Found) -> Output:
    kind = entry["kind"].string()
    _check_keys(entry, kind, found)
    _check_targets(entry, kind, targets, found)
    substitutions = entry.get("substitutions")

    def text(key: str, default: str = "") -> str:
        value = entry.get(key)
        return value.string() if value else default

    paths = ((name, inside(node)) for name, node in (substitutions.pairs() if substitutions else ()))
    stds = entry.get("std")
    payload = text("payload", "metallib")
    return Output(
        kind,
        entry["target"].texts(),
        entry.place,
        storage=text("storage", "incbin"),
        payload=payload,
        # With the pack's name in front, two packs link into one program.
        symbol=text("symbol", f"{pack}_{payload}" if kind == "embed" else ""),
        name=text("name", pack[:1].upper() + pack[1:] if kind == "xcframework" else ""),
        private_extern=text("private_extern") == "true",
        section=text("section"),
        substitutions=tuple((name, path) for name, path in paths if path is not None),
        stds=stds.texts() if stds else (),
    )


def _check_keys(entry: Node, kind: str, found: Found) -> None:
    for key, kinds in _KEYS.items():
        if entry.get(key) is not None and kind not in kinds:
            found.append(
                Diagnostic(
                    "SP1002",
                    f"«{key}» does not apply to an output of the kind {kind}",
                    entry.key_places[key],
                    cause=f"it belongs to {', '.join(kinds)}",
                    fix="remove it",
                    subject=key,
                )
            )


def _check_targets(entry: Node, kind: str, targets: dict[str, Target], found: Found) -> None:
    api = "vulkan" if kind == "c-header" else "metal"
    for name in entry["target"].texts():
        target = targets.get(name)
        if target is None:
            found.append(unknown_target(name, entry["target"].place, targets))
        elif target.api != api:
            found.append(
                Diagnostic(
                    "SP1011",
                    f"a {kind} cannot be made for the {target.api} target «{name}»",
                    entry["target"].place,
                    cause=f"it needs a {api} target",
                    fix="name another target",
                    subject=name,
                )
            )


def _check_kernels(outputs: Iterable[Output], targets: dict[str, Target], used: Collection[str], found: Found) -> None:
    """A bundle without a kernel would be left out without a word."""
    for output in outputs:
        for name in output.targets if output.kind == "embed" else ():
            if name in targets and targets[name].api == "metal" and name not in used:
                found.append(
                    Diagnostic(
                        "SP1013",
                        f"the embed bundle for the target «{name}» has no kernel",
                        output.place,
                        cause="no kernel of the manifest is built for this target",
                        fix="add the target to a kernel, or remove it from the output",
                        subject=name,
                    )
                )


def _check_once(outputs: Iterable[Output], found: Found) -> None:
    """One embed bundle a target, and one xcframework of a name: their files would overwrite each other."""
    first: dict[tuple[str, str], Output] = {}
    for output in outputs:
        for name in {"embed": output.targets, "xcframework": (output.name,)}.get(output.kind, ()):
            before = first.setdefault((output.kind, name), output)
            if before is not output:
                what = "embed bundle" if output.kind == "embed" else "xcframework"
                found.append(
                    Diagnostic(
                        "SP1010",
                        f"«{name}» has two outputs of the kind {what}",
                        output.place,
                        cause=f"the first is asked for at {before.place}",
                        fix="keep one",
                        subject=name,
                    )
                )


def _check_slices(outputs: tuple[Output, ...], found: Found) -> None:
    """An xcframework holds embed bundles, so each of its targets needs one."""
    embedded = {name for output in outputs if output.kind == "embed" for name in output.targets}
    for output in outputs:
        for name in output.targets if output.kind == "xcframework" else ():
            if name not in embedded:
                found.append(
                    Diagnostic(
                        "SP1011",
                        f"the xcframework {output.name} needs an embed bundle for the target «{name}»",
                        output.place,
                        cause="its slices are the objects of the embed bundles",
                        fix=f"add `- {{kind: embed, target: [{name}]}}` to outputs",
                        subject=name,
                    )
                )
