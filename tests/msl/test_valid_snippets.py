"""Valid Metal that is hard to take off macOS raises nothing and becomes AIR."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.msl.compiling import SNIPPETS, clean, compile_text

FILES = sorted((SNIPPETS / "valid").glob("*.metal"))
_FUNCTION = re.compile(
    r"^(?:\[\[.*\]\] ?|template.*|constexpr |static |kernel |inline )*[\w:<>]+[ &*]+\w+\(", re.MULTILINE
)


def test_there_are_enough_of_them() -> None:
    assert sum(len(_FUNCTION.findall(path.read_text("utf-8"))) for path in FILES) >= 40


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("math", ["safe", "fast"])
def test_it_compiles_without_a_word(path: Path, math: str) -> None:
    result = compile_text(path.read_text("utf-8"), path.name, math=math)  # type: ignore[arg-type]
    clean(result)
    assert result.diagnostics == ()
    assert result.air_ir is not None
    assert "addrspace(4)" not in result.air_ir


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize(
    ("std", "platform", "min_os"),
    [
        ("metal3.0", "macos", "13.0"),
        ("metal3.2", "macos", "15.0"),
        ("metal4.0", "ios", "26.0"),
        ("metal3.1", "ios-simulator", "17.0"),
    ],
)
def test_it_compiles_for_other_systems(path: Path, std: str, platform: str, min_os: str) -> None:
    clean(compile_text(path.read_text("utf-8"), path.name, std=std, platform=platform, min_os=min_os))
