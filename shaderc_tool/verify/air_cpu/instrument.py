"""Adds bounds checks, call-site numbers and time-limit polls to an optimised kernel module."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from shaderc_tool.verify.air_cpu.control import MAX_PARAMETERS
from shaderc_tool.verify.air_cpu.errors import NotModelledError
from shaderc_tool.verify.air_cpu.intrinsics import Definition
from shaderc_tool.verify.air_cpu.irtext import (
    NAME,
    Block,
    Function,
    Module,
    closing,
    operand,
    result_name,
    split_commas,
)
from shaderc_tool.verify.air_cpu.lower import plain_header
from shaderc_tool.verify.air_cpu.order import weak_topological_order
from shaderc_tool.verify.air_cpu.pointers import Root, Roots

_LOAD: Final = re.compile(r"^  %\S+ = load (?:atomic |volatile )*(.*)$")
_STORE: Final = re.compile(r"^  store (?:atomic |volatile )*(.*)$")
_CALL: Final = re.compile(rf"\bcall (.*?)@({NAME})\(")
_INDIRECT: Final = re.compile(r"\bcall [^@]*? %\S+\(")
_MEMORY_INTRINSIC: Final = re.compile(r"llvm\.(?:memcpy|memmove|memset)\.")
_GLOBAL_LINE: Final = re.compile(rf"^@({NAME}) = (?:[\w()]+ )*?(?:global|constant) (.*)$")
_ATTRIBUTE: Final = re.compile(
    r"(?:align \d+|noundef|nonnull|nocapture|noalias|readonly|writeonly|readnone|signext|zeroext|returned"
    r"|dereferenceable(?:_or_null)?\(\d+\)) "
)
_PRIVATE: Final = re.compile(rf"^(@{NAME} = )(?:internal|private) ")  # the engine asks for addresses by name


@dataclass(frozen=True)
class Site:
    """One place in the kernel that may fault or block: what it does, and what its pointer points into."""

    what: str
    root: Root | None = None


@dataclass
class Instrumented:
    """The finished text of the kernel's functions.

    `sites` are by number, 0 is unused. `globals` are (name, IR type with address space, bytes). `stack_bytes` is what
    private arrays take.
    """

    text: str
    sites: list[Site]
    globals: list[tuple[str, str, int]]
    stack_bytes: int


class Instrumenter:
    """Rewrites one module. Site numbers grow in weak topological order of the blocks."""

    def __init__(self, module: Module, calls: Mapping[str, Definition], kernel: str) -> None:
        self._module = module
        self._calls = calls
        self._kernel = kernel
        self._sites = [Site("")]
        self._globals = _global_variables(module)
        self._stack = 0
        self._temporaries = 0
        self._bounded: set[str] = set()  # parameters of the current function that have bounds

    def run(self) -> Instrumented:
        """Instrument every function."""
        for function in self._module.functions:
            function.header = plain_header(function.header)
            self._function(function)
        self._module.top = [_PRIVATE.sub(r"\1", line) for line in self._module.top]
        globals_ = [(name, kind, size) for name, (kind, size) in self._globals.items()]
        return Instrumented(self._module.text(), self._sites, globals_, self._stack)

    def _function(self, function: Function) -> None:
        is_kernel = function.name.strip('"') == self._kernel
        pointers = (name for kind, name in function.parameters if kind.endswith("*"))
        self._bounded = set(pointers) if is_kernel else set()
        roots = Roots(function, self._module.types)
        blocks = {block.label: block for block in function.blocks}
        order = weak_topological_order({b.label: b.targets for b in function.blocks}, function.blocks[0].label)
        place = {label: index for index, label in enumerate(order)}
        bounded: set[str] = set()
        sizes: dict[str, int] = {}
        for label in order:
            self._block(blocks[label], roots, bounded, sizes, place)
        if is_kernel:
            self._load_bounds(function, bounded)
        self._bound_allocas(function, bounded, sizes)

    def _block(
        self, block: Block, roots: Roots, bounded: set[str], sizes: dict[str, int], place: Mapping[str, int]
    ) -> None:
        out: list[str] = []
        checked: set[tuple[str, int]] = set()
        for line in block.lines:
            if " = alloca " in line:
                sizes[result_name(line)] = self._alloca(line)
            for kind, pointer, size, what in self._accesses(line):
                if (pointer, size) in checked:
                    continue
                checked.add((pointer, size))
                self._check(out, kind, pointer, str(size), roots.of(pointer), what, bounded)
            for kind, pointer, length in self._ranges(line):
                self._check(out, kind, pointer, length, roots.of(pointer), "copies", bounded)
            out.append(self._rewrite_call(line, out, roots, bounded))
        if any(place.get(target, 0) <= place[block.label] for target in block.targets):
            first = next(i for i in range(len(out) - 1, -1, -1) if out[i].lstrip().startswith(("br ", "switch ")))
            out.insert(first, f"  call void @spk.tick(i32 {self._site('loop')})")
        block.lines = out

    def _site(self, what: str, root: Root | None = None) -> int:
        self._sites.append(Site(what, root))
        return len(self._sites) - 1

    def _alloca(self, line: str) -> int:
        types = self._module.types
        parts = split_commas(line.split(" = alloca ", 1)[1])
        size = types.layout(parts[0]).alloc
        if len(parts) > 1 and not parts[1].startswith(("align", "addrspace")):
            size *= int(operand(parts[1], types)[1])
        self._stack += size + 16
        return size

    # --- what a line touches

    def _accesses(self, line: str) -> list[tuple[str, str, int, str]]:
        """(pointer type, pointer, bytes, verb) of a load, a store or an atomic operation."""
        types = self._module.types
        load = _LOAD.match(line)
        if load:
            parts = split_commas(load.group(1))
            kind, pointer = operand(parts[1], types)
            return [(kind, pointer, types.layout(parts[0]).store, "reads")]
        store = _STORE.match(line)
        if store:
            parts = split_commas(store.group(1))
            kind, pointer = operand(parts[1], types)
            return [(kind, pointer, types.layout(operand(parts[0], types)[0]).store, "writes")]
        call = _CALL.search(line)
        if call and call.group(2).startswith("air.atomic.") and not call.group(2).endswith(".fence"):
            kind, pointer = operand(self._arguments(line, call)[0], types)
            size = types.layout(kind.split(" addrspace")[0].removesuffix("*")).store
            return [(kind, pointer, size, "updates")]
        return []

    def _ranges(self, line: str) -> list[tuple[str, str, str]]:
        """(pointer type, pointer, length) of memcpy, memmove and memset."""
        call = _CALL.search(line)
        if not call or not _MEMORY_INTRINSIC.match(call.group(2)):
            return []
        types = self._module.types
        args = [operand(part, types) for part in self._arguments(line, call)]
        pointers = args[:1] if "memset" in call.group(2) else args[:2]
        return [(kind, pointer, args[2][1]) for kind, pointer in pointers]

    def _arguments(self, line: str, call: re.Match[str]) -> list[str]:
        """The arguments of a call as `type value`, without attributes."""
        inside = line[call.end() : closing(line, call.end() - 1)]
        args = []
        for part in split_commas(inside) if inside.strip() else []:
            kind, value = operand(part, self._module.types)
            while attribute := _ATTRIBUTE.match(value):
                value = value[attribute.end() :]
            args.append(f"{kind} {value}")
        return args

    # --- checks

    def _check(
        self, out: list[str], kind: str, pointer: str, size: str, root: Root, what: str, bounded: set[str]
    ) -> None:
        if self._is_safe(kind, pointer, size, root):
            return
        site = self._site(what, root)
        self._temporaries += 1
        address = f"%spk.p{self._temporaries}"
        out.append(f"  {address} = ptrtoint {kind} {pointer} to i64")
        bounds = self._bounds(root, bounded)
        if bounds:
            out.append(f"  call void @spk.check(i64 {address}, i64 {size}, {bounds}, i32 {site})")
        else:
            out.append(f"  call void @spk.check.any(i64 {address}, i64 {size}, i32 {site})")

    def _is_safe(self, kind: str, pointer: str, size: str, root: Root) -> bool:
        """A whole private or global scalar that is addressed by its own name."""
        if root.kind == "alloca":
            return pointer == root.name
        return root.kind == "global" and pointer == f"@{root.name}"

    def _bounds(self, root: Root, bounded: set[str]) -> str:
        """`i64 low, i64 high` operands of a check, or nothing when the root has no known extent."""
        if root.kind == "global" and root.name in self._globals:
            kind, size = self._globals[root.name]
            low = f"ptrtoint ({kind}* @{root.name} to i64)"
            return f"i64 {low}, i64 add (i64 {low}, i64 {size})"
        if root.kind in ("argument", "alloca"):
            key = root.name
            if root.kind == "argument" and key not in self._bounded:
                return ""
            bounded.add(key)
            plain = key[1:].strip('"')
            return f'i64 %"spk.low.{plain}", i64 %"spk.high.{plain}"'
        return ""

    def _load_bounds(self, function: Function, bounded: set[str]) -> None:
        lines = []
        for position, (kind, name) in enumerate(function.parameters):
            if name in bounded and kind.endswith("*"):
                plain = name[1:].strip('"')
                for side, index in (("low", 0), ("high", 1)):
                    place = bounds_place(position, index)
                    lines.append(f'  %"spk.{side}.{plain}" = load i64, i64* {place}')
        function.blocks[0].lines[:0] = lines

    def _bound_allocas(self, function: Function, bounded: set[str], sizes: Mapping[str, int]) -> None:
        for block in function.blocks:
            out = []
            for line in block.lines:
                out.append(line)
                name = result_name(line)
                if name in bounded and name in sizes and " = alloca " in line:
                    plain = name[1:].strip('"')
                    kind = split_commas(line.split(" = alloca ", 1)[1])[0]
                    out.append(f'  %"spk.low.{plain}" = ptrtoint {kind}* {name} to i64')
                    out.append(f'  %"spk.high.{plain}" = add i64 %"spk.low.{plain}", {sizes[name]}')
            block.lines = out

    # --- calls into the runtime

    def _rewrite_call(self, line: str, out: list[str], roots: Roots, bounded: set[str]) -> str:
        call = _CALL.search(line)
        if not call:
            if _INDIRECT.search(line):
                raise NotModelledError(("a call through a function pointer",), subject=self._kernel)
            return line
        definition = self._calls.get(call.group(2).strip('"'))
        if not definition:
            return line
        extra = f"i32 {self._site(call.group(2))}"
        args = self._arguments(line, call)
        if definition.pointer >= 0:
            root = roots.of(operand(args[definition.pointer], self._module.types)[1])
            self._sites[-1] = Site(f"{call.group(2)} touches", root)
            extra = f"{extra}, {self._bounds(root, bounded) or 'i64 0, i64 0'}"
        start = line[: call.start(2) - 1]
        return f"{start}@{definition.symbol}({', '.join([extra, *args])})"


def bounds_place(position: int, side: int) -> str:
    """A constant expression: where the low (0) or high (1) bound of a parameter's buffer is stored."""
    table = f"[{MAX_PARAMETERS} x [2 x i64]]"
    return f"getelementptr ({table}, {table}* @spk.bounds, i64 0, i64 {position}, i64 {side})"


def _global_variables(module: Module) -> dict[str, tuple[str, int]]:
    """Global variables: name → (IR type with address space, bytes)."""
    found: dict[str, tuple[str, int]] = {}
    for line in module.top:
        match = _GLOBAL_LINE.match(line)
        if not match or match.group(1).startswith("llvm."):
            continue
        end = module.types.type_end(match.group(2))
        kind = match.group(2)[:end]
        space = re.search(r"addrspace\((\d+)\)", line[: line.index(match.group(2))])
        suffix = f" addrspace({space.group(1)})" if space else ""
        found[match.group(1)] = (f"{kind}{suffix}", module.types.layout(kind).alloc)
    return found
