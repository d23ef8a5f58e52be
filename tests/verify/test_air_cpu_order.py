"""The order of blocks that decides which lanes go first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shaderc_tool.verify.air_cpu.order import weak_topological_order

Graph = dict[str, list[str]]


def test_loop_before_its_exit_whatever_the_textual_order() -> None:
    graph = {"entry": ["exit", "loop"], "loop": ["exit", "loop"], "exit": []}
    assert weak_topological_order(graph, "entry") == ["entry", "loop", "exit"]


def test_nested_loops_stay_together() -> None:
    graph = {
        "entry": ["outer"],
        "outer": ["exit", "body"],
        "body": ["inner"],
        "inner": ["latch", "inner2"],
        "inner2": ["inner"],
        "latch": ["outer"],
        "exit": [],
    }
    order = weak_topological_order(graph, "entry")
    assert order == ["entry", "outer", "body", "inner", "inner2", "latch", "exit"]


def test_both_arms_before_the_join() -> None:
    graph = {"entry": ["join", "then", "else"], "then": ["join"], "else": ["join"], "join": []}
    assert weak_topological_order(graph, "entry")[-1] == "join"


def test_a_very_deep_nest_needs_no_recursion() -> None:
    graph: Graph = {f"h{i}": [f"h{i + 1}", f"x{i}"] for i in range(1200)}
    graph |= {f"x{i}": [f"h{max(0, i - 1)}"] for i in range(1200)}
    graph["h1200"] = []
    assert len(weak_topological_order(graph, "h0")) == 2401


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    names = [f"n{i}" for i in range(draw(st.integers(1, 9)))]
    return {name: draw(st.lists(st.sampled_from(names), max_size=3)) for name in names}


def _reaches(graph: Graph, start: str) -> set[str]:
    seen: set[str] = set()
    work = list(graph[start])
    while work:
        node = work.pop()
        if node not in seen:
            seen.add(node)
            work += graph[node]
    return seen


@given(graphs())
def test_reachable_nodes_once_and_components_in_one_piece(graph: Graph) -> None:
    order = weak_topological_order(graph, "n0")
    reach = {node: _reaches(graph, node) for node in graph}
    assert sorted(order) == sorted({"n0"} | reach["n0"])
    for a, first in enumerate(order):
        for later in order[:a]:
            # What lies before a node and can be reached from it belongs to a loop with it.
            if later in reach[first]:
                assert first in reach[later]
        component = [node for node in order if node == first or (node in reach[first] and first in reach[node])]
        at = order.index(component[0])
        assert order[at : at + len(component)] == component
