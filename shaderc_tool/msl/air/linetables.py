"""Debug information cut down to line tables, as `-gline-tables-only` of Apple's compiler leaves it."""

from __future__ import annotations

import re

from shaderc_tool.msl.air.module import IrModule

_DROPPED = re.compile(
    r", (?:linkageName: \"[^\"]*\"|(?:retainedNodes|templateParams|declaration|containingType|thrownTypes|retainedTypes"
    r"|enums|globals|imports): !\d+|nameTableKind: \w+)"
)


def keep_line_tables(module: IrModule, producer: str) -> None:
    """Drop variables and types; keep functions, blocks, files and locations."""
    empty = module.add_metadata("!{}")
    routine = module.add_metadata(f"!DISubroutineType(types: !{empty})")
    for function in module.functions.values():
        function.body = [line for line in function.body if "@llvm.dbg." not in line]
    for name in [n for n in module.declarations if n.startswith("llvm.dbg.")]:
        del module.declarations[name]
    module.globals = {n: re.sub(r", !dbg !\d+", "", v) for n, v in module.globals.items()}
    for number, node in module.metadata.items():
        if "!DISubprogram(" in node:
            module.metadata[number] = _subprogram(node, routine)
        elif "!DICompileUnit(" in node:
            node = re.sub(r'producer: "[^"]*"', f'producer: "{producer}"', _DROPPED.sub("", node))
            module.metadata[number] = node.replace("emissionKind: FullDebug", "emissionKind: LineTablesOnly")


def _subprogram(node: str, routine: int) -> str:
    file = re.search(r"\bfile: (!\d+)", node)
    node = re.sub(r"\btype: !\d+", f"type: !{routine}", _DROPPED.sub("", node))
    return re.sub(r"\bscope: !\d+", f"scope: {file[1]}", node) if file is not None else node
