"""The check of a linked library: each planted difference is found, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from shaderc_tool.diagnostics import Severity
from shaderc_tool.formats.metallib import (
    FunctionType,
    NewFunction,
    build_library,
    read_library,
    write_library,
)
from shaderc_tool.formats.metallib_profiles import PLATFORMS as FORMAT_PLATFORMS
from shaderc_tool.toolchains.apple_check import MetalLibrary, check_metallib
from shaderc_tool.toolchains.apple_targets import PLATFORM_NAMES, PLATFORMS, AppleTarget
from tests import corpora
from tests.fakes.library import library


@dataclass(frozen=True)
class Function:
    name: str
    language_version: tuple[int, ...] = (3, 1, 0)


@dataclass(frozen=True)
class Library:
    platform: int = 2
    os_version: tuple[int, ...] = (17, 0, 0)
    functions: tuple[Function, ...] = (Function("a"), Function("b"))


TARGET = AppleTarget("iphoneos", "17.0", "metal3.1")
GOOD = Library()


def codes(library: Library, target: AppleTarget = TARGET, functions: tuple[str, ...] = ("a", "b")) -> list[str]:
    found = check_metallib(library, target, functions, "ios/default.metallib")
    assert all(d.subject == "ios/default.metallib" and d.cause and d.fix for d in found)
    return [d.code for d in found]


def test_what_was_asked_for() -> None:
    assert codes(GOOD) == []


def test_order_and_length_of_versions_do_not_matter() -> None:
    assert codes(replace(GOOD, os_version=(17, 0)), functions=("b", "a")) == []


def test_old_containers_that_record_no_platform() -> None:
    assert codes(replace(GOOD, platform=0, os_version=(0, 0, 0))) == []
    functions = (Function("a", ()), Function("b", ()))
    assert codes(replace(GOOD, functions=functions)) == []


@pytest.mark.parametrize("sdk", PLATFORMS)
def test_every_other_platform_is_refused(sdk: str) -> None:
    target = replace(TARGET, sdk=sdk)
    for platform in PLATFORMS.values():
        library = replace(GOOD, platform=platform.number)
        expected = [] if platform.number == target.platform.number else ["SP4021"]
        assert codes(library, target) == expected


def test_platform_is_named() -> None:
    (found,) = check_metallib(replace(GOOD, platform=7), TARGET, "ab", "x")
    assert found.message == "the library is for iOS simulator, the target is iOS"
    (found,) = check_metallib(replace(GOOD, platform=77), TARGET, "ab", "x")
    assert found.message == "the library is for platform 77, the target is iOS"


@pytest.mark.parametrize(
    ("version", "severity"),
    [((26, 0, 0), Severity.ERROR), ((17, 0, 1), Severity.ERROR), ((16, 4, 0), Severity.WARNING)],
)
def test_deployment_target(version: tuple[int, ...], severity: Severity) -> None:
    (found,) = check_metallib(replace(GOOD, os_version=version), TARGET, "ab", "x")
    assert (found.code, found.severity) == ("SP4022", severity)


def test_language_versions() -> None:
    functions = (Function("a"), Function("b", (3, 2, 0)), Function("c", (2, 4, 0)), Function("d", (3, 2, 0)))
    found = check_metallib(replace(GOOD, functions=functions), TARGET, "abcd", "x")
    assert [d.code for d in found] == ["SP4023", "SP4023"]
    assert found[0].message == "c is in Metal 2.4, the target asks for metal3.1"
    assert found[1].message == "b, d are in Metal 3.2, the target asks for metal3.1"


def test_no_functions() -> None:
    assert codes(replace(GOOD, functions=())) == ["SP4024"]
    assert codes(replace(GOOD, functions=()), functions=()) == ["SP4024"]


@pytest.mark.parametrize(
    ("compiled", "message"),
    [
        ("abc", "functions compiled: 3, in the library: 2; it lost c"),
        ("a", "functions compiled: 1, in the library: 2; it gained b"),
        ("aabb", "functions compiled: 4, in the library: 2; it lost a, b"),
        ("ac", "functions compiled: 2, in the library: 2; it lost c and gained b"),
    ],
)
def test_functions_in_and_out(compiled: str, message: str) -> None:
    (found,) = check_metallib(GOOD, TARGET, compiled, "x")
    assert (found.code, found.message) == ("SP4025", message)


def test_long_lists_are_cut() -> None:
    compiled = [f"f{number:04}" for number in range(1000)]
    library = replace(GOOD, functions=(Function("f0000"),))
    (found,) = check_metallib(library, TARGET, compiled, "x")
    assert found.message.endswith("f0008 and 991 more")


@pytest.mark.parametrize("sdk", PLATFORMS)
@pytest.mark.parametrize("names", [(), ("one",), ("one", "two")])
def test_two_writers_that_know_nothing_of_each_other_agree(sdk: str, names: tuple[str, ...]) -> None:
    target = replace(TARGET, sdk=sdk)
    data = library(target.triple, [(name, "3.1") for name in names])
    read = read_library(data)
    assert write_library(read) == data
    functions = [
        NewFunction(f.name, FunctionType.KERNEL, bytes(f.bitcode), air_version=(2, 6), language_version=(3, 1))
        for f in read.functions
    ]
    slug = next(platform.slug for platform in FORMAT_PLATFORMS if platform.number == target.platform.number)
    built = build_library(functions, slug, (17, 0, 0), format_version=(2, 7))
    assert write_library(built) == data
    assert [d.code for d in check_metallib(built, target, names, "x")] == ([] if names else ["SP4024"])


def test_platform_names_are_those_of_the_format() -> None:
    assert {p.number: p.label for p in FORMAT_PLATFORMS} == PLATFORM_NAMES


def test_a_library_made_by_apples_tools() -> None:
    ((_, data),) = corpora.metallibs("msplat")
    real = read_library(data)
    names = [function.name for function in real.functions]
    assert check_metallib(real, AppleTarget("macosx", "14.0", "metal3.1"), names, "x") == []
    assert codes_of(real, AppleTarget("macosx", "13.0", "metal3.0"), names) == ["SP4022", "SP4023"]
    assert codes_of(real, AppleTarget("maccatalyst", "17.0", "metal3.1"), names) == ["SP4021"]
    assert codes_of(real, AppleTarget("macosx", "14.0", "metal3.1"), [*names, "lost"]) == ["SP4025"]


def codes_of(real: MetalLibrary, target: AppleTarget, names: list[str]) -> list[str]:
    return [d.code for d in check_metallib(real, target, names, "x")]
