"""What the end of a `metal` or `metallib` run means: exit status, output file and text, all three."""

from __future__ import annotations

from dataclasses import dataclass

from shaderc_tool.diagnostics import Diagnostic, Severity, ToolMissingError
from shaderc_tool.toolchains import clang_text
from shaderc_tool.toolchains.apple_diagnose import diagnose


@dataclass(frozen=True)
class Ended:
    """How one run ended. `status` is the exit status, or minus the signal that killed it.

    `how` says so in words. `wrote` is true when the output is there, not empty, and made by this run: an output that
    an earlier run left behind does not count. `subject` is the source or library that the run was about.
    """

    tool: str
    subject: str
    status: int
    how: str
    wrote: bool
    stdout: str = ""
    stderr: str = ""

    @property
    def text(self) -> str:
        return "\n".join(part.strip("\n") for part in (self.stderr, self.stdout) if part.strip())


def judge(ended: Ended, read: clang_text.Read | None = None) -> tuple[Diagnostic, ...]:
    """The diagnostics of a run; it succeeded when none of them is an error.

    An error line fails the run even with exit status 0: the linker was seen to skip a module and report success.
    Raises ToolMissingError when the tool could not run at all.
    """
    found = clang_text.parse(ended.text, subject=ended.subject, read=read)
    failed = any(d.severity is Severity.ERROR for d in found)
    if ended.status < 0:
        return (*found, _crashed(ended))
    missing = diagnose(ended.status, ended.stdout, ended.stderr, ended.tool)
    if missing is not None:
        raise ToolMissingError(missing)
    if ended.status:
        return found if failed else (*found, _unexplained(ended))
    if not ended.wrote:
        return (*found, _no_output(ended))
    if ended.text and not found:
        return (_remark(ended),)
    return found


def _crashed(ended: Ended) -> Diagnostic:
    return Diagnostic(
        "SP3006",
        f"{ended.tool} {ended.how}",
        cause="the tool did not end by itself",
        fix="try another version of the Metal Toolchain; `shaderpack doctor` shows which one is used",
        subject=ended.subject,
        detail=ended.text,
    )


def _unexplained(ended: Ended) -> Diagnostic:
    return Diagnostic(
        "SP3004",
        f"{ended.tool} {ended.how} without an error message",
        cause="the tool reported failure" + ("" if ended.text else " and printed nothing"),
        fix="run the command in report.json by hand",
        subject=ended.subject,
        detail=ended.text,
    )


def _no_output(ended: Ended) -> Diagnostic:
    return Diagnostic(
        "SP3005",
        f"{ended.tool} reported success but wrote no output",
        cause="exit status 0, and no output file that is new and not empty",
        fix="check that the program found is really the tool: `shaderpack doctor`",
        subject=ended.subject,
        detail=ended.text,
    )


def _remark(ended: Ended) -> Diagnostic:
    return Diagnostic(
        "SP3003",
        f"{ended.tool} succeeded, but printed text that is not a diagnostic",
        cause="see its own text",
        fix="nothing needs to be done when the text is harmless",
        subject=ended.subject,
        severity=Severity.WARNING,
        detail=ended.text,
    )
