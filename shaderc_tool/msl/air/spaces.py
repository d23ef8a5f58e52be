"""No pointer of the generic address space in AIR: each gets the space of what it was made from.

clang gives `this` and the operands of structure copies the generic space (number 4). After inlining, every such pointer
comes from an address space cast of a pointer whose space is known. This pass undoes the casts: LLVM's own pass for it
runs only in back ends.
"""

from __future__ import annotations

import re

from shaderc_tool.msl.air.module import Function, IrModule

_RESULT = re.compile(r"\s+(%[\w.]+) = (?:tail |musttail )?(\w+)\b")
_CAST = re.compile(r"addrspacecast (.+?)( addrspace\((\d+)\))?\* (%[\w.]+) to .* addrspace\(4\)\*")
_USE = re.compile(
    r"addrspace\(4\)\* ((?:noundef |nonnull |nocapture |readonly |writeonly |noalias |align \d+ "
    r"|dereferenceable\(\d+\) )*)(%[\w.]+)"
)
_CONSTANT_CAST = re.compile(
    r"addrspacecast \(([^()]*?|[^()]*\([^()]*\)[^()]*?)( addrspace\((\d+)\))?\* (@[\w.$]+) to "
    r"([^()]*?) addrspace\(4\)\*\)"
)
_PHI_OPERAND = re.compile(r"\[ ([^,\]]+), %[\w.]+ \]")
_SELECT = re.compile(r"addrspace\(4\)\* ([^,]+), .*addrspace\(4\)\* ([^,]+)")
_MEMORY = re.compile(r"@llvm\.(memcpy|memmove|memset)(\.inline)?((?:\.p\d+i8)+)\.(i\d+)\(")
_BYTE_POINTER = re.compile(r"i8( addrspace\((\d+)\))?\* ")
_FORWARDING = ("getelementptr", "bitcast", "freeze")

UNKNOWN = -1


def infer_address_spaces(module: IrModule) -> list[str]:
    """Rewrite all functions. Returns the names of the functions where a generic pointer is left."""
    left: list[str] = []
    for function in module.functions.values():
        if not any("addrspace(4)" in line for line in function.body):
            continue
        _rewrite(function)
        if any("addrspace(4)" in line for line in function.body) or "addrspace(4)" in function.header:
            left.append(function.name)
    _redeclare_memory_functions(module)
    return left


def _rewrite(function: Function) -> None:
    body = [_constants(line) if "addrspacecast (" in line else line for line in function.body]
    spaces = _solve(body)
    function.body = [_line(line, spaces) if "addrspace(4)" in line else line for line in body]


def _constants(line: str) -> str:
    """Casts in constant expressions, innermost first."""
    while True:
        match = _CONSTANT_CAST.search(line)
        if match is None:
            return line
        space = match[2] or ""
        cast = f"bitcast ({match[1]}{space}* {match[4]} to {match[5]}{space}*)"
        line = line[: match.start()] + cast + line[match.end() :]
        before = line[: match.start()]
        if before.endswith("addrspace(4)* "):
            before = before[: -len(" addrspace(4)* ")] + f"{space}* "
            line = before + line[match.start() :]


def _solve(body: list[str]) -> dict[str, int]:
    """Address space by value, for the values that are generic pointers."""
    spaces: dict[str, int] = {}
    sources: dict[str, list[str]] = {}
    for line in body:
        match = _RESULT.match(line) if "addrspace(4)" in line else None
        if match is None:
            continue
        result, operation = match[1], match[2]
        if operation == "addrspacecast":
            cast = _CAST.search(line)
            if cast is not None:
                spaces[result] = int(cast[3] or 0)
        elif operation in _FORWARDING:
            use = _USE.search(line)
            if use is not None and line.split("(", 1)[0].count("=") == 1:
                sources[result] = [use[2]]
        elif operation == "phi":
            sources[result] = [o for o in _PHI_OPERAND.findall(line) if o.startswith("%")]
        elif operation == "select":
            select = _SELECT.search(line)
            if select is not None:
                sources[result] = [o for o in select.groups() if o.startswith("%")]
    _propagate(spaces, sources)
    return spaces


def _propagate(spaces: dict[str, int], sources: dict[str, list[str]]) -> None:
    changed = True
    while changed:
        changed = False
        for result, operands in sources.items():
            known = {spaces[o] for o in operands if o in spaces}
            space = known.pop() if len(known) == 1 else UNKNOWN if known else None
            if space is not None and spaces.get(result) != space and spaces.get(result) != UNKNOWN:
                spaces[result] = space
                changed = True


def _spell(space: int) -> str:
    return f" addrspace({space})*" if space else "*"


def _line(line: str, spaces: dict[str, int]) -> str:
    match = _RESULT.match(line)
    result, operation = (match[1], match[2]) if match is not None else ("", "")
    space = spaces.get(result, UNKNOWN)
    if operation == "addrspacecast" and space != UNKNOWN:
        line = line.replace("addrspacecast", "bitcast", 1).replace(" addrspace(4)*", _spell(space))
    elif operation == "phi" and space != UNKNOWN:
        line = line.replace(" addrspace(4)*", _spell(space), 1)
    elif operation in ("select", "bitcast", "freeze") and space != UNKNOWN:
        line = line.replace(" addrspace(4)*", _spell(space))
    elif operation == "icmp":
        line = _compare(line, spaces)
    line = re.sub(r" addrspace\(4\)\* ((?:\w+(?:\(\d+\))? |align \d+ )*)(%[\w.]+)", lambda m: _use(m, spaces), line)
    if "addrspacecast" in line and operation == "addrspacecast" and "addrspace(4)" not in line:
        line = line.replace("addrspacecast", "bitcast", 1) if _same_space(line) else line
    if "@llvm.mem" in line:
        line = _memory_call(line)
    return line


def _use(match: re.Match[str], spaces: dict[str, int]) -> str:
    space = spaces.get(match[2], UNKNOWN)
    return match[0] if space == UNKNOWN else f"{_spell(space)} {match[1]}{match[2]}"


def _compare(line: str, spaces: dict[str, int]) -> str:
    operands = re.findall(r"%[\w.]+", line.split("addrspace(4)*", 1)[-1])
    known = {spaces.get(o, UNKNOWN) for o in operands}
    if len(known) == 1 and UNKNOWN not in known:
        return line.replace(" addrspace(4)*", _spell(known.pop()), 1)
    return line


def _same_space(line: str) -> bool:
    found = re.search(r"addrspacecast .+?( addrspace\(\d+\))?\* \S+ to .+?( addrspace\(\d+\))?\*(?:,|$)", line)
    return found is not None and found[1] == found[2]


def _memory_call(line: str) -> str:
    match = _MEMORY.search(line)
    if match is None:
        return line
    count = match[3].count(".p")
    spaces = [m[2] or "0" for m in _BYTE_POINTER.finditer(line, match.end())][:count]
    name = f"@llvm.{match[1]}{match[2] or ''}{''.join(f'.p{s}i8' for s in spaces)}.{match[4]}("
    return line[: match.start()] + name + line[match.end() :]


def _redeclare_memory_functions(module: IrModule) -> None:
    used: set[tuple[str, str, str]] = set()
    for function in module.functions.values():
        for line in function.body:
            match = _MEMORY.search(line) if "@llvm.mem" in line else None
            if match is not None:
                used.add((match[1] + (match[2] or ""), match[3], match[4]))
    for name in [n for n in module.declarations if n.startswith("llvm.mem")]:
        del module.declarations[name]
    for operation, pointers, size in sorted(used):
        arguments = [f"i8{_spell(int(s))}" for s in re.findall(r"\.p(\d+)i8", pointers)]
        if operation == "memset":
            arguments.append("i8")
        name = f"llvm.{operation}{pointers}.{size}"
        module.declarations[name] = f"declare void @{name}({', '.join([*arguments, size, 'i1 immarg'])})"
