"""What a tool's end means: exit status, output file and text, all three (peers.md T1)."""

from __future__ import annotations

import os
import posixpath
import re
from dataclasses import replace
from pathlib import Path

from shaderc_tool.build.process import Completed
from shaderc_tool.diagnostics import Diagnostic, Place, Severity
from shaderc_tool.manifest.model import ShaderJob
from shaderc_tool.toolchains import clang_text

_GLSLANG = re.compile(r"(?P<kind>ERROR|WARNING): (?:(?P<file>[^\n]*?):(?P<line>\d+): )?(?P<text>.*)")
_QUOTED = re.compile(r"'([^']+)' : ")
_MISSING_INCLUDE = re.compile(r"Cannot find or open include file|could not process include directive", re.I)


def from_tool_text(done: Completed, root: Path, subject: str, family: str) -> list[Diagnostic]:
    """The compiler's messages as diagnostics, paths relative to `root`; repeated ones once."""
    text = (done.stderr + b"\n" + done.stdout).decode("utf-8", "replace")
    if family == "glslang":
        text = _as_glslc_text(text)
    messages = clang_text.parse(text, subject=subject)
    # A link error without a place only repeats that the compile before it failed.
    placed = any(m.severity is Severity.ERROR and m.place and m.place.line for m in messages)
    found: dict[tuple[str, str], Diagnostic] = {}
    for message in messages:
        if not (placed and message.severity is Severity.ERROR and not (message.place and message.place.line)):
            refined = _refine(message, root)
            found.setdefault((str(refined.place), refined.message), refined)
    return list(found.values())


def _as_glslc_text(text: str) -> str:
    """glslang's messages in glslc's form; its counts and repetitions dropped."""
    lines = []
    for line in text.splitlines():
        match = _GLSLANG.fullmatch(line)
        if match is None or "compilation terminated" in match["text"]:
            continue
        if match["line"] or match["text"].startswith("Linking"):
            place = f"{match['file']}:{match['line']}: " if match["line"] else ""
            lines.append(f"{place}{match['kind'].lower()}: {match['text'].strip()}")
    return "\n".join(lines)


def _refine(message: Diagnostic, root: Path) -> Diagnostic:
    """The message with its place below `root`, and a code of its own where the cause is known."""
    place = _placed(message.place, message.message, root) if message.place else None
    if message.severity is not Severity.ERROR:
        return replace(message, place=place)
    if "Missing entry point" in message.message:
        return replace(
            message,
            code="SP4003",
            message=f"{message.subject}: no compute entry point «main»",
            place=None,
            cause=message.message,
            fix="name the function as the host expects it",
        )
    if _MISSING_INCLUDE.search(message.message):
        return replace(
            message,
            code="SP3011",
            place=place,
            cause="the include is neither beside the file nor in an include folder",
            fix="correct the path, or add its folder to `include:` in the manifest",
        )
    return replace(message, place=place)


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


def _placed(place: Place, text: str, root: Path) -> Place:
    """The place below `root`, with the column of the word that the message quotes: glslang gives none itself."""
    place = replace(place, file=_relative(place.file, root))
    quoted = _QUOTED.match(text)
    if place.column or not place.line or quoted is None:
        return place
    try:
        line = (root / place.file).read_text("utf-8", "replace").split("\n")[place.line - 1]
    except (OSError, IndexError):
        return place
    found = list(re.finditer(rf"(?<!\w){re.escape(quoted[1])}(?!\w)", line))
    return replace(place, column=found[0].start() + 1) if len(found) == 1 else place


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
