"""LLVM intrinsics that Apple's back end is known to take, and what stands in for the others.

The list holds the intrinsics found in libraries made by Apple's compiler. Anything else that the optimizer made is
replaced by an AIR intrinsic or by plain instructions; what cannot be replaced is reported, never passed on.
"""

from __future__ import annotations

import re

from shaderc_tool.msl.air.module import Function, IrModule

_KNOWN = re.compile(
    r"llvm\.(fmuladd\.|lifetime\.|memcpy\.|memset\.|memmove\.|[su](?:min|max)\.|[su](?:add|sub)\.sat\.|assume$|"
    r"dbg\.|experimental\.noalias)"
)

_RENAMED = {
    "abs": ("air.abs.s", 1),
    "ctpop": ("air.popcount", 1),
    "ctlz": ("air.clz", 2),
    "cttz": ("air.ctz", 2),
    "bitreverse": ("air.reverse_bits", 1),
    "fabs": ("air.fabs", 1),
    "minnum": ("air.fmin", 2),
    "maxnum": ("air.fmax", 2),
    "fma": ("air.fma", 3),
    "sqrt": ("air.sqrt", 1),
    "floor": ("air.floor", 1),
    "ceil": ("air.ceil", 1),
    "trunc": ("air.trunc", 1),
    "rint": ("air.rint", 1),
    "round": ("air.round", 1),
    "exp2": ("air.exp2", 1),
    "exp": ("air.exp", 1),
    "log": ("air.log", 1),
    "log2": ("air.log2", 1),
    "log10": ("air.log10", 1),
    "pow": ("air.pow", 2),
    "sin": ("air.sin", 1),
    "cos": ("air.cos", 1),
}
"""LLVM's operation to AIR's, with the number of operands that AIR takes."""


def lower_intrinsics(module: IrModule) -> list[str]:
    """Replace what can be replaced; the names of the intrinsics that cannot be are returned."""
    unknown: list[str] = []
    for name in [n for n in module.declarations if n.startswith("llvm.") and not _KNOWN.match(n)]:
        operation, _, kind = name[len("llvm.") :].rpartition(".")
        if operation in _RENAMED and kind:
            _rename(module, name, *_RENAMED[operation], kind)
        elif operation in ("fshl", "fshr"):
            _funnel_shift(module, name, operation, kind)
        elif operation == "vector.reduce.or" or operation == "vector.reduce.and":
            _reduce(module, name, operation.rsplit(".", 1)[1], kind)
        else:
            unknown.append(name)
            continue
        del module.declarations[name]
    return unknown


def _llvm_type(kind: str) -> str:
    vector = re.fullmatch(r"v(\d+)(\w+)", kind)
    if vector is not None:
        return f"<{vector[1]} x {_llvm_type(vector[2])}>"
    return {"f32": "float", "f16": "half"}.get(kind, kind)


def _rename(module: IrModule, name: str, target: str, operands: int, kind: str) -> None:
    new = f"{target}.{kind}"
    llvm_type = _llvm_type(kind)
    pattern = re.compile(rf"@{re.escape(name)}\(")
    for function in module.functions.values():
        function.body = [
            _keep_operands(pattern.sub(f"@{new}(", line), f"@{new}(", operands) if name in line else line
            for line in function.body
        ]
    parameters = [llvm_type] * operands
    if target in ("air.clz", "air.ctz"):
        parameters = [llvm_type, "i1"]
    if new not in module.declarations:
        module.declarations[new] = f"declare {llvm_type} @{new}({', '.join(parameters)})"


def _keep_operands(line: str, call: str, operands: int) -> str:
    start = line.index(call) + len(call)
    depth, commas, at = 0, 0, start
    cut = -1
    while at < len(line):
        char = line[at]
        if char in "(<[{":
            depth += 1
        elif char in ")>]}":
            if depth == 0:
                break
            depth -= 1
        elif char == "," and not depth:
            commas += 1
            if commas == operands:
                cut = at
        at += 1
    return line if cut < 0 else line[:cut] + line[at:]


def _helper(module: IrModule, name: str, result: str, parameters: str, body: list[str]) -> None:
    """Define what the intrinsic computes; LLVM and Apple's back end inline it."""
    new = "shaderpack." + name[len("llvm.") :]
    header = f"define internal {result} @{new}({parameters}) alwaysinline nounwind {{"
    for function in module.functions.values():
        function.body = [line.replace(f"@{name}(", f"@{new}(") for line in function.body]
    module.functions[new] = Function(new, header, [f"  {line}" for line in body])


def _funnel_shift(module: IrModule, name: str, operation: str, kind: str) -> None:
    """fshl(a, b, s): the high half of (a:b) << (s mod width). A shift by 0 must not shift by the width."""
    t = _llvm_type(kind)
    width = int(kind.rsplit("i", 1)[1])
    mask, one = _splat(kind, width - 1), _splat(kind, 1)
    shifted = f"%s = and {t} %c, {mask}"
    rest = f"%i = sub {t} {mask}, %s"
    if operation == "fshl":
        body = [f"%h = shl {t} %a, %s", f"%half = lshr {t} %b, {one}", f"%l = lshr {t} %half, %i"]
    else:
        body = [f"%half = shl {t} %a, {one}", f"%h = shl {t} %half, %i", f"%l = lshr {t} %b, %s"]
    body = [shifted, rest, *body, f"%r = or {t} %h, %l", f"ret {t} %r"]
    _helper(module, name, t, f"{t} %a, {t} %b, {t} %c", body)


def _splat(kind: str, value: int) -> str:
    vector = re.fullmatch(r"v(\d+)i\d+", kind)
    if vector is None:
        return str(value)
    element = "i" + kind.rsplit("i", 1)[1]
    return "<" + ", ".join([f"{element} {value}"] * int(vector[1])) + ">"


def _reduce(module: IrModule, name: str, operation: str, kind: str) -> None:
    vector = re.fullmatch(r"v(\d+)(i\d+)", kind)
    assert vector is not None, name
    t, element = _llvm_type(kind), vector[2]
    body = [f"%e{i} = extractelement {t} %v, i64 {i}" for i in range(int(vector[1]))]
    last = "%e0"
    for i in range(1, int(vector[1])):
        body.append(f"%r{i} = {operation} {element} {last}, %e{i}")
        last = f"%r{i}"
    body.append(f"ret {element} {last}")
    _helper(module, name, element, f"{t} %v", body)
