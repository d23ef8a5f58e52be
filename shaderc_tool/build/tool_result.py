"""What a tool's end means: exit status, output file and text, all three (peers.md T1)."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from shaderc_tool.build.process import Completed
from shaderc_tool.diagnostics import Diagnostic, Place, Severity
from shaderc_tool.manifest.model import ShaderJob

_GLSLC = re.compile(r"(?P<file>[^\n]*?):(?P<line>\d+): (?P<kind>error|warning): (?P<text>.*)")
_GLSLC_BARE = re.compile(r"(?P<file>[^\n:]+): (?P<kind>error|warning): (?P<text>.*)")
_GLSLANG_BARE = re.compile(r"(?P<kind>ERROR|WARNING): (?P<text>Linking .*)")
_GLSLANG = re.compile(r"(?P<kind>ERROR|WARNING): (?P<file>[^\n]*?):(?P<line>\d+): (?P<text>.*)")
_MISSING_INCLUDE = re.compile(r"Cannot find or open include file|could not process include directive", re.I)


def from_tool_text(done: Completed, root: Path, subject: str, family: str) -> list[Diagnostic]:
    """The compiler's messages as diagnostics, paths relative to `root`; repeated ones once."""
    text = (done.stderr + b"\n" + done.stdout).decode("utf-8", "replace")
    found: dict[tuple[str, str], Diagnostic] = {}
    messages = list(_messages(text, family))
    # A link error without a place only repeats that the compile before it failed.
    placed = any(kind == "error" and line for kind, _, line, _ in messages)
    for kind, file, line, message in messages:
        if placed and kind == "error" and not line:
            continue
        place = Place(_relative(file, root), line) if file else None
        diagnostic = _message(kind, place, message, subject)
        found.setdefault((str(place), message), diagnostic)
    return list(found.values())


def failure(done: Completed, tool: str, job: ShaderJob, made: Path, messages: list[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics of a failed run; empty when it really succeeded."""
    errors = [m for m in messages if m.severity is Severity.ERROR]
    if done.status < 0 or done.timed_out:
        return [*errors, _crash(done, tool, job)]
    if not done.ok:
        return errors or [_silent(done, tool, job)]
    if not made.is_file() or made.stat().st_size == 0:
        return [*errors, _no_output(tool, job)]
    return errors


def _messages(text: str, family: str) -> Iterator[tuple[str, str, int, str]]:
    placed, bare = (_GLSLC, _GLSLC_BARE) if family == "glslc" else (_GLSLANG, _GLSLANG_BARE)
    for line in text.splitlines():
        match = placed.fullmatch(line)
        if match and "compilation terminated" not in match["text"]:
            yield match["kind"].lower(), match["file"], int(match["line"]), match["text"].strip()
        elif match is None and (match := bare.fullmatch(line)):
            yield match["kind"].lower(), match.groupdict().get("file", ""), 0, match["text"].strip()


def _message(kind: str, place: Place | None, message: str, subject: str) -> Diagnostic:
    if kind == "warning":
        return Diagnostic("SP3003", message, place, subject=subject, severity=Severity.WARNING)
    if "Missing entry point" in message:
        return Diagnostic(
            "SP4003",
            f"{subject}: no compute entry point «main»",
            place,
            cause=message,
            fix="name the function as the host expects it",
            subject=subject,
        )
    if _MISSING_INCLUDE.search(message):
        return Diagnostic(
            "SP3011",
            message,
            place,
            cause="the include is neither beside the file nor in an include folder",
            fix="correct the path, or add its folder to `include:` in the manifest",
            subject=subject,
        )
    return Diagnostic(
        "SP3002", message, place, cause="the GLSL compiler refused it", fix="correct the shader", subject=subject
    )


def _relative(file: str, root: Path) -> str:
    base = str(root) + os.sep
    relative = file[len(base) :] if file.startswith(base) else file
    return posixpath.normpath(relative.replace(os.sep, "/"))


def _crash(done: Completed, tool: str, job: ShaderJob) -> Diagnostic:
    return Diagnostic(
        "SP3006",
        f"{tool} {done.how_it_ended()} while compiling {job.symbol}",
        job.place,
        cause=f"the tool did not end by itself; source {job.file}",
        fix="try another version of the tool; `shaderpack doctor` shows which one is used",
        subject=job.symbol,
        detail=done.text,
    )


def _silent(done: Completed, tool: str, job: ShaderJob) -> Diagnostic:
    return Diagnostic(
        "SP3004",
        f"{tool} {done.how_it_ended()} while compiling {job.symbol}, without a message that names a line",
        job.place,
        cause="the tool reported failure" + ("" if done.text else " and printed nothing"),
        fix="run the command shown by `shaderpack explain` by hand",
        subject=job.symbol,
        detail=done.text,
    )


def _no_output(tool: str, job: ShaderJob) -> Diagnostic:
    return Diagnostic(
        "SP3005",
        f"{tool} reported success but wrote no module for {job.symbol}",
        job.place,
        cause="exit status 0, and no output file",
        fix="check that the program found is really the compiler: `shaderpack doctor`",
        subject=job.symbol,
    )
