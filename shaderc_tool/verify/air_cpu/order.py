"""An order of basic blocks in which lanes of a simdgroup reconverge as they do on hardware.

A GPU runs the lanes that are furthest behind first, so that they catch up at the point where paths join: all
iterations of a loop before the code after it, both arms of a branch before the join. With blocks numbered in a
weak topological order (Bourdoncle, "Efficient chaotic iteration strategies with widenings", 1993), "furthest behind"
is the smallest number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def weak_topological_order(successors: Mapping[str, Iterable[str]], entry: str) -> list[str]:
    """All nodes reachable from `entry`; a loop's nodes are contiguous and come before what follows the loop."""
    out: list[str] = []
    work = _heads(successors, [entry], {entry, *successors})
    while work:
        node, body = work.pop()
        out.append(node)
        work += _heads(successors, successors.get(node, ()), body)
    return out


def _heads(
    successors: Mapping[str, Iterable[str]], starts: Iterable[str], region: set[str]
) -> list[tuple[str, set[str]]]:
    """Loops and single nodes of a region, last one first: (header, the other nodes of its loop)."""
    return [(component[0], set(component[1:])) for component in _components(successors, starts, region)]


def _components(successors: Mapping[str, Iterable[str]], starts: Iterable[str], region: set[str]) -> list[list[str]]:
    """Strongly connected components (Tarjan) in reverse topological order; each starts with the node reached first."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[list[str]] = []
    calls = [("", iter(list(starts)))]  # a virtual root: no node has an empty name
    low[""] = -1
    while calls:
        node, targets = calls[-1]
        for target in targets:
            if target not in region:
                continue
            if target not in index:
                index[target] = low[target] = len(index)
                stack.append(target)
                on_stack.add(target)
                calls.append((target, iter(list(successors.get(target, ())))))
                break
            if target in on_stack:
                low[node] = min(low[node], index[target])
        else:
            calls.pop()
            if not calls:
                break
            low[calls[-1][0]] = min(low[calls[-1][0]], low[node])
            if low[node] == index[node]:
                start = stack.index(node)
                found.append(stack[start:])
                on_stack.difference_update(stack[start:])
                del stack[start:]
    return found
