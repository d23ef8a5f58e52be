"""Narrow a manifest to the targets that the user asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shaderc_tool.diagnostics import Diagnostic, Place, UsageError
from shaderc_tool.manifest.model import Manifest
from shaderc_tool.manifest.shapes import did_you_mean


def select_targets(manifest: Manifest, names: Sequence[str]) -> Manifest:
    """The manifest with only these targets; all of it when `names` is empty. Raises UsageError for an unknown name."""
    if not names:
        return manifest
    unknown = [name for name in names if name not in manifest.targets]
    if unknown:
        raise UsageError(
            *(
                Diagnostic(
                    "SP1011",
                    f"there is no target «{name}»",
                    Place(manifest.file),
                    cause="--target names one of the manifest's targets",
                    fix=did_you_mean(name, manifest.targets),
                    subject=name,
                )
                for name in unknown
            )
        )
    outputs = (replace(o, targets=tuple(t for t in o.targets if t in names)) for o in manifest.outputs)
    return replace(
        manifest,
        targets={name: target for name, target in manifest.targets.items() if name in names},
        shaders=tuple(job for job in manifest.shaders if job.target in names),
        metal=tuple(unit for unit in manifest.metal if unit.target in names),
        outputs=tuple(o for o in outputs if o.targets),
    )
