"""The Apple driver against a scripted xcrun: T1, T3, T5, T10 and T12 of the small tests, with real processes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from shaderc_tool.build.process import Completed, ProcessRunner
from shaderc_tool.diagnostics import Diagnostic, Severity, ToolMissingError
from shaderc_tool.formats.metallib import Library, read_library
from shaderc_tool.toolchains.apple import MetalOptions, child_env, metal_argv, metallib_argv
from shaderc_tool.toolchains.apple_check import check_metallib
from shaderc_tool.toolchains.apple_find import AppleToolchain, find_apple
from shaderc_tool.toolchains.apple_result import Ended, judge
from shaderc_tool.toolchains.apple_targets import AppleTarget
from tests.fakes import xcrun
from tests.fakes.xcrun import Order, Script
from tests.toolchains.test_apple_argv import TARGETS

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-in starts by its #! line")

MACOS = AppleTarget("macosx", "14.0", "metal3.1")
IDENTIFIER = "com.apple.dt.toolchain.Metal.32023"
INSTALLED = {"build": "17B54", "status": "installed", "identifier": IDENTIFIER}
SOURCE = "kernel void {name}(device float *x) {{}}\n"


class Mac:
    """A folder with sources, and a pretended Mac's tools first on PATH."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.tools = folder / "tools"
        self.work = folder / "work dir é"
        self.work.mkdir()
        path = f"{self.tools}{os.pathsep}{os.environ['PATH']}"
        self.runner = ProcessRunner({**environment, "PATH": path})
        self.script(Script())

    def script(self, script: Script) -> None:
        script.install(self.tools)

    def source(self, name: str) -> str:
        (self.work / f"{name}.metal").write_text(SOURCE.format(name=name), "utf-8")
        return f"{name}.metal"

    def run(self, argv: tuple[str, ...]) -> Completed:
        return self.runner.run([str(self.tools / argv[0]), *argv[1:]], cwd=self.work, env=child_env())

    def compile(self, name: str, target: AppleTarget = MACOS) -> tuple[Diagnostic, ...]:
        """Compile `name.metal` to `name.air` and judge the run. The output goes to a new name first."""
        fresh = self.work / f"{name}.air.new"
        fresh.unlink(missing_ok=True)
        argv = metal_argv(target, self.source(name), fresh.name, f"{name}.d", MetalOptions())
        found = self._judge("metal", f"{name}.metal", self.run(argv), fresh)
        if not any(d.severity is Severity.ERROR for d in found):
            fresh.replace(self.work / f"{name}.air")
        return found

    def link(self, airs: list[str], output: str, target: AppleTarget = MACOS) -> tuple[Diagnostic, ...]:
        return self._judge("metallib", output, self.run(metallib_argv(target, airs, output)), self.work / output)

    def library(self, name: str) -> Library:
        return read_library((self.work / name).read_bytes())

    def find(self, target: AppleTarget = MACOS) -> AppleToolchain:
        return find_apple(target, self.probe)

    def probe(self, argv: list[str], env: Mapping[str, str]) -> tuple[int, str]:
        done = self.runner.run([str(self.tools / argv[0]), *argv[1:]], cwd=self.work, env=env)
        return done.status, done.text

    @staticmethod
    def _judge(tool: str, subject: str, done: Completed, output: Path) -> tuple[Diagnostic, ...]:
        wrote = output.is_file() and output.stat().st_size > 0
        text = (part.decode("utf-8") for part in (done.stdout, done.stderr))
        return judge(Ended(tool, subject, done.status, done.how_it_ended(), wrote, *text))


@pytest.fixture
def mac(tmp_path: Path) -> Mac:
    # What Xcode exports to a script build phase, and what people export by hand.
    xcode = {
        "IPHONEOS_DEPLOYMENT_TARGET": "15.0",
        "MACOSX_DEPLOYMENT_TARGET": "10.13",
        "SDKROOT": "/sdk/iphoneos",
        "TOOLCHAINS": "swift",
        "CPATH": "/usr/local/include",
        "DEVELOPER_DIR": "/Applications/Xcode.app/Contents/Developer",
    }
    return Mac(tmp_path, xcode)


def codes(found: tuple[Diagnostic, ...]) -> list[tuple[str, Severity]]:
    return [(d.code, d.severity) for d in found]


# --- T1: a tool that fails in every way there is


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (Order(status=1), [("SP3004", Severity.ERROR)]),
        (Order(work=True, stderr="be careful\n"), [("SP3003", Severity.WARNING)]),
        (Order(work=True, stderr="k.metal:1:1: warning: w\n"), [("SP3003", Severity.WARNING)]),
        (Order(status=0), [("SP3005", Severity.ERROR)]),
        (Order(signal=9), [("SP3006", Severity.ERROR)]),
        (Order(status=1, stderr="k.metal:1:1: error: bad\n"), [("SP3002", Severity.ERROR)]),
        (Order(status=1, stdout="x" * 2**20, stderr="y" * 2**20), [("SP3004", Severity.ERROR)]),
    ],
    ids=["silent", "text", "warning", "no-output", "killed", "error", "megabytes"],
)
@pytest.mark.parametrize("old_output", [False, True], ids=["new", "old-output"])
def test_ends_of_a_compile(mac: Mac, order: Order, expected: list[tuple[str, Severity]], old_output: bool) -> None:
    air = mac.work / "k.air"
    if old_output:
        air.write_bytes(b"old")
    mac.script(Script(orders={"metal": order}))
    assert codes(mac.compile("k")) == expected
    if order.work:
        assert b"air64-apple-macos14.0" in air.read_bytes()
    else:
        # An output of an earlier run neither hides the failure nor is lost.
        assert air.exists() == old_output
        assert not old_output or air.read_bytes() == b"old"


def test_a_failed_link_is_not_hidden_by_a_good_compile(mac: Mac) -> None:
    mac.script(Script(orders={"metallib": Order(status=1, stderr="LLVM ERROR: Invalid bitcode signature\n")}))
    assert mac.compile("k") == ()
    (found,) = mac.link(["k.air"], "default.metallib")
    assert (found.code, found.detail) == ("SP3004", "LLVM ERROR: Invalid bitcode signature")


# --- T3: each way to be without a Metal compiler


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (Script(fails=xcrun.NO_XCODE), "SP2011"),
        (Script(fails=xcrun.TOOLS_ONLY), "SP2012"),
        (Script(fails=xcrun.NO_COMPONENT), "SP2013"),
        (Script(fails=xcrun.NO_COMPONENT, component={**INSTALLED, "status": "uninstalled"}), "SP2013"),
        (Script(fails=xcrun.NO_COMPONENT, component=INSTALLED, xcode_build="17A324"), "SP2014"),
        (Script(fails=xcrun.NO_COMPONENT, component=INSTALLED, xcode_build="17B55"), "SP2015"),
        (Script(fails=xcrun.MOVED), "SP2016"),
        (Script(fails=xcrun.LICENSE), "SP2017"),
        (Script(fails=xcrun.NO_SDK), "SP2018"),
        (Script(fails="dyld: broken\n"), "SP2003"),
    ],
)
def test_no_metal_compiler(mac: Mac, script: Script, code: str) -> None:
    mac.script(script)
    with pytest.raises(ToolMissingError) as caught:
        mac.find()
    (found,) = caught.value.diagnostics
    assert (caught.value.exit_code, found.code, found.subject) == (3, code, "metal")
    assert found.fix
    assert script.fails.strip() in found.detail


def test_no_xcrun_at_all(mac: Mac) -> None:
    (mac.tools / "xcrun").unlink()
    with pytest.raises(ToolMissingError) as caught:
        mac.find()
    assert caught.value.diagnostics[0].code == "SP2011"


def test_a_component_that_must_be_named_is_named_for_the_tools_alone(mac: Mac) -> None:
    mac.script(Script(fails=xcrun.NO_COMPONENT, only_with=IDENTIFIER, component=INSTALLED, xcode_build="17B55"))
    toolchain = mac.find()
    assert toolchain.component == IDENTIFIER
    assert toolchain.env["TOOLCHAINS"] == IDENTIFIER
    assert "TOOLCHAINS" not in os.environ
    assert [call["env"].get("TOOLCHAINS") for call in xcrun.calls(mac.tools)] == [
        None,
        None,
        None,
        IDENTIFIER,
        IDENTIFIER,
    ]


# --- T5: the toolchain is its version, not its path


def test_identity_is_the_version_and_no_path(mac: Mac) -> None:
    mac.script(Script(mount="aaaaaa"))
    first = mac.find()
    mac.script(Script(mount="bbbbbb"))
    assert mac.find() == first
    assert first.identity == (
        "Apple metal version 32023.830 (metalfe-32023.830); "
        "AIR-LLD 32023.830 (metalfe-32023.830) (compatible with legacy metallib linker)"
    )
    mac.script(Script(version="32023.883"))
    assert mac.find().identity != first.identity


# --- T12: the environment and the working directory


def test_inherited_settings_do_not_reach_the_tools(mac: Mac) -> None:
    assert mac.compile("k") == ()
    (call,) = xcrun.calls(mac.tools)
    assert call["cwd"] == str(mac.work)
    assert call["env"]["ZERO_AR_DATE"] == "1"
    assert call["env"]["DEVELOPER_DIR"] == "/Applications/Xcode.app/Contents/Developer"
    assert not {"SDKROOT", "TOOLCHAINS", "CPATH"} & call["env"].keys()
    assert not any(name.endswith("_DEPLOYMENT_TARGET") for name in call["env"])


def test_the_stand_in_breaks_as_the_real_one_does_when_settings_leak(mac: Mac) -> None:
    argv = metal_argv(MACOS, mac.source("k"), "k.air", "k.d", MetalOptions())
    done = mac.runner.run(argv, cwd=mac.work, env={"IPHONEOS_DEPLOYMENT_TARGET": "15.0"})
    assert b"libmetal_rt_ios" in done.stderr


# --- T10 and T12: the library is what was asked for, whatever the order, and says so in its bytes


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
def test_a_library_for_every_platform(mac: Mac, target: AppleTarget) -> None:
    """Build for each of the nine; the result passes for its own target and for no other platform."""
    assert mac.compile("one", target) == mac.compile("two", target) == ()
    assert mac.link(["two.air", "one.air"], "default.metallib", target) == ()
    library = mac.library("default.metallib")
    assert (mac.work / "default.metallib").read_bytes()[11] == 0x80 | target.platform.number
    assert check_metallib(library, target, ["one", "two"], "x") == []
    for other in TARGETS.values():
        if other is not target:
            assert "SP4021" in [d.code for d in check_metallib(library, other, ["one", "two"], "x")]


def test_the_order_of_the_files_does_not_matter(mac: Mac) -> None:
    mac.compile("newer", replace(MACOS, min_os="26.0"))
    mac.compile("older", MACOS)
    for output, airs in (("1.metallib", ["newer.air", "older.air"]), ("2.metallib", ["older.air", "newer.air"])):
        assert mac.link(airs, output) == ()
    first, second = ((mac.work / name).read_bytes() for name in ("1.metallib", "2.metallib"))
    assert first == second
    # The linker takes the floor of the first file, and the check of the bytes finds it.
    (found,) = check_metallib(mac.library("1.metallib"), MACOS, ["newer", "older"], "x")
    assert (found.code, found.severity) == ("SP4022", Severity.ERROR)


def test_a_module_that_the_linker_left_out_is_named(mac: Mac) -> None:
    mac.compile("one")
    mac.compile("two")
    mac.script(Script(orders={"metallib": Order(drop_last=True)}))
    assert mac.link(["one.air", "two.air"], "default.metallib") == ()
    (found,) = check_metallib(mac.library("default.metallib"), MACOS, ["one", "two"], "x")
    assert found.code == "SP4025"
    assert found.message.endswith("it lost two")


def test_a_library_without_functions_is_an_error(mac: Mac) -> None:
    (mac.work / "empty.metal").write_text("// nothing\n", "utf-8")
    argv = metal_argv(MACOS, "empty.metal", "empty.air", "empty.d", MetalOptions())
    assert mac.run(argv).ok
    assert mac.link(["empty.air"], "default.metallib") == ()
    (found,) = check_metallib(mac.library("default.metallib"), MACOS, [], "x")
    assert (found.code, found.severity) == ("SP4024", Severity.ERROR)
