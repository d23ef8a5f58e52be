"""Apple Intermediate Representation: what a shader function expects from its caller.

Reads AIR 2.0 to 2.8 (macOS 10.13 to 26 and the parallel iOS releases). Everything here comes from the module's
metadata (`air.kernel`, `air.version`, …), its globals and its declarations; function bodies are not looked at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from shaderc_tool.formats.air_arguments import Argument, Output, read_arguments, read_outputs
from shaderc_tool.formats.bitcode import disassemble
from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.llvm_metadata import Metadata, Operand, Symbol, split_operands, unescape
from shaderc_tool.formats.llvm_types import TypeTable

STAGES: Final = ("kernel", "vertex", "fragment", "object", "mesh", "intersection", "visible")

_TRIPLE: Final = re.compile(r'^target triple = "([^"]*)"', re.MULTILINE)
_SOURCE: Final = re.compile(r'^source_filename = "([^"]*)"', re.MULTILINE)
_DECLARED: Final = re.compile(r'^declare .*?@(?:"([^"]+)"|([-\w.$]+))\(', re.MULTILINE)
_THREADGROUP_GLOBAL: Final = re.compile(
    r'^@(?:"([^"]+)"|([-\w.$]+)) = .*?addrspace\(3\) (?:externally_initialized )?global (.*)$', re.MULTILINE
)
_PARAMETER_SPACE: Final = re.compile(r"addrspace\((\d+)\)\*\Z")
_TRIPLE_PARTS: Final = re.compile(r"air64(?:_v\d+)?-apple-([a-z]+)([\d.]*)(?:-(\w+))?\Z")
_PLATFORMS: Final = {
    ("macosx", ""): "macos",
    ("macos", ""): "macos",
    ("ios", ""): "ios",
    ("ios", "simulator"): "ios-simulator",
    ("ios", "macabi"): "mac-catalyst",
    ("tvos", ""): "tvos",
    ("tvos", "simulator"): "tvos-simulator",
    ("watchos", ""): "watchos",
    ("watchos", "simulator"): "watchos-simulator",
    ("xros", ""): "visionos",
    ("xros", "simulator"): "visionos-simulator",
    ("bridgeos", ""): "bridgeos",
    ("driverkit", ""): "driverkit",
}


@dataclass(frozen=True)
class EntryPoint:
    """One shader function. `max_threads` is `[[max_total_threads_per_threadgroup(n)]]`, 0 when not declared."""

    name: str
    stage: str
    arguments: tuple[Argument, ...]
    outputs: tuple[Output, ...] = ()
    max_threads: int = 0

    def buffer(self, index: int) -> Argument | None:
        """The device or constant buffer argument at `[[buffer(index)]]`."""
        for argument in self.arguments:
            if argument.is_buffer and argument.address_space != 3 and argument.index == index:
                return argument
        return None


@dataclass(frozen=True)
class FunctionConstant:
    """A `[[function_constant(index)]]`. `symbol` is the IR global that receives the value."""

    name: str
    type_name: str
    index: int
    symbol: str
    required: bool


@dataclass(frozen=True)
class ThreadgroupVariable:
    """A `threadgroup` variable declared inside a kernel; `size` in bytes."""

    name: str
    type_name: str
    size: int


@dataclass(frozen=True)
class AirModule:
    """One AIR module. Versions are (major, minor, update); `limits` are the `air.max_*` module flags.

    `fast_math` and `denormals_flushed` are None when the module does not say. `externals` are called functions that
    are neither AIR nor LLVM intrinsics.
    """

    source_name: str
    triple: str
    platform: str
    deployment_target: tuple[int, ...]
    air_version: tuple[int, ...]
    language: str
    language_version: tuple[int, ...]
    sdk_version: tuple[int, ...]
    compiler: str
    fast_math: bool | None
    denormals_flushed: bool | None
    compile_options: tuple[str, ...]
    limits: tuple[tuple[str, int], ...]
    entry_points: tuple[EntryPoint, ...]
    function_constants: tuple[FunctionConstant, ...]
    threadgroup_variables: tuple[ThreadgroupVariable, ...]
    intrinsics: tuple[str, ...]
    externals: tuple[str, ...]

    @property
    def threadgroup_bytes(self) -> int:
        """Bytes of threadgroup memory that the module declares itself, without `[[threadgroup(n)]]` arguments."""
        return sum(variable.size for variable in self.threadgroup_variables)

    def entry_point(self, name: str) -> EntryPoint:
        """The entry point called `name`. Raises `KeyError`."""
        for entry in self.entry_points:
            if entry.name == name:
                return entry
        raise KeyError(name)


def read_air(bitcode: bytes) -> AirModule:
    """Read one AIR module, wrapped or raw. Raises `FormatError`; see `bitcode.disassemble` for hostile input."""
    return read_air_text(disassemble(bitcode))


def read_air_text(text: str) -> AirModule:
    """Read one AIR module in textual form with typed pointers. Raises `FormatError`."""
    triple = _first(_TRIPLE, text)
    if not triple.startswith("air64"):
        raise FormatError(f"target triple {triple!r} is not AIR")
    metadata = Metadata(text)
    platform, target = _platform(triple)
    language = _row(metadata, "air.language_version")
    options = tuple(str(node[0]) for node in metadata.named("air.compile_options") if node)
    flags = {str(flag[1]): flag[2] for flag in metadata.named("llvm.module.flags") if len(flag) >= 3}
    declared = sorted({a or b for a, b in _DECLARED.findall(text)})
    return AirModule(
        source_name=unescape(_first(_SOURCE, text)),
        triple=triple,
        platform=platform,
        deployment_target=target,
        air_version=_version(_row(metadata, "air.version")),
        language=str(language[0]) if language else "",
        language_version=_version(language),
        sdk_version=_integers(flags.get("SDK Version")),
        compiler=str(next(iter(_row(metadata, "llvm.ident")), "")),
        fast_math=_switch(options, "air.compile.fast_math_enable", "air.compile.fast_math_disable"),
        denormals_flushed=_switch(options, "air.compile.denorms_disable", "air.compile.denorms_enable"),
        compile_options=options,
        limits=tuple((k, v) for k, v in flags.items() if k.startswith("air.max_") and isinstance(v, int)),
        entry_points=tuple(e for stage in STAGES for e in _entry_points(metadata, stage)),
        function_constants=_function_constants(metadata),
        threadgroup_variables=_threadgroup_variables(text),
        intrinsics=tuple(name for name in declared if name.startswith("air.")),
        externals=tuple(name for name in declared if not name.startswith(("air.", "llvm."))),
    )


def _entry_points(metadata: Metadata, stage: str) -> list[EntryPoint]:
    entries = []
    for node in metadata.named(f"air.{stage}"):
        if len(node) < 3 or not isinstance(node[0], Symbol):
            raise FormatError(f"air.{stage} node of unknown shape: {node!r:.120}")
        attributes = [metadata.node(ref) for ref in node[3:]]
        sizes = [a[1] for a in attributes if len(a) == 2 and a[0] == "air.max_work_group_size"]
        arguments = read_arguments(metadata, node[2])
        entries.append(
            EntryPoint(
                name=node[0].name,
                stage=stage,
                arguments=_with_address_spaces(arguments, node[0].type_text),
                outputs=read_outputs(metadata, node[1]),
                max_threads=sizes[0] if sizes and isinstance(sizes[0], int) else 0,
            )
        )
    return entries


def _with_address_spaces(arguments: tuple[Argument, ...], type_text: str) -> tuple[Argument, ...]:
    """Before AIR 2.5 the address space of a buffer is recorded only in the function's type."""
    inside = type_text[type_text.find("(") + 1 : type_text.rfind(")")]
    spaces = [_PARAMETER_SPACE.search(part) for part in split_operands(inside)]
    filled = []
    for argument in arguments:
        match = spaces[argument.position] if argument.position < len(spaces) else None
        if argument.is_buffer and argument.address_space is None and match:
            argument = replace(argument, address_space=int(match.group(1)))
        filled.append(argument)
    return tuple(filled)


def _function_constants(metadata: Metadata) -> tuple[FunctionConstant, ...]:
    found = []
    for node in metadata.named("air.function_constants"):
        match node:
            case (Symbol(name=symbol), str(type_name), str(name), int(index), *rest):
                found.append(FunctionConstant(name, type_name, index, symbol, bool(rest and rest[0])))
            case _:
                raise FormatError(f"air.function_constants node of unknown shape: {node!r:.120}")
    return tuple(found)


def _threadgroup_variables(text: str) -> tuple[ThreadgroupVariable, ...]:
    found = []
    rows = _THREADGROUP_GLOBAL.findall(text)
    types = TypeTable.of_module(text) if rows else TypeTable()
    for quoted, plain, rest in rows:
        end = types.type_end(rest)
        found.append(ThreadgroupVariable(unescape(quoted or plain), rest[:end], types.layout(rest[:end]).alloc))
    return tuple(found)


def _platform(triple: str) -> tuple[str, tuple[int, ...]]:
    parts = _TRIPLE_PARTS.match(triple)
    if not parts:
        return "unknown", ()
    system, version, environment = parts.groups()
    known = _PLATFORMS.get((system, environment or ""), "unknown")
    return known, tuple(int(part) for part in version.split(".") if part)


def _row(metadata: Metadata, name: str) -> tuple[Operand, ...]:
    rows = metadata.named(name)
    return rows[0] if rows else ()


def _version(row: tuple[Operand, ...]) -> tuple[int, ...]:
    return tuple(item for item in row if isinstance(item, int))


def _integers(value: Operand) -> tuple[int, ...]:
    return value if isinstance(value, tuple) else ()


def _switch(options: tuple[str, ...], on: str, off: str) -> bool | None:
    return True if on in options else False if off in options else None


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group(1) if match else ""
