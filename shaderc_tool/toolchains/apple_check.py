"""Check a linked Metal library from its bytes: platform, deployment target, language version, functions in = out.

The tools' exit status does not show any of these: a link without a deployment target takes the SDK's, a library for
another platform may load and run, and a linker may leave modules out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

from shaderc_tool.diagnostics import Diagnostic, Severity
from shaderc_tool.toolchains.apple_targets import PLATFORM_NAMES, AppleTarget, Version, show_version

SHOWN = 8
"""Names that one message lists; a library may hold thousands."""


class LibraryFunction(Protocol):
    """A function of a library; `language_version` is (major, minor, …), empty when not recorded."""

    @property
    def name(self) -> str: ...
    @property
    def language_version(self) -> Sequence[int]: ...


class MetalLibrary(Protocol):
    """What is read back. `platform` is the Mach-O number, 0 in containers that do not record it (up to 1.2.5)."""

    @property
    def platform(self) -> int: ...
    @property
    def os_version(self) -> Sequence[int]: ...
    @property
    def functions(self) -> Sequence[LibraryFunction]: ...


def check_metallib(
    library: MetalLibrary, target: AppleTarget, functions: Iterable[str], subject: str
) -> list[Diagnostic]:
    """SP4021 to SP4025 for what differs from `target` and from the `functions` that were compiled.

    `subject` names the library. A deployment target that is lower than asked for is a warning: the library loads
    everywhere it should, but something other than the manifest chose it.
    """
    found = _check_platform(library, target, subject)
    if not found:
        found = _check_min_os(library, target, subject)
    return [*found, *_check_functions(library, functions, subject), *_check_language(library, target, subject)]


def _check_platform(library: MetalLibrary, target: AppleTarget, subject: str) -> list[Diagnostic]:
    if library.platform in (0, target.platform.number):
        return []
    is_for = PLATFORM_NAMES.get(library.platform, f"platform {library.platform}")
    return [
        Diagnostic(
            "SP4021",
            f"the library is for {is_for}, the target is {target.platform.label}",
            cause="it was compiled for another target, or is left over from one",
            fix=f"compile and link with -target {target.triple}",
            subject=subject,
        )
    ]


def _check_min_os(library: MetalLibrary, target: AppleTarget, subject: str) -> list[Diagnostic]:
    recorded = _version(library.os_version)
    if recorded in (target.min_version, (0, 0, 0)):
        return []
    newer = recorded > target.min_version
    effect = (
        f"{target.platform.label} {show_version(target.min_version)} refuses to load it"
        if newer
        else "it was chosen elsewhere"
    )
    return [
        Diagnostic(
            "SP4022",
            f"the library's deployment target is {show_version(recorded)}, the manifest's is {target.min_os}",
            cause=f"the linker takes it from the first AIR file; {effect}",
            fix=f"compile every source with -target {target.triple}",
            subject=subject,
            severity=Severity.ERROR if newer else Severity.WARNING,
        )
    ]


def _check_language(library: MetalLibrary, target: AppleTarget, subject: str) -> list[Diagnostic]:
    others: dict[tuple[int, ...], list[str]] = {}
    for function in library.functions:
        language = tuple(function.language_version[:2])
        if language and language != target.language:
            others.setdefault(language, []).append(function.name)
    return [
        Diagnostic(
            "SP4023",
            f"{_names(names)} {'is' if len(names) == 1 else 'are'} in Metal {_dotted(language)}, "
            f"the target asks for {target.std}",
            cause="a source was compiled with another -std, or the file is left over from an earlier build",
            fix=f"compile every source with {target.std_flag}",
            subject=subject,
        )
        for language, names in sorted(others.items())
    ]


def _check_functions(library: MetalLibrary, functions: Iterable[str], subject: str) -> list[Diagnostic]:
    compiled = Counter(functions)
    linked = Counter(function.name for function in library.functions)
    if not linked:
        return [
            Diagnostic(
                "SP4024",
                "the library has no functions",
                cause="nothing was linked, or the linker skipped every module and reported success",
                fix="check that the sources hold kernels and that compiler and linker are of one toolchain",
                subject=subject,
            )
        ]
    lost, added = compiled - linked, linked - compiled
    if not lost and not added:
        return []
    parts = [f"lost {_names(sorted(lost.elements()))}"] if lost else []
    parts += [f"gained {_names(sorted(added.elements()))}"] if added else []
    return [
        Diagnostic(
            "SP4025",
            f"functions compiled: {compiled.total()}, in the library: {linked.total()}; it {' and '.join(parts)}",
            cause="the linker may skip modules that are newer than itself, and report success",
            fix="use compiler and linker of one toolchain, and link only the files of this build",
            subject=subject,
        )
    ]


def _version(numbers: Sequence[int]) -> Version:
    major, minor, patch = (*numbers, 0, 0, 0)[:3]
    return major, minor, patch


def _dotted(numbers: Sequence[int]) -> str:
    return ".".join(map(str, numbers))


def _names(names: Sequence[str]) -> str:
    rest = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")
