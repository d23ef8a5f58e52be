"""From an AIR module to a module that LLVM may optimise for the CPU.

What a GPU compiler may assume and a CPU compiler must not is taken out: `noalias` and alias scopes (LLVM would keep
threadgroup memory in registers across a barrier, which is a plain call here), private linkage of threadgroup
variables, dereferenceability of buffers. Function constants get their values, bfloat becomes i16, and `air.*`
functions that only compute are defined.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from shaderc_tool.formats.llvm_types import TypeTable
from shaderc_tool.verify.air_cpu import intrinsics, irtext
from shaderc_tool.verify.air_cpu.bfloat import Bfloat
from shaderc_tool.verify.air_cpu.errors import NotModelledError

_DROPPED: Final = ("target ", "source_filename", "attributes #", "!", ";")
_METADATA: Final = re.compile(r"(?:,? ![\w.]+ !\d+)+$")
_GROUP: Final = re.compile(r"(?: #\d+| ![\w.]+ !\d+)+(?=$| \{$)")
_ATTRIBUTES: Final = re.compile(
    r' (?:noundef|nonnull|nocapture|noalias|readonly|writeonly|readnone|returned|"[^"]*"'
    r"|dereferenceable(?:_or_null)?\(\d+\)|(?<!,) align \d+)(?= |,|\))"
)
_PARAM_ALIGN: Final = re.compile(r"(?<!,) align \d+(?=[ ,)])")
_BIG_ALIGN: Final = re.compile(r", align (?:32|64|128|256)$")
_SECTION: Final = re.compile(r', section "[^"]*"| section "[^"]*"')
_LINKAGE: Final = re.compile(
    r"^define (?:(?:internal|private|weak_odr|linkonce_odr|weak|linkonce|available_externally|dso_local"
    r"|hidden|protected) )*"
)
_THREADGROUP: Final = re.compile(
    rf"^@({irtext.NAME}) = .*?addrspace\(3\) (?:externally_initialized )?(?:global|constant) "
)
_CONSTANT: Final = re.compile(rf"^@({irtext.NAME}) = .*?externally_initialized constant (\S+) undef")
_DECLARED: Final = re.compile(rf"^declare .*?@({irtext.NAME})\(")
_BFLOAT_INTRINSIC: Final = re.compile(r"llvm\..*bf16")
_DEFINED_QUERY: Final = re.compile(rf"call i1 @air\.is_function_constant_defined\([^@]*@({irtext.NAME})\)")
_ALIGNMENT: Final = re.compile(r", align \d+")


@dataclass(frozen=True)
class Lowered:
    """The text, and the calls that a later pass must rewrite: AIR name → definition."""

    text: str
    calls: dict[str, intrinsics.Definition]


def lower(text: str, kernel: str, constants: Mapping[str, str]) -> Lowered:
    """Lower the module of `kernel`. `constants` maps function constant symbols to IR literals.

    Raises `NotModelledError` that names every AIR function without a model.
    """
    types = TypeTable.of_module(text)
    bfloat = Bfloat()
    kept: list[str] = []
    declares: dict[str, str] = {}
    for raw in text.split("\n"):
        line = _line(raw, kernel, constants)
        if line is None:
            continue
        line = bfloat.line(line)
        declared = _DECLARED.match(line)
        if declared and _BFLOAT_INTRINSIC.match(declared.group(1)):
            continue  # every call of it has become one on floats
        if declared:
            declares[declared.group(1)] = line
        else:
            kept.append(line)
    definitions = _definitions(declares, types, kernel)
    pure = [item.text for item in definitions.values() if item.pure]
    rest = [line for name, line in declares.items() if name not in definitions or not definitions[name].pure]
    rest = [f"{line} convergent nomerge nounwind" if "@air." in line else line for line in rest]
    parts = [*kept, *rest, *bfloat.helpers(), *pure, intrinsics.BF16_ROUND]
    calls = {name: item for name, item in definitions.items() if not item.pure}
    return Lowered(unique_declares("\n".join(parts)), calls)


def _definitions(declares: Mapping[str, str], types: TypeTable, kernel: str) -> dict[str, intrinsics.Definition]:
    found = {name: _definition(name, line, types) for name, line in declares.items() if not name.startswith("llvm.")}
    missing = tuple(sorted(name for name, definition in found.items() if definition is None))
    if missing:
        raise NotModelledError(missing, subject=kernel)
    return {name: definition for name, definition in found.items() if definition is not None}


def _definition(name: str, line: str, types: TypeTable) -> intrinsics.Definition | None:
    if not name.startswith("air."):
        return None
    params = [kind for kind, _ in irtext.parameters(line, types)]
    return intrinsics.define(intrinsics.signature(name, irtext.result_type(line, types), params))


def missing_functions(text: str) -> tuple[str, ...]:
    """The functions that a module calls and that have no model, by name; nothing is compiled."""
    types = TypeTable.of_module(text)
    bfloat = Bfloat()
    missing = []
    for raw in text.split("\n"):
        line = bfloat.line((_line(raw, "", {}) or "") if raw.startswith("declare ") else "")
        declared = _DECLARED.match(line)
        name = declared.group(1) if declared else "llvm."
        if not name.startswith("llvm.") and _definition(name, line, types) is None:
            missing.append(name)
    return tuple(sorted(missing))


def _line(line: str, kernel: str, constants: Mapping[str, str]) -> str | None:
    if not line or line.startswith(_DROPPED) or "@llvm.dbg." in line:
        return None
    if line.startswith("@"):
        return _global(line, constants)
    line = _GROUP.sub("", _METADATA.sub("", line))
    if line.startswith("declare "):
        if "@air.is_function_constant_defined(" in line:
            return None
        return _ATTRIBUTES.sub("", line).replace(" local_unnamed_addr", "")
    if line.startswith("define "):
        return _header(line, kernel)
    if line.startswith(" "):
        return _instruction(line, constants)
    return line


def plain_header(line: str) -> str:
    """A `define` line without attributes; what holds for AIR, or for what LLVM saw before, need not hold later."""
    line = _GROUP.sub("", _ATTRIBUTES.sub("", _PARAM_ALIGN.sub("", _SECTION.sub("", line))))
    return line.replace(" local_unnamed_addr", "").replace(" unnamed_addr", "")


def _header(line: str, kernel: str) -> str:
    line = plain_header(line)
    is_kernel = re.search(rf"@(?:{re.escape(kernel)}|\"{re.escape(kernel)}\")\(", line)
    attributes = " nounwind {" if is_kernel else " alwaysinline nounwind {"
    return _LINKAGE.sub("define " if is_kernel else "define internal ", line).removesuffix(" {") + attributes


def _instruction(line: str, constants: Mapping[str, str]) -> str:
    if "call " in line:
        line = line.replace("tail call ", "call ", 1)
        line = _ATTRIBUTES.sub("", _PARAM_ALIGN.sub("", line)) if "(" in line else line
        query = _DEFINED_QUERY.search(line)
        if query:
            answer = "true" if query.group(1).strip('"') in constants else "false"
            line = f"{line[: query.start()]}or i1 false, {answer}"
    return _BIG_ALIGN.sub(", align 16", line)


def _global(line: str, constants: Mapping[str, str]) -> str | None:
    line = _METADATA.sub("", line)
    if line.startswith(("@llvm.compiler.used", "@llvm.used")) or "@llvm.global_ctors = appending global [0 " in line:
        return None
    if line.startswith("@llvm.global_ctors"):
        return line
    constant = _CONSTANT.match(line)
    if constant:
        name = constant.group(1)
        value = constants.get(name.strip('"'), "undef")
        return f"@{name} = internal addrspace(2) constant {constant.group(2)} {value}"
    shared = _THREADGROUP.match(line)
    if shared:
        alignment = _ALIGNMENT.search(_SECTION.sub("", line))
        rest = line[shared.end() :]
        end = _type_end(rest)
        return f"@{shared.group(1)} = addrspace(3) global {rest[:end]} zeroinitializer" + (
            alignment.group() if alignment else ""
        )
    return _SECTION.sub("", line)


def _type_end(text: str) -> int:
    """End of the type at the start of a global's initialiser: before the space at depth 0 that ends it."""
    depth = 0
    quoted = False
    for pos, char in enumerate(text):
        if char == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif char in "([{<":
            depth += 1
        elif char in ")]}>":
            depth -= 1
        elif char == " " and depth == 0:
            return pos
    return len(text)


def asked_constants(text: str) -> set[str]:
    """Symbols of function constants that the module asks about with `is_function_constant_defined`."""
    return {name.strip('"') for name in _DEFINED_QUERY.findall(text)}


def unique_declares(text: str) -> str:
    """Drop repeated `declare` lines, which come from several models that use the same function."""
    seen = set()
    out = []
    for line in text.split("\n"):
        declared = _DECLARED.match(line)
        if declared:
            if declared.group(1) in seen:
                continue
            seen.add(declared.group(1))
        out.append(line)
    return "\n".join(out)
