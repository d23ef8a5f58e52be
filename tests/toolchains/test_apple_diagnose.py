"""What is said when the Metal compiler does not run (T3), and what a run's end means (T1, T17), on recorded texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shaderc_tool.diagnostics import Severity, ToolMissingError
from shaderc_tool.toolchains.apple_diagnose import (
    Component,
    Host,
    diagnose,
    parse_component,
    parse_xcode_build,
)
from shaderc_tool.toolchains.apple_result import Ended, judge
from tests.fakes import xcrun

INSTALLED = Component(True, "17B54", "com.apple.dt.toolchain.Metal.32023")
ALREADY = "xcodebuild: error: Asset is already installed for Metal Toolchain 17A324 (/System/Library/AssetsV2/x)\n"
TOOLS_SELECTED = (
    "xcode-select: error: tool 'xcodebuild' requires Xcode, but active developer directory "
    "'/Library/Developer/CommandLineTools' is a command line tools instance\n"
)

CASES = [
    ("SP2011", xcrun.NO_XCODE, None),
    ("SP2012", xcrun.TOOLS_ONLY, None),
    ("SP2012", TOOLS_SELECTED, None),
    ("SP2013", xcrun.NO_COMPONENT, None),
    ("SP2013", xcrun.NO_COMPONENT, Host(Component(False, "", ""), "17B55")),
    ("SP2014", xcrun.NO_COMPONENT, Host(INSTALLED, "17A324")),
    ("SP2014", ALREADY, None),
    ("SP2015", xcrun.NO_COMPONENT, Host(INSTALLED, "17B55")),
    ("SP2015", xcrun.NO_COMPONENT, Host(INSTALLED, "")),
    ("SP2016", xcrun.MOVED, None),
    ("SP2017", xcrun.LICENSE, None),
    ("SP2018", xcrun.NO_SDK, None),
]


@pytest.mark.parametrize(("code", "text", "host"), CASES)
def test_each_state_has_its_code_and_one_fix(code: str, text: str, host: Host | None) -> None:
    for stdout, stderr in (("", text), (text, "")):
        found = diagnose(1, stdout, stderr, "metal", host)
        assert found is not None
        assert (found.code, found.subject, found.severity) == (code, "metal", Severity.ERROR)
        assert found.cause
        assert found.fix
        assert text.strip() in found.detail


def test_moved_path_is_named() -> None:
    found = diagnose(72, "", xcrun.MOVED, "metal")
    assert found is not None
    assert found.message.endswith("MetalToolchain-v17.3.7003.10.vbizJS/Metal.xctoolchain/usr/bin/metal")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "metal/a.metal:1:2: error: use of undeclared identifier 'x'\n",
        "metal/a.metal:1:10: fatal error: 'metal_toolchain.h' file not found\n",
        "Stack dump:\n0. Program arguments: /var/run/com.apple.security.cryptexd/mnt/"
        "com.apple.MobileAsset.MetalToolchain-v17.1/Metal.xctoolchain/usr/bin/metal -c a.metal\n1. 'x' not found\n",
        "In file included from /var/run/com.apple.security.cryptexd/mnt/com.apple.MobileAsset.MetalToolchain-v17.1/"
        "Metal.xctoolchain/usr/include/metal_stdlib:3:\na.h:1:1: fatal error: 'b.h' file not found\n",
    ],
)
def test_a_failure_of_the_source_is_no_missing_tool(text: str) -> None:
    assert diagnose(1, "", text, "metal") is None


@pytest.mark.parametrize("text", [text for _, text, _ in CASES])
def test_a_tool_that_succeeded_is_not_missing(text: str) -> None:
    assert diagnose(0, "", text, "metal") is None


@given(st.integers(1, 255), st.text(), st.text())
def test_any_text_is_taken(status: int, stdout: str, stderr: str) -> None:
    diagnose(status, stdout, stderr, "metal")
    parse_component(stdout)
    parse_xcode_build(stderr)


def test_component_text() -> None:
    text = xcrun.COMPONENT_TEXT.format(
        build="17B54", status="installed", identifier="com.apple.dt.toolchain.Metal.32023", mount="x"
    )
    assert parse_component("2025-11-01 xcodebuild[12:34] a: warning\n" + text) == INSTALLED
    assert parse_component("Build Version: 17B54\nStatus: uninstalled\n") == Component(False, "17B54", "")
    assert parse_component("xcodebuild: error: unknown component\n") is None
    assert parse_xcode_build("Xcode 26.1\nBuild version 17B55\n") == "17B55"
    assert parse_xcode_build("xcode-select: error: tool 'xcodebuild' requires Xcode\n") == ""


# --- T1: exit status, output and text, all three


def ended(status: int = 0, *, wrote: bool = True, stderr: str = "", how: str = "exited") -> Ended:
    return Ended("metal", "metal/a.metal", status, how, wrote, "", stderr)


def test_success() -> None:
    assert judge(ended()) == ()


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (ended(1, wrote=False), "SP3004"),
        (ended(1, wrote=False, stderr="internal trouble\n"), "SP3004"),
        (ended(0, wrote=False), "SP3005"),
        (ended(-9, wrote=False, how="was killed by signal SIGKILL"), "SP3006"),
        (ended(-11, wrote=True, how="was killed by signal SIGSEGV"), "SP3006"),
        (ended(1, wrote=True), "SP3004"),
        (ended(1, wrote=False, stderr="metal/a.metal:1:2: error: bad\n1 error generated.\n"), "SP3002"),
        (ended(0, wrote=True, stderr="metallib: error: skipped b.air\n"), "SP3002"),
    ],
)
def test_failures(end: Ended, code: str) -> None:
    (found,) = judge(end)
    assert (found.code, found.severity, found.subject) == (code, Severity.ERROR, "metal/a.metal")


def test_text_on_success_is_a_warning() -> None:
    (found,) = judge(ended(stderr="note to self\n"))
    assert (found.code, found.severity, found.detail) == ("SP3003", Severity.WARNING, "note to self")


def test_a_compile_error_before_a_crash_is_kept() -> None:
    found = judge(ended(-6, wrote=False, stderr="metal/a.metal:1:2: error: bad\n", how="was killed by signal SIGABRT"))
    assert [d.code for d in found] == ["SP3002", "SP3006"]


def test_a_missing_tool_ends_with_exit_code_3() -> None:
    with pytest.raises(ToolMissingError) as caught:
        judge(ended(1, wrote=False, stderr=xcrun.NO_COMPONENT))
    assert caught.value.exit_code == 3
    assert caught.value.diagnostics[0].code == "SP2013"
