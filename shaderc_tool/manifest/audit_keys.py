"""The `audit:` part of a manifest: nodes whose shape is sound to frozen rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from shaderc_tool.diagnostics import Diagnostic, Place
from shaderc_tool.manifest.model import AuditRules, Axis, Consumer, DeviceProfile, StructHeader, Target
from shaderc_tool.manifest.nodes import Node
from shaderc_tool.manifest.shapes import as_int, did_you_mean

Found = list[Diagnostic]
Inside = Callable[[Node], "str | None"]
"""A manifest path as a path relative to the root, None with a diagnostic when it leaves the root."""

_UNITS = {
    "": 1,
    "B": 1,
    "KB": 1000,
    "MB": 1000**2,
    "GB": 1000**3,
    "KiB": 1024,
    "MiB": 1024**2,
    "GiB": 1024**3,
}


def load_audit(node: Node, inside: Inside, targets: dict[str, Target], found: Found) -> AuditRules:
    """The rules of a sound `audit:` mapping; what is wrong with paths, names and patterns is added to `found`."""
    budget, growth = node.get("size_budget"), node.get("size_growth")
    default = AuditRules()
    return AuditRules(
        require=_texts(node, "require"),
        forbid=_texts(node, "forbid"),
        size_budget=tuple((glob, _bytes(value.string())) for glob, value in budget.pairs()) if budget else (),
        consumers=tuple(_consumers(node.get("consumers"), inside, found)),
        place=node.place,
        structs=tuple(_structs(node.get("structs"), inside)),
        profiles=tuple(_profiles(node.get("profiles"), targets, found)),
        publishable=_texts(node, "publishable") or default.publishable,
        size_growth=int(growth.string().rstrip("% ")) if growth else default.size_growth,
    )


def _texts(node: Node, key: str) -> tuple[str, ...]:
    value = node.get(key)
    return value.texts() if value else ()


def _items(node: Node | None) -> tuple[Node, ...]:
    if node is None:
        return ()
    return node.items if node.items is not None else (node,)


def _consumers(node: Node | None, inside: Inside, found: Found) -> Iterator[Consumer]:
    plain: list[str] = []
    for item in _items(node):
        if item.entries is None:
            path = inside(item)
            plain += [path] if path is not None else []
            continue
        files = tuple(p for n in _items(item["files"]) if (p := inside(n)) is not None)
        axes = tuple(_axes(item.get("axes"), inside, found))
        prefixes = _texts(item, "prefix") or ("kernel_",)
        yield Consumer(files, item.place, axes, prefixes, _texts(item, "unused"))
    if plain and node is not None:
        yield Consumer(tuple(plain), node.place)


def _axes(node: Node | None, inside: Inside, found: Found) -> Iterator[Axis]:
    for name, value in node.pairs() if node else ():
        arguments = _split(name)
        if value.entries is None:
            rows = tuple(_split(text) for text in value.texts())
            if any(len(row) != len(arguments) for row in rows):
                found.append(_axis_fault(name, value.place, f"each row needs {len(arguments)} values"))
            yield Axis(arguments, rows)
            continue
        pattern, file = value["pattern"].string(), inside(value["file"])
        try:
            groups = re.compile(pattern).groups
        except re.error as error:
            found.append(_axis_fault(name, value["pattern"].place, f"the pattern is not valid: {error}"))
            continue
        if groups != len(arguments):
            found.append(_axis_fault(name, value["pattern"].place, f"the pattern needs {len(arguments)} groups"))
        lower = value.get("lower")
        if file is not None:
            yield Axis(arguments, (), file, pattern, lower is not None and lower.string() == "true")


def _split(text: str) -> tuple[str, ...]:
    """Parts between commas outside of brackets: an argument may be a call."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "([<") - (char in ")]>")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return tuple(part.strip() for part in parts)


def _axis_fault(name: str, place: Place, why: str) -> Diagnostic:
    return Diagnostic(
        "SP1009",
        f"the axis «{name}» is not valid",
        place,
        cause=why,
        fix='write `dk: [64, 128]`, `"dk, dv": ["64, 64"]` or `{file: …, pattern: …}` with one group an argument',
        subject=name,
    )


def _structs(node: Node | None, inside: Inside) -> Iterator[StructHeader]:
    for item in _items(node):
        header = inside(item if item.entries is None else item["header"])
        if header is None:
            continue
        if item.entries is None:
            yield StructHeader(header, item.place)
        else:
            yield StructHeader(header, item.place, item["struct"].string(), _texts(item, "kernels"))


def _profiles(node: Node | None, targets: dict[str, Target], found: Found) -> Iterator[DeviceProfile]:
    for name, item in node.pairs() if node else ():
        chosen = _texts(item, "targets")
        found += [unknown_target(t, item["targets"].place, targets) for t in chosen if t not in targets]
        spirv, invocations = item.get("spirv"), item.get("invocations")
        yield DeviceProfile(
            name,
            item.place,
            _texts(item, "capabilities"),
            _texts(item, "extensions"),
            spirv.string() if spirv else "",
            (as_int(invocations) or 0) if invocations else 0,
            chosen,
        )


def unknown_target(name: str, place: Place, targets: Iterable[str]) -> Diagnostic:
    """The SP1011 diagnostic for a target name that is not declared."""
    return Diagnostic(
        "SP1011",
        f"there is no target «{name}»",
        place,
        cause="it is not declared under `targets:`",
        fix=did_you_mean(name, targets),
        subject=name,
    )


def _bytes(text: str) -> int:
    match = re.fullmatch(r"(\d+)\s*(\w*)", text)
    assert match is not None  # the shape has checked it
    return int(match[1]) * _UNITS[match[2]]
