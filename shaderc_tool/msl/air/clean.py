"""From the shape that clang gives functions to the shape that AIR has."""

from __future__ import annotations

import re

from shaderc_tool.msl.air.module import Function, IrModule

_WORDS_DROPPED = re.compile(r"\b(?:spir_func|spir_kernel|dso_local|local_unnamed_addr|comdat(?:\(\$[\w.$]+\))?) ?")
_EXTENSIONS = re.compile(r"\b(?:zeroext|signext) ")
_DEBUG = re.compile(r", !dbg !\d+|(?<=\)) !dbg !\d+| !dbg !\d+")
_SLOT = re.compile(r"^_ZN5metal18__threadgroup_slotILi(\d+)E")
_SLOT_CALL = re.compile(
    r"(\s+%[\w.]+ = )(?:tail )?call (?:spir_func )?(?:noundef )?(.+?) addrspace\(3\)\* "
    r"@(_ZN5metal18__threadgroup_slotILi\d+E[\w.$]+)\(\)"
)
_STRING_KEYS = (
    "approx-func-fp-math",
    "min-legal-vector-width",
    "no-infs-fp-math",
    "no-nans-fp-math",
    "no-signed-zeros-fp-math",
    "no-trapping-math",
    "stack-protector-buffer-size",
    "unsafe-fp-math",
)
_DEFINITION_WORDS = frozenset({"convergent", "mustprogress", "nounwind", "willreturn"})
"""What holds of an entry point whatever is in memory. clang takes function constants for constants and says more."""
_PURE = frozenset({"readnone"})


def strip_debug_info(module: IrModule) -> None:
    """Take out debug intrinsics, attachments and nodes."""
    for function in module.functions.values():
        function.header = _DEBUG.sub("", function.header)
        function.body = [
            _DEBUG.sub("", line) if "!dbg" in line else line for line in function.body if "@llvm.dbg." not in line
        ]
    for name in [n for n in module.declarations if n.startswith("llvm.dbg.")]:
        del module.declarations[name]
    module.globals = {n: _DEBUG.sub("", v) for n, v in module.globals.items()}
    module.named.pop("llvm.dbg.cu", None)


def clean_functions(module: IrModule) -> None:
    """Drop calling conventions and extension attributes; AIR has neither."""
    for function in module.functions.values():
        function.header = _EXTENSIONS.sub("", _WORDS_DROPPED.sub("", function.header))
        function.body = [_call(line) if "call " in line else line for line in function.body]
    for name, line in module.declarations.items():
        if name.startswith("llvm."):
            continue
        module.declarations[name] = (
            _EXTENSIONS.sub("", _WORDS_DROPPED.sub("", line)).replace("noundef ", "").replace(" noundef", "")
        )


def _call(line: str) -> str:
    line = line.replace("spir_func ", "")
    if "@air." in line:
        line = _EXTENSIONS.sub("", line).replace("noundef ", "")
    return line


def clean_attributes(module: IrModule) -> None:
    """Attribute groups with the keys that Apple's compiler writes; a pure function is not convergent."""
    defined = {g for f in module.functions.values() for g in re.findall(r" #(\d+)", f.header)}
    for number, value in module.attributes.items():
        words = re.findall(r'"[^"]*"(?:="[^"]*")?|[\w]+(?:\([^)]*\))?', value)
        plain = [w for w in words if not w.startswith('"')]
        keyed = [w for w in words if w.startswith('"') and w.split('"')[1] in _STRING_KEYS]
        if _PURE & set(plain):
            plain = [w for w in plain if w != "convergent"]
        if number in defined:
            plain = [w for w in plain if w in _DEFINITION_WORDS]
            keyed += ['"frame-pointer"="all"', '"no-builtins"']
        elif "nounwind" not in plain:
            plain.append("nounwind")
        module.attributes[number] = " " + " ".join([*plain, *(sorted(keyed) if number in defined else [])]) + " "


def threadgroup_variables(module: IrModule) -> None:
    """A global of the threadgroup address space in the place of each slot function."""
    names: dict[str, str] = {}
    for function in module.functions.values():
        for index, line in enumerate(function.body):
            match = _SLOT_CALL.search(line) if "__threadgroup_slot" in line else None
            if match is None:
                continue
            slot, kind = match[3], match[2]
            if slot not in names:
                names[slot] = f"threadgroup.{len(names)}"
                align = _alignment(module, kind)
                module.globals[names[slot]] = f"internal unnamed_addr addrspace(3) global {kind} undef, align {align}"
            pointer = f"{kind} addrspace(3)*"
            function.body[index] = f"{match[1]}bitcast {pointer} @{names[slot]} to {pointer}"
    for name in [n for n in module.declarations if _SLOT.match(n)]:
        del module.declarations[name]


def _alignment(module: IrModule, kind: str) -> int:
    array = re.fullmatch(r"\[\d+ x (.+)\]", kind)
    if array is not None:
        return _alignment(module, array[1])
    vector = re.fullmatch(r"<(\d+) x (\w+)>", kind)
    if vector is not None:
        count = int(vector[1])
        return _alignment(module, vector[2]) * (4 if count == 3 else count)
    if kind.startswith("%"):
        body = next((t.split(" = type ", 1)[1] for t in module.types if t.startswith(f"{kind} = ")), "{ i32 }")
        return max((_alignment(module, part) for part in _members(body)), default=4)
    return {"i8": 1, "i1": 1, "i16": 2, "half": 2, "i64": 8}.get(kind, 8 if kind.endswith("*") else 4)


def _members(body: str) -> list[str]:
    parts: list[str] = []
    depth, last = 0, ""
    for char in body.strip().strip("<>").strip()[1:-1]:
        depth += char in "[<{"
        depth -= char in "]>}"
        if char == "," and not depth:
            parts.append(last.strip())
            last = ""
        else:
            last += char
    return [p for p in [*parts, last.strip()] if p]


def rename(module: IrModule, names: list[tuple[str, str]]) -> None:
    """Give functions their host names; a function with several names is copied."""
    for old, name in names:
        function, new = module.functions[old], symbol(name)
        header = function.header.replace(f"@{old}(", f"@{new}(", 1)
        module.functions[new] = Function(new, header, list(function.body))
    for old in {o for o, _ in names} - {symbol(n) for _, n in names}:
        del module.functions[old]


def symbol(name: str) -> str:
    """A name as LLVM writes it after `@`: in quotes when it is no plain word."""
    if re.fullmatch(r"[-A-Za-z$._][-\w$.]*", name, re.ASCII):
        return name
    return quoted(name)


def quoted(text: str) -> str:
    """A string as LLVM writes it: everything but plain ASCII as hexadecimal bytes."""
    plain = (chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in text.encode("utf-8"))
    return '"' + "".join(plain) + '"'


def signature(function: Function) -> str:
    """A function as a typed constant: `void (i32 addrspace(2)*, i32)* @name`."""
    start = function.header.index(f"@{function.name}(") + len(function.name) + 2
    types = [_type_only(p) for p in split_parameters(function.header, start)]
    result = function.header[: start - len(function.name) - 2].split()[-1]
    return f"{result} ({', '.join(types)})* @{function.name}"


def split_parameters(header: str, start: int) -> list[str]:
    """The parameters of a `define` line, each with its attributes."""
    parts: list[str] = []
    depth, last = 0, start
    for at in range(start, len(header)):
        char = header[at]
        if char in "([<{":
            depth += 1
        elif char in ")]>}":
            if not depth:
                if header[last:at].strip():
                    parts.append(header[last:at].strip())
                break
            depth -= 1
        elif char == "," and not depth:
            parts.append(header[last:at].strip())
            last = at + 1
    return parts


def _type_only(parameter: str) -> str:
    match = re.match(
        r'((?:%"[^"]*"|%[\w.]+|<[^>]*>|\[[^\]]*\]|\w+)(?: addrspace\(\d+\))?\**(?: addrspace\(\d+\)\*)*)', parameter
    )
    assert match is not None, parameter
    return match[1]
