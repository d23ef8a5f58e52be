"""What is in an artifact: Metal libraries, AIR, SPIR-V, images, archives and wheels described as values.

Nothing here raises for damaged content: what cannot be read becomes a `Fault` with its place in the file.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import mmap
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shaderc_tool.audit.payloads import Payload, find_payloads, source_payload
from shaderc_tool.diagnostics import Diagnostic, Place, Severity, ShaderpackError
from shaderc_tool.formats import containers
from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.images import KINDS, Section, Symbol, read_image
from shaderc_tool.formats.metallib import Library, read_library
from shaderc_tool.formats.metallib_lint import Finding, lint_library
from shaderc_tool.formats.spirv import Module, read_module
from shaderc_tool.formats.spirv_scan import find_modules

if TYPE_CHECKING:
    from shaderc_tool.formats.air import AirModule

MAX_UNPACKED: Final = 512 << 20
"""Bytes that the members of a zip file may unpack to, all together; they are held in memory."""

MAX_SOURCE: Final = 4 << 20
"""Bytes of a `.metal` file that is parsed."""

MAX_FILES: Final = 10_000
"""Files of a folder that are looked at."""

_NESTING: Final = 3
_HEAD: Final = 20
"""Bytes that tell the kind of a file."""
_ZIP_ERRORS: Final = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
)
"""What zipfile raises for damaged, encrypted and oddly compressed members."""
_FINDING_CODES: Final = {
    "no-functions": ("SP4024", Severity.ERROR),
    "duplicate-function": ("SP4004", Severity.ERROR),
    "bad-hash": ("SP4002", Severity.ERROR),
}


@dataclass(frozen=True)
class Fault:
    """Something that cannot be read; `offset` is its place in the described file, -1 when there is none."""

    message: str
    offset: int = -1


@dataclass(frozen=True)
class LibraryReport:
    """A Metal library and where it was found: `where` names a slice, member or section."""

    library: Library
    offset: int
    size: int
    where: str = ""
    findings: tuple[Finding, ...] = ()
    sha256: str = ""


@dataclass(frozen=True)
class ShaderReport:
    """A SPIR-V module and where it was found."""

    module: Module
    offset: int
    size: int
    sha256: str = ""


@dataclass(frozen=True)
class Description:
    """One artifact. `kind` is a result of `containers.detect`, empty when unknown; offsets count from its first byte.

    `bitcode` is an AIR file's content, `defined` are the external symbols of an image, `strong` those of which there
    may be only one. `platform` and `min_os` are a Mach-O file's. `members` are those of an archive, fat file, zip or
    folder that hold something that can be described.
    """

    name: str
    kind: str
    size: int
    architecture: str = ""
    libraries: tuple[LibraryReport, ...] = ()
    shaders: tuple[ShaderReport, ...] = ()
    air: AirModule | None = None
    bitcode: bytes | memoryview = b""
    sections: tuple[Section, ...] = ()
    defined: tuple[str, ...] = ()
    strong: tuple[str, ...] = ()
    payloads: tuple[Payload, ...] = ()
    platform: str = ""
    min_os: tuple[int, ...] = ()
    members: tuple[Description, ...] = ()
    faults: tuple[Fault, ...] = ()

    def walk(self) -> Iterator[Description]:
        """This description and all below it."""
        yield self
        for member in self.members:
            yield from member.walk()

    @property
    def symbols(self) -> tuple[str, ...]:
        """Every name that a program could look up: defined symbols, functions of libraries, AIR and embedded source,
        payloads that are whole shaders, and the name of a SPIR-V file, whose entry points are nearly all `main`."""
        names: set[str] = set()
        for part in self.walk():
            names.update(part.defined)
            names.update(f.name for report in part.libraries for f in report.library.functions)
            if part.air:
                names.update(entry.name for entry in part.air.entry_points)
            for payload in part.payloads:
                names.update(kernel.name for kernel in payload.kernels)
                if payload.kind:
                    names.add(payload.name)
            if part.kind == "spirv" and part.shaders:
                names.add(Path(part.name).stem)
                names.update(entry.name for entry in part.shaders[0].module.entry_points)
        return tuple(sorted(names - {""}))


def describe_bytes(data: bytes | memoryview, name: str) -> Description:
    """Describe an artifact in memory. AIR and images are parsed by LLVM and lief."""
    return _describe(memoryview(data).cast("B"), name, _NESTING)


def describe_file(path: Path) -> Description:
    """Describe a file, which is mapped and not copied, or all files of a folder such as an xcframework.

    Raises ShaderpackError when it cannot be opened.
    """
    if path.is_dir():
        return _describe_folder(path)
    try:
        if not path.stat().st_size:
            return Description(str(path), "", 0)
        with path.open("rb") as file:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ShaderpackError(
            Diagnostic(
                "SP4009",
                f"{path} cannot be opened",
                Place(str(path)),
                cause=reason,
                fix="give the path of an artifact that is there and can be read",
                subject=str(path),
            )
        ) from error
    return describe_bytes(data, str(path))


def _describe_folder(folder: Path) -> Description:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    members = [describe_file(path) for path in files[:MAX_FILES]]
    faults = (Fault(f"only the first {MAX_FILES} files are looked at"),) if len(files) > MAX_FILES else ()
    known = tuple(member for member in members if member.kind)
    return Description(str(folder), "folder", sum(m.size for m in members), members=known, faults=faults)


def describe_path(path: Path) -> tuple[Description | None, list[Diagnostic]]:
    """A file's description and everything that is wrong with it: what cannot be read, and the lints."""
    try:
        description = describe_file(path)
    except ShaderpackError as error:
        return None, list(error.diagnostics)
    return description, [*fault_diagnostics(description), *finding_diagnostics(description)]


def fault_diagnostics(description: Description) -> list[Diagnostic]:
    """SP4002 for each part that cannot be read, SP4009 for a file of unknown kind."""
    if not description.kind:
        return [
            Diagnostic(
                "SP4009",
                f"{description.name} is none of the kinds of file that can be inspected",
                Place(description.name),
                cause=f"its {description.size} bytes start like no known format" if description.size else "it is empty",
                fix="give a metallib, AIR, SPIR-V, .metal, Mach-O, ELF, PE/COFF, static archive, zip, wheel or folder",
                subject=description.name,
            )
        ]
    return [
        Diagnostic(
            "SP4002",
            f"{part.name}: {fault.message}" + (f" (at byte {fault.offset:#x})" if fault.offset >= 0 else ""),
            Place(description.name),
            cause="the file was cut, overwritten or written by a tool that breaks the format",
            fix="build the artifact again",
            subject=part.name,
        )
        for part in description.walk()
        for fault in part.faults
    ]


def finding_diagnostics(description: Description) -> list[Diagnostic]:
    """The lints of all libraries as diagnostics: errors for what the loader refuses, warnings for the rest."""
    found = []
    for part in description.walk():
        for report in part.libraries:
            for finding in report.findings:
                code, severity = _FINDING_CODES.get(finding.kind, ("SP4026", Severity.WARNING))
                found.append(
                    Diagnostic(
                        code,
                        f"{finding.message} [{finding.kind}]",
                        Place(description.name),
                        cause=f"in {part.name}" + (f" at byte {report.offset:#x}" if report.offset else ""),
                        fix=_fix(finding.kind),
                        subject=finding.function or part.name,
                        severity=severity,
                    )
                )
    return found


def _fix(kind: str) -> str:
    if kind == "leaked-path":
        return "compile from relative paths in a fixed folder, without -g and -frecord-sources"
    if kind in ("os-mismatch", "air-mismatch", "language-mismatch", "platform-mismatch"):
        return "compile every source and link the library with one and the same -target and -std"
    return "build the library again"


def with_air(report: LibraryReport, only: frozenset[str] | None = None) -> tuple[LibraryReport, dict[str, AirModule]]:
    """The report with the lints that need the bitcode, and the parsed bitcode of the functions (of `only` these).

    Functions with a wrong hash are left out, as LLVM's reader does not survive every damage.
    """
    from shaderc_tool.formats.air import read_air

    modules: dict[str, AirModule] = {}
    faults = []
    for function in report.library.functions:
        if (only is not None and function.name not in only) or not function.hash_matches():
            continue
        try:
            modules[function.name] = read_air(bytes(function.bitcode))
        except FormatError as error:
            faults.append(
                Finding("bad-bitcode", f"the bitcode of {function.name} cannot be read: {error}", function.name)
            )
    infos: Mapping[str, AirModule] = modules
    return replace(report, findings=(*lint_library(report.library, infos), *faults)), modules


def _describe(view: memoryview, name: str, depth: int) -> Description:
    kind = containers.detect(view)
    if not kind and name.rstrip(")").endswith((".metal", ".msl")) and len(view) <= MAX_SOURCE:
        payload = source_payload("", "file", 0, bytes(view))
        return Description(name, "msl", len(view), payloads=(payload,))
    bare = Description(name, kind, len(view))
    try:
        if kind == "metallib":
            return _with_libraries(bare, view)
        if kind == "air":
            return _describe_air(bare, view)
        if kind == "spirv":
            return replace(bare, shaders=(_shader(view, 0, len(view)),))
        if kind in KINDS:
            return _describe_image(bare, view)
        if kind in ("fat", "archive"):
            parts = containers.fat_slices(view) if kind == "fat" else containers.archive_members(view)
            return _with_members(bare, [(p.name, view[p.offset : p.offset + p.size]) for p in parts], depth)
        if kind == "zip":
            return _describe_zip(bare, view, depth)
    except FormatError as error:
        return replace(bare, faults=(Fault(_plain(error), error.offset),))
    return bare


def _shader(view: memoryview, offset: int, size: int) -> ShaderReport:
    data = bytes(view[offset : offset + size])
    return ShaderReport(read_module(data), offset, size, hashlib.sha256(data).hexdigest())


def _plain(error: FormatError) -> str:
    """The message without the offset, which a `Fault` keeps apart."""
    return str(error).removesuffix(f" (at byte {error.offset:#x})") if error.offset >= 0 else str(error)


def _describe_air(bare: Description, view: memoryview) -> Description:
    """LLVM's reader does not survive every damage, so a child process reads the file first."""
    from shaderc_tool.audit.air_probe import why_unreadable
    from shaderc_tool.formats.air import read_air

    why = why_unreadable(bytes(view))
    if why:
        return replace(bare, faults=(Fault(why),))
    try:
        return replace(bare, air=read_air(bytes(view)), bitcode=view)
    except ImportError:
        return replace(bare, faults=(Fault("reading AIR needs llvmlite: pip install 'shaderpack[metal]'"),))


def _describe_image(bare: Description, view: memoryview) -> Description:
    image = read_image(view, bare.kind)
    shaders, faults = [], []
    for offset, size in find_modules(view):
        try:
            shaders.append(_shader(view, offset, size))
        except FormatError as error:
            faults.append(Fault(f"SPIR-V module: {_plain(error)}", offset + max(error.offset, 0)))
    filled = replace(
        bare,
        architecture=image.architecture,
        sections=image.sections,
        defined=image.symbols,
        strong=_strong(image.places),
        payloads=find_payloads(image, view, {(s.offset, s.size) for s in shaders}),
        platform=image.platform,
        min_os=image.min_os,
    )
    return _with_libraries(replace(filled, shaders=tuple(shaders), faults=tuple(faults)), view)


def _strong(symbols: tuple[Symbol, ...]) -> tuple[str, ...]:
    return tuple(sorted({symbol.name for symbol in symbols if symbol.external and not symbol.weak}))


def _with_libraries(bare: Description, view: memoryview) -> Description:
    embedded = [containers.Embedded(0, len(view))] if bare.kind == "metallib" else containers.find_libraries(view)
    reports, faults = [], []
    for place in embedded:
        content = view[place.offset : place.offset + place.size]
        try:
            library = read_library(content)
        except FormatError as error:
            offset = place.offset + error.offset if error.offset >= 0 else -1
            faults.append(Fault(f"Metal library: {_plain(error)}", offset))
            continue
        digest = hashlib.sha256(content).hexdigest()
        found = tuple(lint_library(library))
        reports.append(LibraryReport(library, place.offset, place.size, place.where, found, digest))
    return replace(bare, libraries=tuple(reports), faults=(*bare.faults, *faults))


def _with_members(bare: Description, parts: list[tuple[str, memoryview]], depth: int) -> Description:
    if not depth:
        return replace(bare, faults=(Fault("files are nested too deep"),))
    members = [_describe(data, f"{bare.name}({name})", depth - 1) for name, data in parts]
    return replace(bare, members=tuple(m for m in members if m.kind))


def _describe_zip(bare: Description, view: memoryview, depth: int) -> Description:
    """Only members that start like a known kind are unpacked whole."""
    parts = []
    left = MAX_UNPACKED
    try:
        with zipfile.ZipFile(io.BytesIO(view)) as archive:
            for info in archive.infolist():
                if info.is_dir():
                    continue
                with archive.open(info) as file:
                    if not containers.detect(file.read(_HEAD)) and not info.filename.endswith(".metal"):
                        continue
                    file.seek(0)
                    content = file.read(left)
                left -= len(content)
                if left <= 0:
                    raise FormatError(f"the zip file unpacks to more than {MAX_UNPACKED >> 20} MiB")
                parts.append((info.filename, memoryview(content)))
    except _ZIP_ERRORS as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"the zip file cannot be read: {error}") from error
    return _with_members(bare, parts, depth)
