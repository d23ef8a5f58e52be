"""Why an Apple tool did not run: one code, one cause and one fix for each state that a Mac is found in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from shaderc_tool.diagnostics import Diagnostic

COMPONENT_ARGV: Final = ("xcodebuild", "-showComponent", "MetalToolchain")
XCODE_ARGV: Final = ("xcodebuild", "-version")

DOWNLOAD: Final = "xcodebuild -downloadComponent MetalToolchain"
SELECT_XCODE: Final = "sudo xcode-select -s /Applications/Xcode.app/Contents/Developer"

_ENOUGH: Final = 1 << 16
"""Characters that are looked at. A tool that cannot run says so at once; a compiler may print megabytes."""

# The mount of the component has a random suffix that changes at every boot.
# The look-behind lets a match start only where a word starts; without it a megabyte of text takes minutes.
_CRYPTEX = re.compile(r"(?<![^\s'\"])[^\s'\"]*com\.apple\.MobileAsset\.MetalToolchain-[^\s'\"]*/bin/[\w-]+")
_GONE = re.compile(r"no such file|does not exist|doesn't exist|not found|unable to spawn|can't exec", re.IGNORECASE)
_NO_XCODE = re.compile(
    r"invalid active developer path|unable to get active developer directory|no developer tools were found",
    re.IGNORECASE,
)
_TOOLS_ONLY = re.compile(r"unable to find utility|is a command line tools instance", re.IGNORECASE)
_LICENSE = re.compile(r"agree(?:d)? to the Xcode(?:/iOS)? license", re.IGNORECASE)
_NO_SDK = re.compile(r"SDK [\"'](?P<sdk>[\w.]+)[\"'] cannot be located", re.IGNORECASE)
_NO_COMPONENT = re.compile(r"missing Metal Toolchain", re.IGNORECASE)
_ALREADY = re.compile(r"already installed for Metal Toolchain (?P<build>\w+)", re.IGNORECASE)

_XCODE_BUILD = re.compile(r"^Build version (?P<build>\w+)", re.MULTILINE)
# `17B54` and `17B55` belong together: the number and the letter name the release, the rest counts its builds.
_RELEASE = re.compile(r"\d+[A-Z]")


@dataclass(frozen=True)
class Component:
    """The Metal Toolchain component as `xcodebuild -showComponent MetalToolchain` describes it."""

    installed: bool
    build: str
    identifier: str


@dataclass(frozen=True)
class Host:
    """What was asked of the Mac after a failure: its component, and the build of the selected Xcode (`17B55`)."""

    component: Component | None = None
    xcode_build: str = ""


def parse_component(text: str) -> Component | None:
    """The component in `xcodebuild -showComponent` text; None when the text names no status."""
    pairs = (line.partition(": ") for line in text.splitlines())
    fields = {name.strip(): value.strip() for name, colon, value in pairs if colon}
    if "Status" not in fields:
        return None
    return Component(
        fields["Status"].lower() == "installed",
        fields.get("Build Version", ""),
        fields.get("Toolchain Identifier", ""),
    )


def parse_xcode_build(text: str) -> str:
    """The build in `xcodebuild -version` text, or an empty string."""
    match = _XCODE_BUILD.search(text)
    return match["build"] if match else ""


def diagnose(exit_status: int, stdout: str, stderr: str, tool: str, host: Host | None = None) -> Diagnostic | None:
    """Why `tool` did not run, or None when it ran or failed for a reason of its own (a compile error, say).

    The caller raises the result as `ToolMissingError`, exit code 3. `host` tells a component that is missing from one
    that is there for another Xcode or another user: the tool says the same in all three cases.
    """
    if exit_status == 0:
        return None
    text = f"{stderr}\n{stdout}".strip()[:_ENOUGH]
    for line in text.splitlines():
        if (match := _CRYPTEX.search(line)) and _GONE.search(line):
            return _moved(tool, match[0], text)
    if _NO_COMPONENT.search(text) or _ALREADY.search(text):
        return _component(tool, text, host or Host())
    if _NO_XCODE.search(text):
        return _no_xcode(tool, text)
    if _TOOLS_ONLY.search(text):
        return _tools_only(tool, text)
    if _LICENSE.search(text):
        return _finding(
            "SP2017",
            tool,
            "the Xcode license has not been accepted",
            "xcrun starts no tool before that",
            "run `sudo xcodebuild -license accept`",
            text,
        )
    if match := _NO_SDK.search(text):
        return _no_sdk(tool, match["sdk"], text)
    return None


def no_xcrun(tool: str) -> Diagnostic:
    """For a machine on which xcrun itself cannot be started."""
    return _no_xcode(tool, "")


def _no_xcode(tool: str, text: str) -> Diagnostic:
    return _finding(
        "SP2011",
        tool,
        f"{tool} needs Xcode, which was not found",
        "there is no active developer directory",
        f"install Xcode and run `{SELECT_XCODE}`",
        text,
    )


def _tools_only(tool: str, text: str) -> Diagnostic:
    return _finding(
        "SP2012",
        tool,
        f"{tool} needs the full Xcode, but the Command Line Tools are selected",
        "the Command Line Tools hold no Metal compiler",
        f"install Xcode and run `{SELECT_XCODE}`",
        text,
    )


def _no_sdk(tool: str, sdk: str, text: str) -> Diagnostic:
    return _finding(
        "SP2018",
        tool,
        f"the SDK {sdk} is not installed",
        "the selected Xcode has no platform support for it, or the Command Line Tools are selected",
        f"run `xcodebuild -downloadAllPlatforms`, after `{SELECT_XCODE}` where needed",
        text,
    )


def _moved(tool: str, path: str, text: str) -> Diagnostic:
    return _finding(
        "SP2016",
        tool,
        f"the Metal Toolchain is no longer at {path}",
        "its mount point changes at every boot, and something kept the old path",
        "run `xcrun --kill-cache`, and build again without a stored compiler path",
        text,
    )


def _component(tool: str, text: str, host: Host) -> Diagnostic:
    already = _ALREADY.search(text)
    component = host.component
    if already and (component is None or not component.build):
        component = Component(True, already["build"], "")
    if component is None or not component.installed:
        return _finding(
            "SP2013",
            tool,
            f"{tool} cannot run: the Metal Toolchain is not installed",
            "since Xcode 26 the Metal compiler is a component of its own; Xcode holds only a stub",
            f"run `{DOWNLOAD}`",
            text,
        )
    other_release = host.xcode_build and _release(component.build) != _release(host.xcode_build)
    if already or other_release:
        xcode = host.xcode_build or "of another build"
        return _finding(
            "SP2014",
            tool,
            f"{tool} cannot run: the Metal Toolchain {component.build} is not the one of Xcode {xcode}",
            "each Xcode uses only the component that was made for it",
            f"run `{DOWNLOAD}` with this Xcode selected",
            text,
        )
    return _finding(
        "SP2015",
        tool,
        f"{tool} cannot run: the Metal Toolchain {component.build} is installed, but not for this user",
        "the look-up works only for the user who downloaded the component",
        f"run `{DOWNLOAD}` as the user that builds",
        text,
    )


def _release(build: str) -> str:
    match = _RELEASE.match(build)
    return match[0] if match else ""


def _finding(code: str, tool: str, message: str, cause: str, fix: str, text: str) -> Diagnostic:
    return Diagnostic(code, message, cause=cause, fix=fix, subject=tool, detail=text)
