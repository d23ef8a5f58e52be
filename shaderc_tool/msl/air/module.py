"""An LLVM 15 module as text, taken apart by top-level entity.

LLVM prints one entity a line, except function bodies. Nothing here understands instructions: passes look at lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

_DEFINE = re.compile(r'define\b.*?@("(?:[^"\\]|\\.)*"|[-\w.$]+)\(')
_DECLARE = re.compile(r'declare\b.*?@("(?:[^"\\]|\\.)*"|[-\w.$]+)\(')
_GLOBAL = re.compile(r'@("(?:[^"\\]|\\.)*"|[-\w.$]+) = ')
_METADATA = re.compile(r"!(\d+) = (.*)")
_NAMED = re.compile(r"!([A-Za-z][\w.]*) = (.*)")
_ATTRIBUTES = re.compile(r"attributes #(\d+) = \{(.*)\}")
_REFERENCE = re.compile(r'@("(?:[^"\\]|\\.)*"|[-\w.$]+)')
_NODE = re.compile(r"!(\d+)\b")
_GROUP = re.compile(r" #(\d+)\b")


@dataclass
class Function:
    """A function definition: its `define` line and the lines of its body, without the closing brace."""

    name: str
    header: str
    body: list[str]


@dataclass
class IrModule:
    """A module's entities in order. Dictionaries go from name (without `@`, `!` or `#`) to the entity's text."""

    preamble: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    globals: dict[str, str] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    declarations: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    metadata: dict[int, str] = field(default_factory=dict)

    def text(self) -> str:
        """The module as LLVM reads it."""
        out = [*self.preamble, *self.types]
        out += [f"@{name} = {value}" for name, value in self.globals.items()]
        for function in self.functions.values():
            out += ["", function.header, *function.body, "}"]
        out += list(self.declarations.values())
        out += [f"attributes #{n} = {{{value}}}" for n, value in self.attributes.items()]
        out += [f"!{name} = {value}" for name, value in self.named.items()]
        out += [f"!{number} = {value}" for number, value in self.metadata.items()]
        return "\n".join(out) + "\n"

    def reachable(self, roots: set[str]) -> IrModule:
        """The part that the functions and globals in `roots` need. Metadata is kept where it is referred to."""
        wanted: set[str] = set()
        todo = list(roots)
        while todo:
            name = todo.pop()
            if name in wanted:
                continue
            wanted.add(name)
            todo += [r for r in self._references(name) if r not in wanted]
        part = replace(
            self,
            globals={n: v for n, v in self.globals.items() if n in wanted},
            functions={n: f for n, f in self.functions.items() if n in wanted},
            declarations={n: v for n, v in self.declarations.items() if n in wanted},
            named=dict(self.named),
            metadata=dict(self.metadata),
        )
        part.drop_unused()
        return part

    def _references(self, name: str) -> set[str]:
        if name in self.globals:
            return set(_REFERENCE.findall(self.globals[name]))
        function = self.functions.get(name)
        if function is None:
            return set()
        return {r for line in function.body if "@" in line for r in _REFERENCE.findall(line)}

    def drop_unused(self) -> None:
        """Take out attribute groups and metadata nodes that nothing refers to."""
        lines = [f.header for f in self.functions.values()] + list(self.declarations.values())
        body = [line for f in self.functions.values() for line in f.body]
        groups = {g for line in (*lines, *body) for g in _GROUP.findall(line)}
        self.attributes = {n: v for n, v in self.attributes.items() if n in groups}
        nodes: set[int] = set()
        sources = [*lines, *body, *self.globals.values(), *self.named.values()]
        todo = [int(n) for line in sources if "!" in line for n in _NODE.findall(line)]
        while todo:
            node = todo.pop()
            if node not in nodes:
                nodes.add(node)
                todo += [int(n) for n in _NODE.findall(self.metadata.get(node, ""))]
        self.metadata = {n: v for n, v in self.metadata.items() if n in nodes}

    def renumber(self) -> None:
        """Number metadata nodes and attribute groups from 0 in order, so that equal modules have equal text."""
        nodes = {old: new for new, old in enumerate(sorted(self.metadata))}
        groups = {old: str(new) for new, old in enumerate(sorted(self.attributes, key=int))}

        def node(match: re.Match[str]) -> str:
            return f"!{nodes[int(match[1])]}"

        def line_of(text: str) -> str:
            text = _NODE.sub(node, text) if "!" in text else text
            return _GROUP.sub(lambda m: f" #{groups[m[1]]}", text) if " #" in text else text

        for function in self.functions.values():
            function.header = line_of(function.header)
            function.body = [line_of(line) for line in function.body]
        self.declarations = {n: line_of(v) for n, v in self.declarations.items()}
        self.globals = {n: _NODE.sub(node, v) for n, v in self.globals.items()}
        self.named = {n: _NODE.sub(node, v) for n, v in self.named.items()}
        self.metadata = {nodes[n]: _NODE.sub(node, self.metadata[n]) for n in sorted(self.metadata)}
        self.attributes = {groups[n]: self.attributes[n] for n in sorted(self.attributes, key=int)}

    def add_metadata(self, value: str) -> int:
        """Add a node and return its number."""
        number = max(self.metadata, default=-1) + 1
        self.metadata[number] = value
        return number


def parse_module(text: str) -> IrModule:
    """Take apart what LLVM 15 printed."""
    module = IrModule()
    lines = iter(text.split("\n"))
    for line in lines:
        if not line or line.startswith(";"):
            continue
        first = line[0]
        if first == "d" and line.startswith("define"):
            _function(module, line, lines)
        elif first == "d":
            _entity(_DECLARE, line, module.declarations, whole=True)
        elif first == "@":
            _entity(_GLOBAL, line, module.globals)
        elif first == "%":
            module.types.append(line)
        elif first == "a":
            _entity(_ATTRIBUTES, line, module.attributes)
        elif first == "!":
            number = _METADATA.match(line)
            if number is not None:
                module.metadata[int(number[1])] = number[2]
            else:
                _entity(_NAMED, line, module.named)
        else:
            module.preamble.append(line)
    return module


def _function(module: IrModule, header: str, lines: object) -> None:
    match = _DEFINE.match(header)
    assert match is not None, header
    body: list[str] = []
    for line in lines:  # type: ignore[attr-defined]
        if line == "}":
            break
        body.append(line)
    module.functions[match[1]] = Function(match[1], header, body)


def _entity(pattern: re.Pattern[str], line: str, into: dict[str, str], whole: bool = False) -> None:
    match = pattern.match(line)
    if match is not None:
        into[match[1]] = line if whole else line[match.end() :] if pattern is _GLOBAL else match[2]
