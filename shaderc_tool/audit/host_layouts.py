"""Layouts of the records of a C or C++ header, as the clang of the `ziglang` wheel lays them out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from shaderc_tool.audit.layouts import Layout, parse_record_layouts
from shaderc_tool.build.process import ProcessRunner
from shaderc_tool.diagnostics import Diagnostic, Place, Severity

_TRIPLE: Final = "arm64-apple-macosx14.0"
"""LP64 with natural alignment, as every host of these shaders has it."""
_SECONDS: Final = 60.0


def read_host_layouts(
    root: Path, header: str, place: Place, folders: Iterable[str] = ()
) -> tuple[dict[str, Layout], list[Diagnostic]]:
    """The records of `header` (relative to `root`) by name. What keeps them from being read is SP4066."""
    from shaderc_tool.msl.clang import clang_program

    program = clang_program()
    if program is None:
        why, fix = "clang is not installed", "pip install 'shaderpack[metal]'"
        return {}, [_cannot(header, place, why, fix, Severity.WARNING)]
    if not (root / header).is_file():
        return {}, [_cannot(header, place, "the file is not there", "correct the path; it is relative to the manifest")]
    includes = [program.parent / "lib/include"]
    argv = [str(program), "clang", "-cc1", "-triple", _TRIPLE, "-x", "c++", "-std=c++17", "-ffreestanding"]
    argv += ["-fsyntax-only", "-fdump-record-layouts-complete", "-w"]
    for folder in folders:
        argv += ["-I", str(root / folder)]
    argv += [part for path in includes for part in ("-internal-isystem", str(path))]
    run = ProcessRunner().run([*argv, header], cwd=root, timeout=_SECONDS)
    if not run.ok:
        first = run.stderr.decode("utf-8", "replace").strip().splitlines()[:1]
        why = first[0] if first else f"clang {run.how_it_ended()}"
        return {}, [_cannot(header, place, why, "make the header compile on its own, without a system's headers")]
    return parse_record_layouts(run.stdout.decode("utf-8", "replace")), []


def _cannot(header: str, place: Place, why: str, fix: str, severity: Severity = Severity.ERROR) -> Diagnostic:
    return Diagnostic(
        "SP4066",
        f"the structs of {header} cannot be read",
        place,
        cause=why,
        fix=fix,
        subject=header,
        severity=severity,
    )
