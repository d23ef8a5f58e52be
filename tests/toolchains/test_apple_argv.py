"""Command lines and lint of the Apple toolchain. T12 and T22 of the small tests.

SHADERPACK_UPDATE_GOLDEN=1 rewrites the files in golden/.
"""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path

import pytest

from shaderc_tool.diagnostics import Place, Severity
from shaderc_tool.toolchains.apple import (
    MetalOptions,
    child_env,
    lint_math,
    lint_source,
    lint_target,
    metal_argv,
    metallib_argv,
    version_argv,
)
from shaderc_tool.toolchains.apple_targets import (
    LANGUAGES,
    PLATFORMS,
    AppleTarget,
    floor,
    newest_language,
    parse_version,
    show_version,
)

GOLDEN = Path(__file__).parent / "golden"

TARGETS = {
    "macosx": AppleTarget("macosx", "14.0", "metal3.1"),
    "iphoneos": AppleTarget("iphoneos", "17.0", "metal3.1"),
    "iphonesimulator": AppleTarget("iphonesimulator", "17.0", "metal3.1"),
    "appletvos": AppleTarget("appletvos", "17.0", "metal3.1"),
    "appletvsimulator": AppleTarget("appletvsimulator", "17.0", "metal3.1"),
    "watchos": AppleTarget("watchos", "10.0", "metal3.1"),
    "xros": AppleTarget("xros", "1.0", "metal3.1"),
    "xrsimulator": AppleTarget("xrsimulator", "1.0", "metal3.1"),
    "maccatalyst": AppleTarget("maccatalyst", "17.0", "metal3.1"),
}
CONFIGURATIONS = {
    "build": MetalOptions(),
    "debug": MetalOptions(
        optimize="none", debug=True, defines=(("TYPE", "half"), ("CHECKED", "")), include=("metal/include",)
    ),
}
PLACE = Place("milady.yaml", 7, 3)


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
@pytest.mark.parametrize("sdk", TARGETS)
def test_golden_command_lines(sdk: str, configuration: str) -> None:
    target, options = TARGETS[sdk], CONFIGURATIONS[configuration]
    folder = f"build/milady/{sdk}"
    compile_line = metal_argv(target, "metal/turbo3.metal", f"{folder}/turbo3.air", f"{folder}/turbo3.d", options)
    link_line = metallib_argv(target, [f"{folder}/turbo4.air", f"{folder}/turbo3.air"], f"{folder}/default.metallib")
    text = "\n".join([*compile_line, "", *link_line]) + "\n"
    golden = GOLDEN / f"{sdk}-{configuration}.txt"
    if os.environ.get("SHADERPACK_UPDATE_GOLDEN") == "1":
        golden.write_text(text, "utf-8")
    assert text == golden.read_text("utf-8")


def test_every_platform_has_its_golden_files_and_no_other() -> None:
    assert TARGETS.keys() == PLATFORMS.keys()
    expected = {f"{sdk}-{configuration}.txt" for sdk in PLATFORMS for configuration in CONFIGURATIONS}
    assert {file.name for file in GOLDEN.iterdir()} == expected


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())
def test_the_target_is_named_once(target: AppleTarget) -> None:
    argv = metal_argv(target, "a.metal", "a.air", "a.d", MetalOptions())
    named = [a for a in argv if a == "-target" or "version-min" in a or a.startswith("-mtargetos")]
    assert named == ["-target"]


def test_triples_differ_between_all_platforms() -> None:
    same_version = [AppleTarget(sdk, "17.0", "metal3.1") for sdk in PLATFORMS]
    for left, right in combinations(same_version, 2):
        assert left.triple != right.triple
        assert left.platform.number != right.platform.number


@pytest.mark.parametrize(
    ("sdk", "std", "flag"),
    [
        ("macosx", "metal1.1", "-std=macos-metal1.1"),
        ("macosx", "metal2.4", "-std=macos-metal2.4"),
        ("iphonesimulator", "metal2.4", "-std=ios-metal2.4"),
        ("appletvos", "metal2.3", "-std=ios-metal2.3"),
        ("maccatalyst", "metal2.4", "-std=ios-metal2.4"),
        ("macosx", "metal3.0", "-std=metal3.0"),
        ("iphoneos", "metal4.1", "-std=metal4.1"),
    ],
)
def test_spelling_of_the_language_version(sdk: str, std: str, flag: str) -> None:
    assert AppleTarget(sdk, "27.0", std).std_flag == flag


@pytest.mark.parametrize(
    ("text", "version", "shown"),
    [("14", (14, 0, 0), "14.0"), ("14.0", (14, 0, 0), "14.0"), ("10.15.4", (10, 15, 4), "10.15.4")],
)
def test_versions(text: str, version: tuple[int, int, int], shown: str) -> None:
    assert parse_version(text) == version
    assert show_version(version) == shown


@pytest.mark.parametrize("text", ["", "14.", "14.0.0.0", "v14", "14.x"])
def test_not_versions(text: str) -> None:
    with pytest.raises(ValueError, match="not a version"):
        AppleTarget("macosx", text, "metal3.1")


def test_targets_are_checked_when_made() -> None:
    with pytest.raises(ValueError, match="not a Metal language version"):
        AppleTarget("macosx", "14.0", "3.1")
    with pytest.raises(KeyError):
        AppleTarget("macos", "14.0", "metal3.1")


@pytest.mark.parametrize("path", ["/abs/x", "C:\\x", "C:/x"])
def test_absolute_paths_are_refused(path: str) -> None:
    target = TARGETS["macosx"]
    for source, output, depfile, folder in [(path, "o", "d", "i"), ("s", path, "d", "i"), ("s", "o", path, "i")]:
        with pytest.raises(ValueError, match="absolute path"):
            metal_argv(target, source, output, depfile, MetalOptions(include=(folder,)))
    with pytest.raises(ValueError, match="absolute path"):
        metal_argv(target, "s", "o", "d", MetalOptions(include=(path,)))
    with pytest.raises(ValueError, match="absolute path"):
        metallib_argv(target, ["a.air", path], "o")
    with pytest.raises(ValueError, match="absolute path"):
        metallib_argv(target, ["a.air"], path)


# --- T22: the math mode is always spelled out, and safe unless asked otherwise


@pytest.mark.parametrize(
    ("options", "flags"),
    [
        (MetalOptions(), {"-fno-fast-math"}),
        (MetalOptions(math="safe"), {"-fno-fast-math"}),
        (MetalOptions(math="relaxed"), {"-fmetal-math-mode=relaxed", "-fmetal-math-fp32-functions=fast"}),
        (MetalOptions(math="fast"), {"-ffast-math"}),
    ],
)
def test_math_mode(options: MetalOptions, flags: set[str]) -> None:
    argv = metal_argv(TARGETS["macosx"], "a.metal", "a.air", "a.d", options)
    assert {a for a in argv if "math" in a} == flags


def test_fast_math_warns_unless_allowed() -> None:
    (found,) = lint_math("fast", PLACE)
    assert (found.code, found.severity, found.place) == ("SP2021", Severity.WARNING, PLACE)
    assert not lint_math("fast", PLACE, allowed=True)
    assert not lint_math("safe", PLACE)
    assert not lint_math("relaxed", PLACE)


@pytest.mark.parametrize(("optimize", "flag"), [("none", "-O0"), ("size", "-Os"), ("speed", "-O2")])
def test_optimize(optimize: str, flag: str) -> None:
    argv = metal_argv(TARGETS["macosx"], "a.metal", "a.air", "a.d", MetalOptions(optimize=optimize))
    assert [a for a in argv if a.startswith("-O")] == [flag]


def test_sources_are_recorded_only_for_debug() -> None:
    argv = metal_argv(TARGETS["macosx"], "a.metal", "a.air", "a.d", MetalOptions())
    assert not any(a.startswith(("-g", "-frecord")) for a in argv)


def test_environment_of_the_tools() -> None:
    assert child_env() == {"ZERO_AR_DATE": "1"}
    chosen = child_env("com.apple.dt.toolchain.Metal.32023")
    assert chosen == {"ZERO_AR_DATE": "1", "TOOLCHAINS": "com.apple.dt.toolchain.Metal.32023"}


def test_version_question() -> None:
    assert version_argv(TARGETS["maccatalyst"], "metallib") == ("xcrun", "-sdk", "macosx", "metallib", "--version")


# --- language version against deployment target


@pytest.mark.parametrize(
    ("sdk", "min_os", "std", "fix"),
    [
        ("macosx", "13.6", "metal3.1", "use std: metal3.0, or raise min_os to 14.0"),
        ("macosx", "10.15", "metal2.3", "use std: metal2.2, or raise min_os to 11.0"),
        ("iphoneos", "17.0", "metal3.2", "use std: metal3.1, or raise min_os to 18.0"),
        ("iphonesimulator", "18.6", "metal4.0", "use std: metal3.2, or raise min_os to 26.0"),
        ("appletvos", "15.0", "metal3.0", "use std: metal2.4, or raise min_os to 16.0"),
        ("watchos", "10.0", "metal3.2", "use std: metal3.1, or raise min_os to 11.0"),
        ("watchos", "11.0", "metal4.0", "use std: metal3.2, or raise min_os to 26.0"),
        ("xros", "1.0", "metal3.2", "use std: metal3.1, or raise min_os to 2.0"),
        ("xrsimulator", "2.0", "metal4.0", "use std: metal3.2, or raise min_os to 26.0"),
        ("maccatalyst", "16.4", "metal3.1", "use std: metal3.0, or raise min_os to 17.0"),
        ("macosx", "10.10", "metal1.1", "use another SDK, or raise min_os to 10.11"),
    ],
)
def test_language_too_new(sdk: str, min_os: str, std: str, fix: str) -> None:
    (found,) = lint_target(AppleTarget(sdk, min_os, std), PLACE)
    assert (found.code, found.fix, found.place) == ("SP2019", fix, PLACE)
    assert found.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("sdk", "min_os", "std"),
    [
        ("macosx", "10.11", "metal1.1"),
        ("macosx", "14.0", "metal3.1"),
        ("macosx", "26", "metal4.0"),
        ("iphoneos", "17", "metal3.1"),
        ("watchos", "10", "metal3.1"),
        ("xros", "1.0", "metal3.1"),
        ("xros", "1.0", "metal2.4"),
        ("xrsimulator", "26.0", "metal4.0"),
        ("maccatalyst", "17.0", "metal3.1"),
    ],
)
def test_language_that_fits(sdk: str, min_os: str, std: str) -> None:
    assert lint_target(AppleTarget(sdk, min_os, std), PLACE) == ()


def test_language_that_is_not_known() -> None:
    (found,) = lint_target(AppleTarget("macosx", "14.0", "metal3.7"), PLACE)
    assert found.code == "SP2019"
    assert "metal3.2" in found.cause
    assert found.fix == "use std: metal3.1"


@pytest.mark.parametrize("sdk", PLATFORMS)
def test_a_newer_language_never_needs_an_older_system(sdk: str) -> None:
    target = AppleTarget(sdk, "99.0", "metal3.1")
    floors = [floor(target, language) for language in sorted(LANGUAGES)]
    assert floors == sorted(floors)
    assert newest_language(target) == max(LANGUAGES)


# --- bfloat


OLD = AppleTarget("macosx", "13.0", "metal3.0")


def test_bfloat_before_metal_3_1() -> None:
    text = '// bfloat in a comment\n/* bfloat\n */\nconstant char *s = "bfloat";\n  device bfloat4 *x;\n'
    (found,) = lint_source(OLD, "a.metal", text)
    assert (found.code, found.place) == ("SP2020", Place("a.metal", 5, 10))
    assert found.message == "bfloat4 needs metal3.1, but the target asks for metal3.0"
    assert found.severity is Severity.WARNING
    assert lint_source(TARGETS["macosx"], "a.metal", text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "// bfloat\n",
        "#if defined(__HAVE_BFLOAT__)\nbfloat x;\n#endif\n",
        "#if __METAL_VERSION__ >= 310\nbfloat x;\n#endif\n",
        "float my_bfloat; int bfloat16x;\n",
    ],
)
def test_no_bfloat_or_guarded(text: str) -> None:
    assert lint_source(OLD, "a.metal", text) == ()
