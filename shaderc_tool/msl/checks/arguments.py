"""Entry points: what they return, what their parameters are, and the argument tables."""

from __future__ import annotations

from collections.abc import Iterator

from shaderc_tool.diagnostics import Diagnostic
from shaderc_tool.msl.air.entry import BUILTINS
from shaderc_tool.msl.checks.attributes import INDEX_LIMITS, PARAMETER
from shaderc_tool.msl.checks.place import At
from shaderc_tool.msl.rewrite import Rewritten
from shaderc_tool.msl.rewrite.attributes import Attribute
from shaderc_tool.msl.rewrite.entries import Parameter, Pattern

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
_WIDTHS = {"uint": 1, "ushort": 1, "uint2": 2, "ushort2": 2, "uint3": 3, "ushort3": 3, "uint16_t": 1, "uint32_t": 1}


def entry_points(unit: Rewritten, at: At) -> Iterator[Diagnostic]:
    """All findings about entry points."""
    for pattern in unit.entries.patterns:
        if pattern.stage == "kernel":
            yield from _kernel(at, pattern)
        yield from _indices(at, pattern)
    yield from _duplicates(unit, at)


def _kernel(at: At, pattern: Pattern) -> Iterator[Diagnostic]:
    if pattern.returns and pattern.returns[-1] != "void" and not pattern.is_template:
        yield Diagnostic(
            "SP8005",
            f"kernel '{pattern.name}' must return void, not '{pattern.returns[-1]}'",
            at(pattern.token),
            cause="a kernel has no return value",
            fix="write results to a device buffer",
            subject=pattern.name,
        )
    for parameter in pattern.parameters:
        yield from _parameter(at, pattern, parameter)
    yield from _widths(at, pattern)
    limit = pattern.attribute("max_total_threads_per_threadgroup")
    if limit is not None and limit.number is not None and not 0 < limit.number <= 1024:
        yield Diagnostic(
            "SP8005",
            f"max_total_threads_per_threadgroup({limit.number}) is not between 1 and 1024",
            at(limit.token),
            cause="no Apple GPU runs more than 1024 threads in a threadgroup",
            fix="use 1 to 1024",
            subject=pattern.name,
        )


def _parameter(at: At, pattern: Pattern, parameter: Parameter) -> Iterator[Diagnostic]:
    builtin = next((a for a in parameter.attributes if a.name in BUILTINS), None)
    problem: tuple[str, str, str] | None = None
    if builtin is not None:
        problem = _builtin_problem(parameter, builtin)
    elif parameter.is_indirect:
        problem = _pointer_problem(parameter)
    elif not any(a.name in PARAMETER for a in parameter.attributes) and not _is_opaque(parameter):
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
        yield Diagnostic("SP8005", problem[0], at(parameter.token), problem[1], problem[2], pattern.name)


def _widths(at: At, pattern: Pattern) -> Iterator[Diagnostic]:
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
                at(parameter.token),
                cause="all position and size attributes of one kernel must have the same number of components",
                fix=f"declare both as {first[1].type[-1]}",
                subject=pattern.name,
            )


def _indices(at: At, pattern: Pattern) -> Iterator[Diagnostic]:
    taken: dict[tuple[str, int], Parameter] = {}
    for parameter in pattern.parameters:
        for attribute in parameter.attributes:
            limit = INDEX_LIMITS.get(attribute.name)
            if limit is None or parameter.attribute("function_constant") is not None:
                continue
            number = attribute.number
            if number is None:
                if not attribute.arguments:
                    yield _index(at, attribute, pattern, f"attribute '{attribute.name}' needs an index")
            elif not 0 <= number < limit:
                text = f"{attribute.name} index {number} is out of range: 0 to {limit - 1}"
                yield _index(at, attribute, pattern, text)
            elif (attribute.name, number) in taken:
                other = taken[attribute.name, number].name
                text = f"{attribute.name} index {number} is used by '{other}' and by '{parameter.name}'"
                yield _index(at, attribute, pattern, text)
            else:
                taken[attribute.name, number] = parameter


def _index(at: At, attribute: Attribute, pattern: Pattern, text: str) -> Diagnostic:
    return Diagnostic(
        "SP8004",
        text,
        at(attribute.token),
        cause="every argument of a kind needs its own index within the limits of the argument table",
        fix="give each argument its own index",
        subject=pattern.name,
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


def _duplicates(unit: Rewritten, at: At) -> Iterator[Diagnostic]:
    seen: dict[str, int] = {}
    named = [(i.host_name, i.token) for i in unit.entries.instantiations if i.host_name]
    named += [(p.name, p.token) for p in unit.entries.patterns if not p.is_template and p.stage]
    for name, token in named:
        if name in seen and unit.stream.tokens[token].line != unit.stream.tokens[seen[name]].line:
            yield Diagnostic(
                "SP8009",
                f"two entry points are called '{name}'",
                at(token),
                cause=f"the first one is at {at(seen[name])}",
                fix="give each host_name once",
                subject=name,
            )
        seen.setdefault(name, token)
