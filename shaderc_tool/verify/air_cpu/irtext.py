"""Reading LLVM 15 textual IR, as LLVM itself prints it: functions, blocks, instructions, operands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from shaderc_tool.formats.llvm_metadata import split_operands
from shaderc_tool.formats.llvm_types import TypeTable

NAME: Final = r'(?:"[^"]+"|[-\w.$]+)'
GLOBAL: Final = re.compile(rf"@({NAME})")

_DEFINE: Final = re.compile(rf"^define .*?@({NAME})\(")
_LABEL: Final = re.compile(rf"^({NAME}):")
_TARGET: Final = re.compile(rf"label (%{NAME})")
_RESULT: Final = re.compile(rf"^  (%{NAME}) = ")


def split_commas(text: str) -> list[str]:
    """Split at the commas outside of brackets and quotes; the parts are stripped."""
    if any(bracket in text for bracket in '([{<"'):
        return split_operands(text)
    return [part.strip() for part in text.split(",")]


def closing(text: str, start: int) -> int:
    """Position of the bracket that closes the one at `start`; quotes are skipped."""
    depth = 0
    quoted = False
    for pos in range(start, len(text)):
        char = text[pos]
        if char == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif char in "([{<":
            depth += 1
        elif char in ")]}>":
            depth -= 1
            if depth == 0:
                return pos
    raise ValueError(f"unbalanced bracket in {text[:120]!r}")


@dataclass
class Block:
    """A basic block; `lines` are its instructions, `targets` the labels that its terminator names."""

    label: str
    lines: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)


@dataclass
class Function:
    """A function definition. `parameters` holds (type, `%name`) pairs."""

    name: str
    header: str
    parameters: list[tuple[str, str]]
    blocks: list[Block]

    def text(self) -> str:
        """The definition as textual IR."""
        out = [self.header]
        for index, block in enumerate(self.blocks):
            if index or not block.label[1:].isdigit():
                out.append(f"\n{block.label[1:]}:")
            out.extend(block.lines)
        return "\n".join([*out, "}"])


@dataclass
class Module:
    """A module cut into lines outside functions (`top`) and function definitions."""

    top: list[str]
    functions: list[Function]
    types: TypeTable

    def text(self) -> str:
        """The module as textual IR."""
        return "\n\n".join(["\n".join(self.top), *(function.text() for function in self.functions)]) + "\n"


def parse(text: str) -> Module:
    """Cut a module into its parts."""
    types = TypeTable.of_module(text)
    top: list[str] = []
    functions: list[Function] = []
    lines = iter(text.split("\n"))
    for line in lines:
        if line.startswith("define "):
            functions.append(_function(line, lines, types))
        elif line and not line.startswith(";"):
            top.append(line)
    return Module(top, functions, types)


def parameters(declaration: str, types: TypeTable) -> list[tuple[str, str]]:
    """(type, last word) of each parameter in a `define` or `declare` line; the word is `%name` in definitions."""
    match = re.search(rf"@{NAME}\(", declaration)
    if not match:
        raise ValueError(f"no function declaration: {declaration[:120]!r}")
    inside = declaration[match.end() : closing(declaration, match.end() - 1)]
    found = []
    for part in split_commas(inside) if inside.strip() else []:
        end = types.type_end(part)
        words = part[end:].split()
        found.append((part[:end], words[-1] if words else ""))
    return found


def result_type(declaration: str, types: TypeTable) -> str:
    """The result type in a `define` or `declare` line: the type right before `@name(`."""
    head = declaration[: declaration.index("@")].strip()
    for start in range(len(head)):
        if start and head[start - 1] != " ":
            continue
        try:
            if types.type_end(head, start) == len(head):
                return head[start:]
        except ValueError:
            continue
    raise ValueError(f"no result type: {declaration[:120]!r}")


def _function(header: str, lines: Iterator[str], types: TypeTable) -> Function:
    match = _DEFINE.match(header)
    if not match:
        raise ValueError(f"no function definition: {header[:120]!r}")
    args = parameters(header, types)
    numbered = sum(1 for _, name in args if name[1:].isdigit())
    blocks = [Block(f"%{numbered}")]
    for line in lines:
        if line == "}":
            break
        label = _LABEL.match(line)
        if label:
            if not blocks[0].lines:
                blocks[0].label = f"%{label.group(1)}"
            else:
                blocks.append(Block(f"%{label.group(1)}"))
        elif line.strip() and not line.lstrip().startswith(";"):
            blocks[-1].targets += _TARGET.findall(line)
            blocks[-1].lines.append(line)
    return Function(match.group(1), header, args, blocks)


def result_name(line: str) -> str:
    """`%name` that an instruction defines, or an empty string."""
    match = _RESULT.match(line)
    return match.group(1) if match else ""


def operand(part: str, types: TypeTable) -> tuple[str, str]:
    """Split `type value` into both."""
    end = types.type_end(part)
    return part[:end], part[end:].strip()
