"""YAML to nodes: positions, text as written, hostile input."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shaderc_tool.diagnostics import Place, UsageError
from shaderc_tool.manifest.nodes import parse


def test_values_stay_as_written() -> None:
    node, found = parse("min_os: 14.10\nanswer: no\nempty:\n", "m.yaml")
    assert found == []
    assert node["min_os"].string() == "14.10"
    assert node["answer"].string() == "no"
    assert node["empty"].string() == ""


def test_every_node_knows_its_place() -> None:
    node, _ = parse("a:\n  b: [x, y]\n", "m.yaml")
    assert node["a"].key_places["b"] == Place("m.yaml", 2, 3)
    items = node["a"]["b"].items
    assert items is not None
    assert items[1].place == Place("m.yaml", 2, 10)


def test_a_key_given_twice_is_reported_with_both_places() -> None:
    node, found = parse("a: 1\nb: 2\na: 3\n", "m.yaml")
    assert [d.code for d in found] == ["SP1006"]
    assert found[0].place == Place("m.yaml", 3, 1)
    assert "line 1" in found[0].cause
    assert node["a"].string() == "1"


@pytest.mark.parametrize("text", ["", "a: [1, 2", "a: b: c", "\t- x", "a: *nobody", "x: \x07"])
def test_what_is_not_yaml_is_one_usage_error(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text, "m.yaml")
    assert [d.code for d in caught.value.diagnostics] == ["SP1001"]
    assert caught.value.exit_code == 2


def test_aliases_cannot_blow_up() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 23)]
    node, _ = parse("\n".join(lines) + "\n", "m.yaml")
    assert node["a22"].items is not None


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(UsageError):
        parse("a: " + "[" * 200 + "]" * 200, "m.yaml")


@given(st.text(max_size=200))
def test_any_text_parses_or_is_a_usage_error(text: str) -> None:
    try:
        parse(text, "m.yaml")
    except UsageError as error:
        assert error.diagnostics[0].code == "SP1001"
