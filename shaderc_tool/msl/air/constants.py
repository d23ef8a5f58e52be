"""Function constants: values that the host gives when it makes a pipeline.

AIR holds, for each, an externally initialized variable with the index in its name, and a constructor that copies it to
the variable which the code reads.
"""

from __future__ import annotations

import re

from shaderc_tool.msl.air.module import Function, IrModule
from shaderc_tool.msl.rewrite.constants import FunctionConstant

_CODES = {
    "bool": "b",
    "char": "c",
    "uchar": "h",
    "short": "s",
    "ushort": "t",
    "int": "i",
    "uint": "j",
    "long": "l",
    "ulong": "m",
    "float": "f",
    "half": "Dh",
}
_CANONICAL = {
    "int8_t": "char",
    "uint8_t": "uchar",
    "int16_t": "short",
    "uint16_t": "ushort",
    "int32_t": "int",
    "uint32_t": "uint",
    "int64_t": "long",
    "uint64_t": "ulong",
    "unsigned": "uint",
    "unsigned int": "uint",
    "size_t": "ulong",
}
CONSTRUCTOR = "_GLOBAL__sub_I_function_constants"
_EXTERNAL = re.compile(
    r"external (?:local_unnamed_addr |unnamed_addr |dso_local )*addrspace\(2\) constant (.+?)"
    r"(?:, align (\d+))?(?:, !dbg !\d+)?$"
)


def canonical(kind: str) -> str:
    """Metal's own name of a scalar or vector type."""
    return _CANONICAL.get(kind, kind)


class FunctionConstants:
    """Emits the constants of one module; `predicates` are made for arguments that depend on one."""

    def __init__(self, module: IrModule, declared: tuple[FunctionConstant, ...]) -> None:
        self._module = module
        self._declared = {c.name: c for c in declared}
        self._used: dict[str, tuple[str, str]] = {}
        self._predicates: dict[str, int] = {}

    def _symbol(self, name: str) -> str:
        return next(
            (g for g in self._module.globals if g == name or re.fullmatch(rf"_ZL?\d+{re.escape(name)}", g)), name
        )

    def _init_name(self, constant: FunctionConstant) -> str:
        kind = canonical(constant.type)
        vector = re.fullmatch(r"([a-z]+)([234])", kind)
        code = f"Dv{vector[2]}_{_CODES[vector[1]]}" if vector and vector[1] in _CODES else _CODES.get(kind, "i")
        return f"_Z{len(constant.name)}{constant.name}.MTL_FC_INIT_{constant.index}_{code}"

    def resolve(self) -> list[str]:
        """Define the external constants that the code reads. Returns the names of those that are not declared."""
        missing: list[str] = []
        for symbol, value in list(self._module.globals.items()):
            match = _EXTERNAL.match(value)
            if match is None:
                continue
            name = re.sub(r"^_ZL?\d+", "", symbol)
            if name not in self._declared:
                missing.append(name)
                continue
            self._use(self._declared[name], match[1], match[2] or "4", symbol)
        return missing

    def _use(self, constant: FunctionConstant, llvm_type: str, align: str, symbol: str = "") -> None:
        init = self._init_name(constant)
        if constant.name not in self._used:
            self._module.globals[init] = (
                f"internal unnamed_addr addrspace(2) externally_initialized constant {llvm_type} undef, "
                f'section "air.fc_initializer", align {align}'
            )
            self._used[constant.name] = (llvm_type, align)
        if symbol:
            self._module.globals[symbol] = f"internal unnamed_addr addrspace(2) global {llvm_type} undef, align {align}"

    def predicate(self, name: str) -> str:
        """The metadata of an argument that is there only when the constant `name` is true; "" when undeclared."""
        constant = self._declared.get(name)
        if constant is None:
            return ""
        if name not in self._predicates:
            self._predicates[name] = len(self._predicates)
            self._use(constant, "i8" if canonical(constant.type) in ("bool", "uchar", "char") else "i32", "1")
        number = self._predicates[name]
        self._module.globals[f"__metal_implicit_fc_pred_{number}"] = "internal addrspace(2) global i8 0, align 1"
        node = self._module.add_metadata(
            f'!{{i8 addrspace(2)* @__metal_implicit_fc_pred_{number}, !"{canonical(constant.type)}", !"{name}"}}'
        )
        return f"!{node}"

    def finish(self) -> None:
        """Write the constructor and the list of constants."""
        if not self._used:
            return
        body: list[str] = []
        nodes: list[int] = []
        for name, (llvm_type, align) in self._used.items():
            constant, symbol = self._declared[name], self._symbol(name)
            init = self._init_name(constant)
            value = f"%constant{len(nodes)}"
            body.append(f"  {value} = load {llvm_type}, {llvm_type} addrspace(2)* @{init}, align {align}")
            if symbol in self._module.globals:
                body.append(f"  store {llvm_type} {value}, {llvm_type} addrspace(2)* @{symbol}, align {align}")
            if name in self._predicates:
                body += self._store_predicate(name, value, llvm_type)
            nodes.append(
                self._module.add_metadata(
                    f'!{{{llvm_type} addrspace(2)* @{init}, !"{canonical(constant.type)}", !"{name}", '
                    f"i32 {constant.index}, i1 true}}"
                )
            )
        header = f'define internal void @{CONSTRUCTOR}() section "air.static_init" {{'
        self._module.functions[CONSTRUCTOR] = Function(CONSTRUCTOR, header, [*body, "  ret void"])
        self._module.globals["llvm.global_ctors"] = (
            "appending global [1 x { i32, void ()*, i8* }] [{ i32, void ()*, i8* } "
            f"{{ i32 65535, void ()* @{CONSTRUCTOR}, i8* null }}]"
        )
        if self._predicates:
            names = [f"__metal_implicit_fc_pred_{n}" for n in self._predicates.values()]
            self._module.globals["llvm.compiler.used"] = _used_list(names)
        self._module.named["air.function_constants"] = "!{" + ", ".join(f"!{n}" for n in nodes) + "}"

    def _store_predicate(self, name: str, value: str, llvm_type: str) -> list[str]:
        number = self._predicates[name]
        byte = value
        lines: list[str] = []
        if llvm_type != "i8":
            lines += [f"  {value}.b = icmp ne {llvm_type} {value}, 0", f"  {value}.z = zext i1 {value}.b to i8"]
            byte = f"{value}.z"
        normalize = "air.normalize_function_constant_predicate.i8"
        self._module.declarations.setdefault(normalize, f"declare i8 @{normalize}(i8)")
        return [
            *lines,
            f"  {value}.n = call i8 @{normalize}(i8 {byte})",
            f"  store i8 {value}.n, i8 addrspace(2)* @__metal_implicit_fc_pred_{number}, align 1",
        ]


def keep_constants(part: IrModule, whole: IrModule) -> None:
    """Give `part`, cut out of `whole`, the function constants that it reads, and no others."""
    constructor = whole.functions.get(CONSTRUCTOR)
    if constructor is None:
        return
    kept: list[str] = []
    symbols: set[str] = set()
    for lines in _groups(constructor.body):
        stored = set(re.findall(r"store .*?@([\w.$]+)", "\n".join(lines)))
        if stored & set(part.globals):
            kept += [line for line in lines if "store" not in line or stored_symbol(line) in part.globals]
            symbols |= set(re.findall(r"load .*?@([\w.$]+)", lines[0]))
    nodes = re.findall(r"!\d+", whole.named.get("air.function_constants", ""))
    used = [n for n in nodes if any(f"@{s}," in whole.metadata[int(n[1:])] for s in symbols)]
    part.named.pop("air.function_constants", None)
    if not kept:
        return
    part.named["air.function_constants"] = "!{" + ", ".join(used) + "}"
    part.functions[CONSTRUCTOR] = Function(CONSTRUCTOR, constructor.header, [*kept, "  ret void"])
    part.globals.update({s: whole.globals[s] for s in symbols})
    part.globals["llvm.global_ctors"] = whole.globals["llvm.global_ctors"]
    for name, line in whole.declarations.items():
        if f"@{name}(" in "\n".join(kept):
            part.declarations[name] = line
    predicates = [g for g in part.globals if g.startswith("__metal_implicit_fc_pred_")]
    if predicates:
        part.globals["llvm.compiler.used"] = _used_list(predicates)


def stored_symbol(line: str) -> str:
    """The variable that a store of the constructor writes."""
    match = re.search(r"@([\w.$]+), align", line)
    return match[1] if match is not None else ""


def _groups(body: list[str]) -> list[list[str]]:
    """The constructor's lines, constant by constant: each begins with the load of the external value."""
    groups: list[list[str]] = []
    for line in body:
        if "MTL_FC_INIT" in line and " load " in line:
            groups.append([])
        if groups and " ret " not in line:
            groups[-1].append(line)
    return groups


def _used_list(predicates: list[str]) -> str:
    casts = ", ".join(f"i8* addrspacecast (i8 addrspace(2)* @{p} to i8*)" for p in predicates)
    return f'appending global [{len(predicates)} x i8*] [{casts}], section "llvm.metadata"'
