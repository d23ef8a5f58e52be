"""Rules of the Metal specification that clang cannot know: attributes, argument tables, program scope."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from shaderc_tool.diagnostics import Diagnostic, Place
from shaderc_tool.msl.air.entry import BUILTINS
from shaderc_tool.msl.rewrite import Rewritten
from shaderc_tool.msl.rewrite.attributes import Attribute
from shaderc_tool.msl.rewrite.entries import STAGES, Parameter, Pattern
from shaderc_tool.msl.rewrite.scopes import FUNCTION, NAMESPACE
from shaderc_tool.msl.tokens import WORD, Token

PlaceOf = Callable[[Token], Place]

_VECTOR_BUILTINS = frozenset(
    [
        "thread_position_in_grid",
        "thread_position_in_threadgroup",
        "threadgroup_position_in_grid",
        "threads_per_threadgroup",
        "threads_per_grid",
        "threadgroups_per_grid",
        "dispatch_threads_per_threadgroup",
    ]
)
_SCALAR_BUILTINS = BUILTINS - _VECTOR_BUILTINS - {"grid_origin", "grid_size"}
_INDEX_LIMITS = {"buffer": 31, "threadgroup": 31, "texture": 128, "sampler": 16}
_PARAMETER = frozenset({*_INDEX_LIMITS, *BUILTINS, "function_constant", "stage_in", "raster_order_group"})
_GRAPHICS = frozenset(
    [
        "position",
        "vertex_id",
        "instance_id",
        "base_vertex",
        "base_instance",
        "point_size",
        "point_coord",
        "front_facing",
        "primitive_id",
        "sample_id",
        "sample_mask",
        "color",
        "depth",
        "stencil",
        "clip_distance",
        "cull_distance",
        "flat",
        "center_perspective",
        "center_no_perspective",
        "centroid_perspective",
        "centroid_no_perspective",
        "sample_perspective",
        "sample_no_perspective",
        "user",
        "attribute",
        "render_target_array_index",
        "viewport_array_index",
        "patch",
        "patch_id",
        "position_in_patch",
        "early_fragment_tests",
        "invariant",
        "shared",
        "barycentric_coord",
        "payload",
        "object_data",
        "amplification_id",
        "amplification_count",
        "payload_size",
        "threadgroups",
        "imageblock_data",
        "tile_index",
        "thread_position_in_tile",
    ]
)
_OTHER = frozenset(
    [
        "host_name",
        "max_total_threads_per_threadgroup",
        "max_total_threadgroups_per_mesh_grid",
        "id",
        "unroll",
        "likely",
        "unlikely",
        "noinline",
        "always_inline",
        "maybe_unused",
        "nodiscard",
        "fallthrough",
        "deprecated",
        "gnu::always_inline",
        "gnu::noinline",
        "clang::optnone",
        "visible",
        "stitchable",
        "function_groups",
        "intersection",
        "mesh",
        "object",
        "kernel",
        "vertex",
        "fragment",
        "function_constant",
        "required_threads_per_threadgroup",
        "max_total_threads_per_mesh_threadgroup",
        "air::kernel",
    ]
)
_KNOWN = _PARAMETER | _GRAPHICS | _OTHER | frozenset(STAGES)
_WIDTHS = {"uint": 1, "ushort": 1, "uint2": 2, "ushort2": 2, "uint3": 3, "ushort3": 3, "uint16_t": 1, "uint32_t": 1}


@dataclass(frozen=True)
class _Checker:
    unit: Rewritten
    place: PlaceOf

    def run(self) -> Iterator[Diagnostic]:
        yield from self._attributes()
        for pattern in self.unit.entries.patterns:
            yield from self._pattern(pattern)
        yield from self._duplicates()
        yield from self._program_scope()
        yield from self._threadgroup_initializers()
        yield from self._words()

    def _at(self, token: int) -> Place:
        return self.place(self.unit.stream.tokens[token])

    def _attributes(self) -> Iterator[Diagnostic]:
        for attributes in self.unit.attributes:
            for attribute in attributes.attributes:
                base = attribute.name
                if base in _KNOWN or base.startswith(("clang::", "gnu::")):
                    continue
                close = difflib.get_close_matches(base, sorted(_KNOWN), n=1, cutoff=0.75)
                hint = f" (did you mean '{close[0]}'?)" if close else ""
                yield Diagnostic(
                    "SP8003",
                    f"unknown attribute '{base}'{hint}",
                    self._at(attribute.token),
                    cause="Metal has no attribute of this name",
                    fix=f"write [[{close[0]}]]" if close else "remove it",
                )

    def _pattern(self, pattern: Pattern) -> Iterator[Diagnostic]:
        if pattern.stage == "kernel":
            yield from self._kernel(pattern)
        yield from self._indices(pattern)

    def _kernel(self, pattern: Pattern) -> Iterator[Diagnostic]:
        if pattern.returns and pattern.returns[-1] != "void" and not pattern.is_template:
            yield Diagnostic(
                "SP8005",
                f"kernel '{pattern.name}' must return void, not '{pattern.returns[-1]}'",
                self._at(pattern.token),
                cause="a kernel has no return value",
                fix="write results to a device buffer",
                subject=pattern.name,
            )
        for parameter in pattern.parameters:
            yield from self._parameter(pattern, parameter)
        yield from self._widths(pattern)
        limit = pattern.attribute("max_total_threads_per_threadgroup")
        if limit is not None and limit.number is not None and not 0 < limit.number <= 1024:
            yield Diagnostic(
                "SP8005",
                f"max_total_threads_per_threadgroup({limit.number}) is not between 1 and 1024",
                self._at(limit.token),
                cause="no Apple GPU runs more than 1024 threads in a threadgroup",
                fix="use 1 to 1024",
                subject=pattern.name,
            )

    def _parameter(self, pattern: Pattern, parameter: Parameter) -> Iterator[Diagnostic]:
        builtin = next((a for a in parameter.attributes if a.name in BUILTINS), None)
        problem: tuple[str, str, str] | None = None
        if builtin is not None:
            problem = _builtin_problem(parameter, builtin)
        elif parameter.is_indirect:
            problem = _pointer_problem(parameter)
        elif not any(a.name in _PARAMETER for a in parameter.attributes) and not _is_opaque(parameter):
            problem = (
                f"parameter '{parameter.name}' of kernel '{pattern.name}' needs an attribute",
                "a value parameter of a kernel is filled by the hardware only when an attribute says with what",
                "add [[thread_position_in_grid]] or the like, or pass it as constant T& in a buffer",
            )
        elif parameter.attribute("buffer") is not None or parameter.attribute("threadgroup") is not None:
            problem = (
                f"parameter '{parameter.name}' has a buffer index but is neither a pointer nor a reference",
                "buffers are passed by pointer or reference",
                f"write constant {' '.join(parameter.type)}& {parameter.name}",
            )
        if problem is not None:
            yield Diagnostic("SP8005", problem[0], self._at(parameter.token), problem[1], problem[2], pattern.name)

    def _widths(self, pattern: Pattern) -> Iterator[Diagnostic]:
        first: tuple[int, Parameter] | None = None
        for parameter in pattern.parameters:
            if not any(a.name in _VECTOR_BUILTINS for a in parameter.attributes) or not parameter.type:
                continue
            width = _WIDTHS.get(parameter.type[-1])
            if width is None:
                continue
            if first is None:
                first = (width, parameter)
            elif width != first[0]:
                yield Diagnostic(
                    "SP8005",
                    f"'{parameter.name}' has {width} components, but '{first[1].name}' has {first[0]}",
                    self._at(parameter.token),
                    cause="all position and size attributes of one kernel must have the same number of components",
                    fix=f"declare both as {first[1].type[-1]}",
                    subject=pattern.name,
                )

    def _indices(self, pattern: Pattern) -> Iterator[Diagnostic]:
        taken: dict[tuple[str, int], Parameter] = {}
        for parameter in pattern.parameters:
            for attribute in parameter.attributes:
                limit = _INDEX_LIMITS.get(attribute.name)
                if limit is None or parameter.attribute("function_constant") is not None:
                    continue
                number = attribute.number
                if number is None:
                    if not attribute.arguments:
                        yield self._index(attribute, pattern, f"attribute '{attribute.name}' needs an index")
                elif not 0 <= number < limit:
                    text = f"{attribute.name} index {number} is out of range: 0 to {limit - 1}"
                    yield self._index(attribute, pattern, text)
                elif (attribute.name, number) in taken:
                    other = taken[attribute.name, number].name
                    text = f"{attribute.name} index {number} is used by '{other}' and by '{parameter.name}'"
                    yield self._index(attribute, pattern, text)
                else:
                    taken[attribute.name, number] = parameter

    def _index(self, attribute: Attribute, pattern: Pattern, text: str) -> Diagnostic:
        return Diagnostic(
            "SP8004",
            text,
            self._at(attribute.token),
            cause="every argument of a kind needs its own index within the limits of the argument table",
            fix="give each argument its own index",
            subject=pattern.name,
        )

    def _duplicates(self) -> Iterator[Diagnostic]:
        seen: dict[str, int] = {}
        named = [(i.host_name, i.token) for i in self.unit.entries.instantiations if i.host_name]
        named += [(p.name, p.token) for p in self.unit.entries.patterns if not p.is_template and p.stage]
        for name, token in named:
            if name in seen and self.unit.stream.tokens[token].line != self.unit.stream.tokens[seen[name]].line:
                yield Diagnostic(
                    "SP8009",
                    f"two entry points are called '{name}'",
                    self._at(token),
                    cause=f"the first one is at {self._at(seen[name])}",
                    fix="give each host_name once",
                    subject=name,
                )
            seen.setdefault(name, token)

    def _program_scope(self) -> Iterator[Diagnostic]:
        tokens, scopes = self.unit.stream.tokens, self.unit.scopes
        for index, token in enumerate(tokens):
            if scopes.kind[index] != NAMESPACE or scopes.start[index] != index:
                continue
            problem = _bad_program_variable(tokens, index)
            if problem >= 0:
                yield Diagnostic(
                    "SP8006",
                    f"program-scope variable '{tokens[problem].was}' must be in the constant address space",
                    self._at(problem),
                    cause=f"'{token.was}' at program scope has no constant qualifier",
                    fix=f"declare it as constant {token.was} {tokens[problem].was}",
                )

    def _threadgroup_initializers(self) -> Iterator[Diagnostic]:
        tokens, scopes = self.unit.stream.tokens, self.unit.scopes
        for index, token in enumerate(tokens):
            if token.was != "threadgroup" or scopes.kind[index] != FUNCTION or scopes.start[index] != index:
                continue
            end = next((i for i in range(index, len(tokens)) if tokens[i].was in ("=", ";", "(", "*", "&", "{")), index)
            if tokens[end].was == "=" and tokens[end - 1].kind == WORD:
                name = tokens[end - 1].was
                yield Diagnostic(
                    "SP8006",
                    f"threadgroup variable '{name}' cannot have an initializer",
                    self._at(index),
                    cause="threadgroup memory is not initialised: every thread would write it",
                    fix="assign it in one thread, then call threadgroup_barrier",
                )

    def _words(self) -> Iterator[Diagnostic]:
        banned = {
            "double": "Metal has no double; use float",
            "goto": "Metal has no goto",
            "throw": "Metal has no exceptions",
            "virtual": "Metal has no virtual functions",
            "dynamic_cast": "Metal has no dynamic_cast",
            "new": "Metal has no memory allocation",
            "delete": "Metal has no memory allocation",
        }
        tokens = self.unit.stream.tokens
        for index, token in enumerate(tokens):
            if (
                token.kind == WORD
                and token.was in banned
                and not (token.was == "delete" and tokens[index - 1].was == "=")
            ):
                yield Diagnostic(
                    "SP8001",
                    f"'{token.was}' is not supported in Metal",
                    self._at(index),
                    cause=banned[token.was],
                    fix="use what the Metal Shading Language specification has instead",
                )


def _builtin_problem(parameter: Parameter, builtin: Attribute) -> tuple[str, str, str] | None:
    words = [w for w in parameter.type if w not in ("const", "metal", "::")]
    kind = words[-1] if words else ""
    if parameter.is_indirect:
        return (
            f"parameter '{parameter.name}' with [[{builtin.name}]] must be a value",
            "the hardware gives a value",
            f"write uint {parameter.name}",
        )
    if kind in (
        "float",
        "half",
        "bool",
        "char",
        "float2",
        "float3",
        "half3",
        "float4",
        "int",
        "int2",
        "int3",
        "short",
        "long",
        "ulong",
        "uint4",
        "ushort4",
        "uchar",
    ):
        return (
            f"type '{kind}' is not valid for attribute '{builtin.name}'",
            "it takes ushort or uint" + ("" if builtin.name in _SCALAR_BUILTINS else ", with up to three components"),
            f"write uint {parameter.name}",
        )
    if builtin.name in _SCALAR_BUILTINS and _WIDTHS.get(kind, 1) != 1:
        return (
            f"type '{kind}' is not valid for attribute '{builtin.name}'",
            "it is a single number",
            f"write uint {parameter.name}",
        )
    return None


def _pointer_problem(parameter: Parameter) -> tuple[str, str, str] | None:
    index = parameter.attribute("buffer") or parameter.attribute("threadgroup")
    if not parameter.space:
        return (
            f"pointer or reference parameter '{parameter.name}' has no address space",
            "a kernel's pointers are device, constant or threadgroup",
            f"write device {' '.join(parameter.type)}",
        )
    if parameter.space == "thread":
        return (
            f"kernel parameter '{parameter.name}' cannot point to the thread address space",
            "the host cannot pass thread memory",
            "use device, constant or threadgroup",
        )
    if index is not None and index.name == "buffer" and parameter.space == "threadgroup":
        return (
            f"'{parameter.name}' is a threadgroup pointer with a buffer index",
            "threadgroup memory has its own table",
            "write [[threadgroup(n)]]",
        )
    if index is not None and index.name == "threadgroup" and parameter.space != "threadgroup":
        return (
            f"'{parameter.name}' is a {parameter.space} pointer with a threadgroup index",
            "[[threadgroup(n)]] is for threadgroup memory",
            "write [[buffer(n)]]",
        )
    return None


def _is_opaque(parameter: Parameter) -> bool:
    """A texture, sampler or the like: passed by value, index implicit."""
    words = set(parameter.type)
    return any(
        w.startswith(
            (
                "texture",
                "depth",
                "sampler",
                "array",
                "visible",
                "intersection",
                "acceleration",
                "instance",
                "imageblock",
                "command",
                "render",
                "tensor",
                "primitive",
            )
        )
        for w in words
    )


_DECLARES_NOTHING = frozenset(
    [
        "struct",
        "class",
        "union",
        "enum",
        "namespace",
        "using",
        "typedef",
        "template",
        "extern",
        "static_assert",
        "kernel",
        "vertex",
        "fragment",
        "constant",
        "device",
        "threadgroup",
        "thread",
        "METAL_FUNC",
        "inline",
    ]
)


def _bad_program_variable(tokens: list[Token], start: int) -> int:
    """The name token of a variable at program scope without an address space, or -1."""
    if tokens[start].kind != WORD or tokens[start].was in _DECLARES_NOTHING - {"threadgroup", "device", "thread"}:
        return -1
    at = start
    name = -1
    while at < len(tokens):
        token = tokens[at]
        text = token.was
        if text in (
            "constant",
            "kernel",
            "vertex",
            "fragment",
            "operator",
            "friend",
            "struct",
            "class",
            "enum",
            "union",
        ):
            return -1
        if text in ("(", "{", "}", "::") and at > start:
            return -1
        if text == "[" and tokens[at + 1].was == "[":
            at = token.match + 1
            continue
        if text in ("=", ";", "["):
            return name if name > start else -1
        if text == "<":
            return -1
        if token.kind == WORD:
            name = at
        at += 1
    return -1


def check(unit: Rewritten, place: PlaceOf) -> list[Diagnostic]:
    """All findings; `place` maps a token to the user's place."""
    return list(_Checker(unit, place).run())
