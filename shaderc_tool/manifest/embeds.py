"""The embed bundles of a manifest: one for each `embed` output and target, with the paths of its files."""

from __future__ import annotations

from dataclasses import dataclass

from shaderc_tool.manifest.model import Manifest, MetalFunction, MetalUnit, Output, Target


@dataclass(frozen=True)
class Embed:
    """One bundle. Paths are below `OUT/<pack>/`."""

    pack: str
    output: Output
    target: Target
    units: tuple[MetalUnit, ...]

    @property
    def folder(self) -> str:
        return f"{self.target.name}/embed"

    @property
    def merged(self) -> str:
        """The merged source. Its name does not end in `.metal`: Xcode compiles every file that does."""
        return f"{self.folder}/{self.pack}.msl"

    @property
    def payload(self) -> str:
        """The file whose bytes are embedded."""
        return self.merged if self.is_source else f"{self.target.name}/default.metallib"

    @property
    def is_source(self) -> bool:
        return self.output.payload == "source"

    @property
    def stds(self) -> tuple[str, ...]:
        """The language versions that the merged source is compiled at."""
        return self.output.stds or (self.target.std,)

    def listing(self, std: str) -> str:
        """The file that lists the kernels of the merged source at a language version, a name on each line."""
        return f"{self.folder}/{self.pack}-{std}.kernels"

    def required(self, std: str) -> list[MetalFunction]:
        """The declared functions that a compile at `std` must give."""
        return [f for unit in self.units for f in unit.functions if f.is_wanted(std)]


def embeds(manifest: Manifest) -> list[Embed]:
    """Every embed bundle of the manifest's targets, in the order of its outputs."""
    return [
        Embed(manifest.pack, output, manifest.targets[name], tuple(u for u in manifest.metal if u.target == name))
        for output in manifest.outputs
        if output.kind == "embed"
        for name in output.targets
        if name in manifest.targets
    ]
