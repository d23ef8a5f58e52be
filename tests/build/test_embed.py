"""Embed bundles in a build: what is made, what is said before a compiler runs, and what makes it again."""

from __future__ import annotations

import importlib.util
import json
import plistlib
import subprocess
import sys
from pathlib import Path

import lief
import pytest

from shaderc_tool.build.records import BUILT, KEPT
from shaderc_tool.diagnostics import ToolMissingError, UsageError
from tests.build.bundles import COMMON, KERNELS, OUTPUTS, SOURCE, Bundles, codes

SOURCE_OUTPUT = "  - {kind: embed, target: ios, payload: source%s}\n"


@pytest.fixture
def bundles(tmp_path: Path) -> Bundles:
    return Bundles(tmp_path)


def source_bundles(folder: Path, more: str = "", *, mac: bool = True) -> Bundles:
    return Bundles(folder, SOURCE_OUTPUT % more, mac=mac)


def test_a_build_makes_the_bundle_of_each_target_and_the_framework(bundles: Bundles) -> None:
    result = bundles.build()
    assert codes(result) == set()
    names = ["demo.msl", "demo-metal3.1.kernels", "demo_metallib.S", "demo_metallib.S.d", "demo_metallib-arm64.o"]
    names += ["libdemo_metallib.a", "demo_metal.h", "demo_metal.m", "DemoMetal.swift"]
    for target in ("ios", "ios-sim"):
        assert all(f"{target}/embed/{name}" in bundles.files() for name in names)
        assert bundles.read(f"{target}/embed/demo-metal3.1.kernels") == b"kernel_a\nkernel_b\n"
        assert bundles.read(f"{target}/default.metallib") in bundles.read(f"{target}/embed/libdemo_metallib.a")
    info = plistlib.loads(bundles.read("Demo.xcframework/Info.plist"))
    folders = {entry["LibraryIdentifier"] for entry in info["AvailableLibraries"]}
    assert folders == {"ios-arm64", "ios-arm64_x86_64-simulator"}


def test_outputs_hold_no_path_and_are_the_same_elsewhere(tmp_path: Path) -> None:
    """Another folder, an empty cache and one job: the same bytes."""
    first, second = Bundles(tmp_path / "one"), Bundles(tmp_path / "two é")
    first.build(jobs=1)
    second.build(jobs=4)
    assert first.files() == second.files()
    assert all(str(tmp_path).encode() not in data for data in first.files().values())


def test_a_build_with_nothing_to_do_emits_nothing(bundles: Bundles) -> None:
    """And imports neither lief nor LLVM nor any of the emitters: the lexer is the gate's, for host sources."""
    bundles.build()
    code = (
        "import sys\nfrom tests.build.bundles import *\n"
        "from shaderc_tool.build.pipeline import build\n"
        f"folder = Path({str(bundles.folder)!r})\n"
        f"result = build(BuildRequest(folder / 'demo.yaml', folder / 'out'), {bundles.environment!r})\n"
        "assert result.nothing_done, [(r.output, r.reason) for r in result.records if r.status != 'kept']\n"
        "bad = {m for m in sys.modules if m.split('.')[0] in ('lief', 'llvmlite') or 'shaderc_tool.emit.' in m}\n"
        "bad -= {'shaderc_tool.emit.msl_lex'}\n"
        "assert not bad, bad\n"
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_changed_payload_changes_the_assembler_text(bundles: Bundles) -> None:
    bundles.build()
    before = bundles.files()
    bundles.write("b.metal", SOURCE % "b" + "kernel void kernel_c() {}\n")
    bundles.manifest(OUTPUTS, KERNELS.replace("[kernel_b]", "[kernel_b, kernel_c]"))
    assert codes(bundles.build()) == set()
    after = bundles.files()
    for name in ("ios/embed/demo_metallib.S", "ios/embed/demo_metal.h", "ios-sim/embed/demo_metallib-x86_64.o"):
        assert before[name] != after[name]
    assert before["xcode/build-phase.sh"] == after["xcode/build-phase.sh"]


def test_merged_text_as_payload(tmp_path: Path) -> None:
    project = source_bundles(tmp_path, ", section: '__TEXT,__shaders', private_extern: true")
    project.manifest(
        SOURCE_OUTPUT % ", section: '__TEXT,__shaders', private_extern: true",
        KERNELS.replace("functions", "defines: {LIMIT: 7}, functions"),
    )
    assert codes(project.build()) == set()
    text = project.read("ios/embed/demo.msl")
    assert text.count(b"float scale(") == 1
    assert b'#include "' not in text
    assert b'#line 1 "a.metal"' in text
    fat = lief.MachO.parse(str(project.out / "ios/embed/demo_source-arm64.o"))
    binary = fat.at(0) if fat else None
    assert binary is not None
    section = next(s for s in binary.sections if s.name == "__shaders")
    assert section.segment_name == "__TEXT"
    assert bytes(section.content).startswith(text + b"\0")
    assert b'.incbin "demo.msl"' in project.read("ios/embed/demo_source.S")
    loader = project.read("ios/embed/demo_metal.m")
    assert b'@"LIMIT" : @"7"' in loader
    assert b"MTLLanguageVersion3_1" in loader


# --- what does not merge


def clashing(folder: Path, outputs: str) -> Bundles:
    project = Bundles(folder, outputs)
    project.write("b.metal", (SOURCE % "b").replace('#include "common.h"', COMMON.replace("2.0f", "3.0f")))
    return project


def test_a_clash_is_said_before_any_compiler_runs(tmp_path: Path) -> None:
    project = clashing(tmp_path, SOURCE_OUTPUT % "")
    result = project.build()
    (clash,) = result.diagnostics
    assert clash.code == "SP4040"
    assert "scale" in clash.message
    assert str(clash.place) == "b.metal:3"
    assert [str(r.place) for r in clash.related] == ["common.h:2"]
    assert "-static inline float scale(float value) { return 2.0f * value; }" in clash.detail
    assert project.tools_run() == []


def test_a_clash_is_a_warning_where_the_library_is_embedded(tmp_path: Path) -> None:
    """Separate translation units are the cure for it; only the merged text is not made."""
    project = clashing(tmp_path, OUTPUTS)
    for _ in range(2):  # said by each build
        result = project.build()
        assert (codes(result), codes(result, "warning")) == (set(), {"SP4040"})
    assert "ios/embed/demo.msl" not in project.files()
    assert "Demo.xcframework/Info.plist" in project.files()


def test_sources_with_other_macros_are_not_merged(tmp_path: Path) -> None:
    project = source_bundles(tmp_path)
    project.manifest(SOURCE_OUTPUT % "", KERNELS.replace("a.metal,", "a.metal, defines: {FAST: 1},"))
    result = project.build()
    assert codes(result) == {"SP4048"}
    assert "FAST=1" in result.diagnostics[0].cause


def test_a_failed_merge_leaves_the_earlier_bundle(tmp_path: Path) -> None:
    project = source_bundles(tmp_path)
    project.build()
    before = project.files()
    project.write("b.metal", '#include "nowhere.h"\n' + SOURCE % "b")
    assert codes(project.build()) == {"SP3011"}
    after = project.files()
    assert {n: d for n, d in before.items() if "/embed/" in n} == {n: d for n, d in after.items() if "/embed/" in n}


# --- language versions


GUARDED = "#if __METAL_VERSION__ >= 310\n%s#endif\n"
BOTH = ", std: [metal2.4, metal3.1]"


@pytest.fixture
def portable(tmp_path: Path) -> Bundles:
    for wheel in ("ziglang", "llvmlite"):
        pytest.importorskip(wheel)
    project = source_bundles(tmp_path, BOTH, mac=False)
    head, body = (SOURCE % "b").split("kernel", 1)
    project.write("b.metal", head + GUARDED % f"kernel{body}")
    return project


def test_a_kernel_that_an_older_version_loses_is_named(portable: Bundles) -> None:
    result = portable.build()
    (lost,) = result.diagnostics
    assert (lost.code, lost.subject) == ("SP4060", "kernel_b")
    assert "metal2.4" in lost.message
    assert "__METAL_VERSION__>=310" in lost.cause
    assert portable.read("ios/embed/demo-metal2.4.kernels") == b"kernel_a\n"
    assert portable.read("ios/embed/demo-metal3.1.kernels") == b"kernel_a\nkernel_b\n"


def test_unless_it_is_declared_from_a_version_on(portable: Bundles) -> None:
    declared = KERNELS.replace("[kernel_b]", "{kernel_b: {requires_std: metal3.1}}")
    portable.manifest(SOURCE_OUTPUT % BOTH, declared)
    assert portable.build().diagnostics == []
    loader = portable.read("ios/embed/demo_metal.m").decode()
    assert '@"kernel_a"' in loader
    assert '@"kernel_b"' not in loader  # an older system does not have it
    assert "languageVersion" not in loader


def test_an_error_of_the_merged_text_names_the_original_file(portable: Bundles) -> None:
    """A function at file scope in two sources by way of a macro: only a compiler sees it."""
    for name in "ab":
        portable.write(
            f"{name}.metal",
            f"#define M(n) static int n() {{ return {ord(name)}; }}\nM(twice)\n#undef M\n" + SOURCE % name,
        )
    result = portable.build()
    assert codes(result) == {"SP8001"}
    assert {str(d.place) for d in result.diagnostics} == {"b.metal:2:3"}
    assert all(d.message.startswith("merged source at metal") for d in result.diagnostics)


# --- what makes it again


def test_a_file_that_is_now_found_first_merges_again(tmp_path: Path) -> None:
    project = source_bundles(tmp_path, ", substitutions: {common.h: other.h}")
    project.write("other.h", COMMON.replace("2.0f", "4.0f"))
    project.build()
    assert b"4.0f" in project.read("ios/embed/demo.msl")
    project.write("other.h", COMMON.replace("2.0f", "5.0f"))
    project.build()
    assert b"5.0f" in project.read("ios/embed/demo.msl")

    project.write("a.metal", "__embed_extra.h__\n" + SOURCE % "a")
    project.write("inc/extra.h", "// from the include folder\n")
    text = (project.folder / "demo.yaml").read_text()
    project.write("demo.yaml", text.replace("targets:", "include: inc\ntargets:", 1))
    project.build()
    assert b"from the include folder" in project.read("ios/embed/demo.msl")
    project.write("extra.h", "// beside the source\n")
    project.build()
    assert b"beside the source" in project.read("ios/embed/demo.msl")


def test_the_xcode_phase_lists_every_file_that_is_read(tmp_path: Path) -> None:
    project = source_bundles(tmp_path, ", substitutions: {note.h: deep/note.h}")
    project.write("deep/note.h", "// found by a marker only\n")
    project.write("a.metal", "__embed_note.h__\n" + SOURCE % "a")
    project.build()
    listed = project.read("xcode/inputs.xcfilelist").decode().split("\n")
    names = ("demo.yaml", "a.metal", "b.metal", "common.h", "deep/note.h")
    assert listed == [*(f"$(SHADERPACK_ROOT)/{name}" for name in names), ""]


def test_only_changed_bundles_are_made_again(bundles: Bundles) -> None:
    bundles.build()
    text = (bundles.folder / "demo.yaml").read_text()
    bundles.write("demo.yaml", text.replace('simulator, min_os: "17.0"', 'simulator, min_os: "17.1"'))
    statuses = {r.output: r.status for r in bundles.build().records}
    assert statuses["ios/embed/demo_metallib.S"] == KEPT
    assert statuses["ios-sim/embed/demo_metallib.S"] == BUILT
    assert statuses["Demo.xcframework/Info.plist"] == BUILT


def test_one_target_alone_keeps_the_other_slice(bundles: Bundles) -> None:
    bundles.build()
    before = bundles.files()
    assert codes(bundles.build(targets=("ios-sim",))) == set()
    assert bundles.files() == before
    actions = json.loads(bundles.read("report.json"))["actions"]
    assert len({a["output"] for a in actions}) == len(actions)


def test_no_framework_without_all_of_its_targets(bundles: Bundles) -> None:
    assert codes(bundles.build(targets=("ios",))) == set()
    assert "ios/embed/demo_metallib.S" in bundles.files()
    assert not any(name.startswith("Demo.xcframework") for name in bundles.files())


def test_what_is_no_longer_asked_for_is_removed(bundles: Bundles) -> None:
    bundles.build()
    bundles.manifest("  - {kind: metallib, target: [ios, ios-sim]}\n")
    bundles.build()
    assert not (bundles.out / "Demo.xcframework").exists()
    assert not (bundles.out / "ios/embed").exists()
    assert (bundles.out / "ios/default.metallib").is_file()


# --- refusals


@pytest.mark.parametrize(
    ("outputs", "code", "says"),
    [
        ("  - {kind: embed, target: [ios, ios]}\n  - {kind: embed, target: ios}\n", "SP1010", "two outputs"),
        ("  - {kind: xcframework, target: ios}\n", "SP1011", "needs an embed bundle"),
        ("  - {kind: metallib, target: ios, payload: source}\n", "SP1002", "payload"),
        ("  - {kind: embed, target: ios, section: nocomma}\n", "SP1009", "SEGMENT"),
        ("  - {kind: embed, target: ios, std: metal9}\n", "SP1009", "metal3.1"),
        ("  - {kind: embed, target: ios, substitutions: {a: ../b}}\n", "SP1008", "outside"),
    ],
)
def test_faulty_outputs_are_refused(outputs: str, code: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        Bundles(tmp_path, outputs).build()
    assert code in {d.code for d in caught.value.diagnostics}
    assert any(says in f"{d.message} {d.cause} {d.fix}" for d in caught.value.diagnostics)


def test_a_target_without_kernels_is_refused(tmp_path: Path) -> None:
    project = Bundles(tmp_path)
    project.manifest(OUTPUTS, KERNELS.replace("functions", "targets: ios, functions"))
    with pytest.raises(UsageError) as caught:
        project.build()
    assert [(d.code, d.subject) for d in caught.value.diagnostics] == [("SP1013", "ios-sim")]


def test_without_llvmlite_the_fix_is_named(bundles: Bundles, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "llvmlite" else find(name))
    with pytest.raises(ToolMissingError) as caught:
        bundles.build()
    assert (caught.value.exit_code, caught.value.diagnostics[0].code) == (3, "SP2006")
    assert "shaderpack[metal]" in caught.value.diagnostics[0].fix
