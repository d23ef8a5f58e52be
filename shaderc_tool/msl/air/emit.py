"""AIR from what clang made of the rewritten source."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from shaderc_tool.msl.air import clean
from shaderc_tool.msl.air.bfloat import type_bfloat_matrices
from shaderc_tool.msl.air.constants import FunctionConstants
from shaderc_tool.msl.air.debuginfo import DebugTypes, ParameterType
from shaderc_tool.msl.air.entry import THREADGROUP, Argument, assign_locations, entry_node
from shaderc_tool.msl.air.intrinsics import lower_intrinsics
from shaderc_tool.msl.air.linetables import keep_line_tables
from shaderc_tool.msl.air.module import Function, IrModule, parse_module
from shaderc_tool.msl.air.profiles import DATA_LAYOUT, Profile, profile
from shaderc_tool.msl.air.spaces import infer_address_spaces
from shaderc_tool.msl.options import MslOptions
from shaderc_tool.msl.rewrite import Rewritten
from shaderc_tool.msl.rewrite.entries import ENTRY_MARK, PATTERN_MARK, TYPE_PROBE, Pattern

_ANNOTATION = re.compile(
    r"\{ i8\* bitcast \([^@]*@([\w.$]+) to i8\*\), i8\* getelementptr inbounds \([^@]*@(\.str[\w.]*),"
)
_STRING = re.compile(r'constant \[\d+ x i8\] c"((?:[^"\\]|\\.)*)\\00"')
_PRODUCER = "shaderpack portable Metal compiler"


@dataclass
class Emitted:
    """AIR text, or the reasons why there is none. `entries` are (host name, pattern) in source order."""

    text: str = ""
    entries: list[tuple[str, Pattern]] = field(default_factory=list)
    not_modelled: list[tuple[str, str]] = field(default_factory=list)
    """(what is not modelled, function name or "")."""


def emit_air(clang_ir: str, rewritten: Rewritten, options: MslOptions, filename: str) -> Emitted:
    """The module with all entry points of the source called `filename`.

    Nothing is emitted when some construct cannot be expressed in AIR.
    """
    module = parse_module(clang_ir)
    out = Emitted()
    entries = _entry_functions(module, rewritten)
    debug = DebugTypes(module)
    types = {e.host: debug.parameters(_type_node(module, e.probe)) for e in entries}
    _drop_annotations(module)
    units = module.named.get("llvm.dbg.cu", "")
    if options.debug:
        keep_line_tables(module, _PRODUCER)
    else:
        clean.strip_debug_info(module)
    kept = module.reachable({e.function for e in entries})
    kept.named = {"llvm.dbg.cu": units} if options.debug else {}
    _reject_calls(kept, {e.function for e in entries}, out)
    clean.threadgroup_variables(kept)
    clean.clean_functions(kept)
    for name in infer_address_spaces(kept):
        out.not_modelled.append(("a pointer whose address space is not known at compile time", name))
    for name in lower_intrinsics(kept):
        out.not_modelled.append((f"the operation {name}", ""))
    if out.not_modelled:
        return out
    type_bfloat_matrices(kept)
    clean.clean_attributes(kept)
    kept.metadata.update({n: v for n, v in module.metadata.items() if n not in kept.metadata})
    clean.rename(kept, [(e.function, e.host) for e in entries])
    constants = FunctionConstants(kept, rewritten.constants)
    for name in constants.resolve():
        out.not_modelled.append((f"the external variable {name}", ""))
    nodes = [_entry(kept, clean.symbol(e.host), e.pattern, types[e.host], constants) for e in entries]
    constants.finish()
    _module_marks(kept, profile(options), options, nodes)
    kept.preamble.insert(0, f"source_filename = {clean.quoted(filename)}")
    kept.drop_unused()
    kept.renumber()
    out.text = kept.text()
    out.entries = [(e.host, e.pattern) for e in entries]
    return out


@dataclass(frozen=True)
class _EntryFunction:
    """An entry point that has code: its function, host name, pattern, and the variable that holds its type."""

    function: str
    host: str
    pattern: Pattern
    probe: str


def _entry_functions(module: IrModule, rewritten: Rewritten) -> list[_EntryFunction]:
    strings = {n: m[1] for n, v in module.globals.items() if n.startswith(".str") and (m := _STRING.search(v))}
    marks: dict[str, list[str]] = {}
    for function, string in _ANNOTATION.findall(module.globals.get("llvm.global.annotations", "")):
        marks.setdefault(function, []).append(strings.get(string, ""))
    found: list[_EntryFunction] = []
    for function, texts in marks.items():
        numbers = [int(t[len(PATTERN_MARK) :]) for t in texts if t.startswith(PATTERN_MARK)]
        instantiations = [int(t[len(ENTRY_MARK) :]) for t in texts if t.startswith(ENTRY_MARK)]
        if not numbers or function not in module.functions:
            continue
        pattern = rewritten.entries.patterns[numbers[0]]
        if pattern.is_template and not instantiations:
            continue  # instantiated by use, not named for the host
        if not pattern.is_template:
            own = pattern.attribute("host_name")
            name = own.string if own else pattern.name
            found.append(_EntryFunction(function, name, pattern, f"{TYPE_PROBE}{numbers[0]}"))
        for number in instantiations:
            host = rewritten.entries.instantiations[number].host_name
            found.append(_EntryFunction(function, host or function, pattern, f"{TYPE_PROBE}i{number}"))
    return found


def _type_node(module: IrModule, probe: str) -> int:
    """The DISubroutineType of an entry point, through the probe variable's debug information."""
    symbol = next(g for g in module.globals if g == probe or re.fullmatch(rf"_ZN?L?.*\d{probe}E?", g))
    expression = re.search(r"!dbg !(\d+)", module.globals[symbol])
    assert expression is not None, symbol
    variable = re.search(r"var: !(\d+)", module.metadata[int(expression[1])])
    assert variable is not None, symbol
    kind = re.search(r"\btype: !(\d+)", module.metadata[int(variable[1])])
    assert kind is not None, symbol
    return int(kind[1])


def _drop_annotations(module: IrModule) -> None:
    module.globals = {n: v for n, v in module.globals.items() if '"llvm.metadata"' not in v}


def _reject_calls(module: IrModule, entries: set[str], out: Emitted) -> None:
    """Everything must have been inlined: AIR has no calls to functions with generic pointers, and no recursion."""
    for name in module.functions:
        if name not in entries:
            out.not_modelled.append((f"a call that cannot be inlined ({_readable(name)})", ""))
    for name in module.declarations:
        if not name.startswith(("air.", "llvm.", "_ZN5metal18__threadgroup_slot")):
            out.not_modelled.append((f"the function {_readable(name)} without a definition", ""))


def _readable(mangled: str) -> str:
    parts = re.findall(r"\d+([A-Za-z_]\w*?)(?=\d|E|I|P|R|v|$)", mangled)
    return parts[0] if parts else mangled


def _entry(
    module: IrModule, name: str, pattern: Pattern, types: list[ParameterType], constants: FunctionConstants
) -> int:
    function = module.functions[name]
    locations = assign_locations(pattern.parameters, tuple(t.space for t in types))
    arguments: list[Argument] = []
    for index, (parameter, kind) in enumerate(zip(pattern.parameters, types, strict=True)):
        unused = not _is_used(function, index)
        needs = parameter.attribute("function_constant")
        predicate = constants.predicate(needs.arguments) if needs is not None else ""
        arguments.append(Argument(parameter, kind, locations[index], unused, predicate))
    _mark_buffers(function, types)
    extra: list[int] = []
    limit = pattern.attribute("max_total_threads_per_threadgroup")
    if limit is not None and limit.number is not None:
        extra.append(module.add_metadata(f'!{{!"air.max_work_group_size", i32 {limit.number}}}'))
    node = entry_node(module, clean.signature(function), arguments, extra)
    return module.add_metadata(node)


def _is_used(function: Function, index: int) -> bool:
    value = re.compile(rf"%{index}\b(?!\.)")
    return any(value.search(line) for line in function.body if f"%{index}" in line)


def _mark_buffers(function: Function, types: list[ParameterType]) -> None:
    start = function.header.index(f"@{function.name}(") + len(function.name) + 2
    parts = clean.split_parameters(function.header, start)
    end = start + len(function.header[start:]) - len(function.header[start:].lstrip())
    for index, kind in enumerate(types):
        if kind.space >= 0 and kind.space != THREADGROUP:
            before, _, value = parts[index].rpartition(" ")
            parts[index] = f'{before} "air-buffer-no-alias" {value}'
    old = ", ".join(clean.split_parameters(function.header, start))
    assert function.header[end : end + len(old)] == old, function.header
    tail = function.header[end + len(old) :]
    group = re.search(r" #\d+", tail)
    function.header = f"{function.header[:start]}{', '.join(parts)}) local_unnamed_addr{group[0] if group else ''} {{"


def _module_marks(module: IrModule, target: Profile, options: MslOptions, entries: list[int]) -> None:
    module.preamble = [f'target datalayout = "{DATA_LAYOUT}"', f'target triple = "{target.triple}"']
    major, minor = options.os_version
    flags = [f'!{{i32 2, !"SDK Version", [2 x i32] [i32 {major}, i32 {minor}]}}', '!{i32 1, !"wchar_size", i32 4}']
    if target.frame_pointer:
        flags.append('!{i32 7, !"frame-pointer", i32 2}')
    if options.debug:
        flags += ['!{i32 7, !"Dwarf Version", i32 4}', '!{i32 2, !"Debug Info Version", i32 3}']
    limits = (
        ("max_device_buffers", 31),
        ("max_constant_buffers", 31),
        ("max_threadgroup_buffers", 31),
        ("max_textures", 128),
        ("max_read_write_textures", 8),
        ("max_samplers", 16),
    )
    flags += [f'!{{i32 7, !"air.{name}", i32 {value}}}' for name, value in limits]
    math = "fast_math_disable" if options.math == "safe" else "fast_math_enable"
    compile_options = ("denorms_disable", math, "framebuffer_fetch_enable")
    module.named["llvm.module.flags"] = _list(module, flags)
    module.named["llvm.ident"] = _list(module, [f'!{{!"{_PRODUCER}"}}'])
    module.named["air.version"] = _list(module, [f"!{{i32 {target.air[0]}, i32 {target.air[1]}, i32 0}}"])
    language = f'!{{!"Metal", i32 {target.language[0]}, i32 {target.language[1]}, i32 0}}'
    module.named["air.language_version"] = _list(module, [language])
    module.named["air.compile_options"] = _list(module, [f'!{{!"air.compile.{o}"}}' for o in compile_options])
    if entries:
        module.named["air.kernel"] = "!{" + ", ".join(f"!{n}" for n in entries) + "}"


def _list(module: IrModule, values: list[str]) -> str:
    return "!{" + ", ".join(f"!{module.add_metadata(v)}" for v in values) + "}"
