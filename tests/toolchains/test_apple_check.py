"""The check of a linked library: each planted difference is found, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from shaderc_tool.diagnostics import Severity
from shaderc_tool.toolchains.apple_check import check_metallib
from shaderc_tool.toolchains.apple_targets import PLATFORMS, AppleTarget


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
