"""An embed bundle: one payload for one Apple platform as assembler, objects, static library and loader."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shaderc_tool.emit.archive import Member, darwin_archive
from shaderc_tool.emit.assembler import MACHO_SECTION, assembler
from shaderc_tool.emit.loader import MetalBundle, metal_loader
from shaderc_tool.emit.objects import object_symbols, write_object
from shaderc_tool.emit.payload import Naming
from shaderc_tool.emit.targets import PLATFORMS, ObjectTarget
from shaderc_tool.emit.xcframework import LibrarySlice, xcframework
from shaderc_tool.formats.depfile import write_depfile


@dataclass(frozen=True)
class EmbedTarget:
    """Where a bundle is linked: a key of `PLATFORMS`, versions, architectures (all of the platform's when empty).

    `section` is `SEGMENT,section`; `private_extern` hides the symbols outside the linked image.
    """

    platform: str
    min_os: str
    sdk: str = ""
    archs: tuple[str, ...] = ()
    section: str = MACHO_SECTION
    private_extern: bool = False

    def objects(self) -> dict[str, ObjectTarget]:
        """The object target of each architecture. ValueError for what `ObjectTarget` refuses."""
        archs = self.archs or PLATFORMS[self.platform].archs
        return {arch: ObjectTarget(self.platform, arch, self.min_os, self.sdk) for arch in archs}


def embed_bundle(bundle: MetalBundle, target: EmbedTarget) -> dict[str, bytes]:
    """The files of `<target>/embed/`, by name.

    `<symbol>.S` and its depfile, `<symbol>-<arch>.o`, `lib<symbol>.a` (universal for several architectures), header and
    loaders. The payload's path is relative to that folder. The same arguments give the same bytes. Raises ValueError
    as `ObjectTarget` and `write_object` do.
    """
    payload, symbol = bundle.payload, bundle.payload.symbol
    text = assembler(bundle.pack, [payload], Naming.START_END, target.section, target.private_extern)
    files = {
        f"{symbol}.S": text.encode(),
        f"{symbol}.S.d": write_depfile(f"{symbol}.S.o", [f"{symbol}.S", payload.path]).encode(),
    }
    members = _members(bundle, target)
    files |= {member.name: member.data for member in members.values()}
    files[f"lib{symbol}.a"] = _slice(bundle, target, members).library
    return files | {name: loader.encode() for name, loader in metal_loader(bundle).items()}


def embed_xcframework(name: str, slices: Iterable[tuple[MetalBundle, EmbedTarget]]) -> dict[str, bytes]:
    """The files of `<name>.xcframework`, by path inside it: a slice for each platform with the payload made for it.

    A C or Swift module called `name` declares the payload and the loader; the loader's source is compiled by the app.
    Raises ValueError as `xcframework` does.
    """
    return xcframework(name, [_slice(bundle, target, _members(bundle, target)) for bundle, target in slices])


def _members(bundle: MetalBundle, target: EmbedTarget) -> dict[str, Member]:
    """The object of each architecture as an archive member."""
    members = {}
    for arch, where in target.objects().items():
        data = write_object(
            where,
            [bundle.payload],
            section=target.section,
            private_extern=target.private_extern,
        )
        symbols = object_symbols(where, [bundle.payload], Naming.START_END)
        members[arch] = Member(f"{bundle.payload.symbol}-{arch}.o", data, symbols)
    return members


def _slice(bundle: MetalBundle, target: EmbedTarget, members: dict[str, Member]) -> LibrarySlice:
    headers = {name: text.encode() for name, text in metal_loader(bundle).items() if name.endswith(".h")}
    archives = {arch: darwin_archive([member]) for arch, member in members.items()}
    return LibrarySlice(target.platform, archives, headers)
