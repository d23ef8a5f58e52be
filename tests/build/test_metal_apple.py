"""The Metal stage with a pretended Mac: per-file AIR, one link, and what must not make anything again (T1, T3, T5)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shaderc_tool.build.pipeline import build
from shaderc_tool.build.records import BUILT, BuildResult
from shaderc_tool.build.session import BuildRequest
from shaderc_tool.diagnostics import ToolMissingError
from tests.fakes.xcrun import NO_COMPONENT, Order, Script, calls

MANIFEST = """\
schema: 1
pack: demo
targets:
  macos: {api: metal, sdk: macosx, min_os: "14.0", std: metal3.1}
  ios: {api: metal, sdk: iphoneos, min_os: "17.0", std: metal3.1}
kernels:
  a: {metal: {file: a.metal, functions: [kernel_a]}}
  b: {metal: {file: b.metal, functions: [kernel_b]}}
"""


class Mac:
    """A project, and a pretended Mac's tools first on PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "dir with space"
        self.tools = folder / "tools"
        self.folder.mkdir()
        (self.folder / "m.yaml").write_text(MANIFEST)
        for name in "ab":
            text = f'#include "common.h"\nkernel void kernel_{name}(device float *x [[buffer(0)]]) {{}}\n'
            (self.folder / f"{name}.metal").write_text(text)
        (self.folder / "common.h").write_text("// shared\n")
        Script().install(self.tools)
        self.environment = {
            "PATH": f"{self.tools}{os.pathsep}{os.environ['PATH']}",
            "SHADERPACK_CACHE": str(folder / "cache"),
            "IPHONEOS_DEPLOYMENT_TARGET": "9.0",
        }

    def build(self, **options: object) -> BuildResult:
        request = BuildRequest(self.folder / "m.yaml", self.folder / "out", **options)  # type: ignore[arg-type]
        return build(request, self.environment)

    def tools_run(self) -> list[str]:
        """The tools that worked: `metal` or `metallib` for each call but version questions."""
        return [c["argv"][3] for c in calls(self.tools) if "--version" not in c["argv"]]


@pytest.fixture
def mac(tmp_path: Path) -> Mac:
    return Mac(tmp_path)


def codes(result: BuildResult) -> set[str]:
    return {d.code for d in result.diagnostics if d.severity.word == "error"}


def test_one_air_a_source_and_one_link_a_target(mac: Mac) -> None:
    result = mac.build()
    outputs = {r.output: r.status for r in result.records}
    assert outputs == dict.fromkeys(
        [f"{t}/{n}" for t in ("macos", "ios") for n in ("a.air", "b.air", "default.metallib")], BUILT
    )
    assert mac.tools_run().count("metal") == 4
    assert mac.tools_run().count("metallib") == 2
    for call in calls(mac.tools):
        assert "IPHONEOS_DEPLOYMENT_TARGET" not in call["env"]
        assert not any(str(mac.folder) in argument for argument in call["argv"])


def test_the_toolchain_may_move_but_not_change(mac: Mac) -> None:
    mac.build()
    made = len(mac.tools_run())
    Script(mount="other").install(mac.tools)
    mac.build()
    assert len(mac.tools_run()) == made
    Script(version="32023.900").install(mac.tools)
    mac.build()
    assert len(mac.tools_run()) == 2 * made


def test_an_edited_header_makes_its_users_again(mac: Mac) -> None:
    mac.build()
    made = len(mac.tools_run())
    (mac.folder / "common.h").write_text("// another comment\n")
    mac.build()
    assert len(mac.tools_run()) == made
    (mac.folder / "a.metal").write_text((mac.folder / "a.metal").read_text() + "constant int extra = 1;\n")
    result = mac.build()
    assert len(mac.tools_run()) == made + 2 + sum(r.status == BUILT and r.kind == "metallib" for r in result.records)


@pytest.mark.parametrize(
    ("order", "code"),
    [
        (Order(status=1), "SP3004"),
        (Order(status=0), "SP3005"),
        (Order(signal=9), "SP3006"),
        (Order(status=1, stderr="a.metal:2:1: error: bad\n"), "SP3002"),
    ],
)
def test_each_way_to_fail_is_an_error_and_keeps_the_library(mac: Mac, order: Order, code: str) -> None:
    mac.build()
    before = (mac.folder / "out/demo/macos/default.metallib").read_bytes()
    Script(orders={"metal": order}).install(mac.tools)
    (mac.folder / "common.h").write_text("#define CHANGED 1\n")
    result = mac.build(keep_going=True)
    assert codes(result) == {code}
    assert (mac.folder / "out/demo/macos/default.metallib").read_bytes() == before


def test_a_linker_that_drops_a_module_is_caught(mac: Mac) -> None:
    Script(orders={"metallib": Order(work=True, drop_last=True)}).install(mac.tools)
    result = mac.build()
    assert "SP4001" in codes(result)
    assert {d.subject for d in result.diagnostics if d.code == "SP4001"} == {"kernel_b"}


def test_a_missing_component_is_exit_3_with_the_fix(mac: Mac) -> None:
    Script(fails=NO_COMPONENT).install(mac.tools)
    with pytest.raises(ToolMissingError) as caught:
        mac.build()
    assert (caught.value.exit_code, caught.value.diagnostics[0].code) == (3, "SP2013")
    assert "xcodebuild -downloadComponent MetalToolchain" in caught.value.diagnostics[0].fix
