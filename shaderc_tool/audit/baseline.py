"""Baselines: the kernels of some artifacts as JSON, and what changed between two of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from shaderc_tool.audit.artifacts import Description, describe_file
from shaderc_tool.audit.kernels import Interface, Kernel, list_kernels
from shaderc_tool.diagnostics import Diagnostic, Place, UsageError

SCHEMA: Final = 1
KIND: Final = "shaderpack-baseline"

Key = tuple[str, str, str]
"""Name, form and place of a kernel; see `_key`."""


@dataclass(frozen=True)
class Snapshot:
    """The kernels of some artifacts, and the size in bytes of each file."""

    kernels: tuple[Kernel, ...]
    sizes: Mapping[str, int]

    def value(self) -> dict[str, Any]:
        """As JSON data, sorted, so that two baselines can be compared as text."""
        return {
            "kind": KIND,
            "schema": SCHEMA,
            "sizes": dict(sorted(self.sizes.items())),
            "kernels": [kernel.value() for kernel in self.kernels],
        }

    def text(self) -> str:
        return json.dumps(self.value(), indent=1, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class Change:
    """One kernel that is in both snapshots and differs. `what` names the parts of the interface that do."""

    name: str
    artifact: str
    what: tuple[str, ...]
    before: Kernel
    after: Kernel

    @property
    def is_interface(self) -> bool:
        return bool(self.what)


@dataclass(frozen=True)
class Difference:
    """What changed from one snapshot to another; `sizes` are (file, before, after) of files that differ in size."""

    added: tuple[Kernel, ...]
    removed: tuple[Kernel, ...]
    changed: tuple[Change, ...]
    sizes: tuple[tuple[str, int, int], ...]

    @property
    def is_empty(self) -> bool:
        return not (self.added or self.removed or self.changed or self.sizes)


def take(descriptions: Sequence[Description], root: Path | None = None, *, arguments: bool = True) -> Snapshot:
    """The snapshot of described artifacts; names are relative to `root`. `arguments` reads the bitcode, too."""
    prefix = f"{root.as_posix().rstrip('/')}/" if root else ""
    kernels = [_renamed(kernel, prefix) for kernel in list_kernels(descriptions, arguments=arguments)]
    files = [part for d in descriptions for part in (d.members if d.kind == "folder" else (d,))]
    return Snapshot(tuple(kernels), {part.name.removeprefix(prefix): part.size for part in files})


def load(path: Path) -> Snapshot:
    """A baseline file, or the snapshot of an artifact or folder. Raises UsageError for a damaged baseline and
    ShaderpackError for what cannot be opened."""
    if path.suffix != ".json":
        return take([describe_file(path)], path if path.is_dir() else path.parent)
    try:
        data = json.loads(path.read_text("utf-8"))
        if data["kind"] != KIND or data["schema"] != SCHEMA:
            raise ValueError(f"it is no baseline of schema {SCHEMA}")
        kernels = tuple(
            Kernel(k["name"], k["artifact"], k["form"], k["target"], int(k["size"]), k["sha256"], "", k["interface"])
            for k in data["kernels"]
        )
        return Snapshot(kernels, {str(name): int(size) for name, size in data["sizes"].items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            Diagnostic(
                "SP1014",
                f"{path} is not a baseline that can be read",
                Place(str(path)),
                cause=f"{type(error).__name__}: {error}",
                fix="write one with `shaderpack audit FILE… --write-baseline BASELINE.json`",
                subject=str(path),
            )
        ) from error


def compare(before: Snapshot, after: Snapshot) -> Difference:
    """What changed. A kernel that moved to another file is the same kernel when its name is there once."""
    old, new = _by_key(before.kernels), _by_key(after.kernels)
    single = len(before.sizes) == len(after.sizes) == 1
    if single or not _share_files(before, after):
        old, new = _by_name(before.kernels), _by_name(after.kernels)
    changed = []
    for key in sorted(old.keys() & new.keys()):
        what = tuple(sorted(_different(old[key].interface, new[key].interface)))
        if what or old[key].sha256 != new[key].sha256:
            changed.append(Change(new[key].name, new[key].artifact, what, old[key], new[key]))
    return Difference(
        tuple(new[key] for key in sorted(new.keys() - old.keys())),
        tuple(old[key] for key in sorted(old.keys() - new.keys())),
        tuple(changed),
        tuple(_sizes(before.sizes, after.sizes, single)),
    )


def _share_files(before: Snapshot, after: Snapshot) -> bool:
    return not {k.artifact for k in before.kernels}.isdisjoint(k.artifact for k in after.kernels)


def _by_key(kernels: Iterable[Kernel]) -> dict[Key, Kernel]:
    return {(k.name, k.form, k.artifact): k for k in kernels}


def _by_name(kernels: Iterable[Kernel]) -> dict[Key, Kernel]:
    return {(k.name, k.form, ""): k for k in kernels}


def _sizes(before: Mapping[str, int], after: Mapping[str, int], single: bool) -> Iterable[tuple[str, int, int]]:
    if single:
        (old,), ((name, new),) = before.values(), after.items()
        rows = [(name, old, new)]
    else:
        rows = [(name, before.get(name, 0), after.get(name, 0)) for name in sorted(before.keys() | after.keys())]
    return [row for row in rows if row[1] != row[2]]


def _different(before: Interface, after: Interface) -> set[str]:
    """The parts that differ; a part that one snapshot did not read is not compared."""
    if not before or not after:
        return set()
    plain = json.loads(json.dumps([before, after]))
    return {part for part in before.keys() | after.keys() if plain[0].get(part) != plain[1].get(part)}


def _renamed(kernel: Kernel, prefix: str) -> Kernel:
    return Kernel(
        kernel.name, kernel.artifact.removeprefix(prefix), kernel.form, kernel.target, kernel.size, kernel.sha256,
        kernel.unit, kernel.interface,
    )  # fmt: skip
