"""Kernels and variant matrices to jobs: cartesian product less `exclude`, names and macros by template."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from shaderc_tool.diagnostics import Diagnostic, Place
from shaderc_tool.manifest.model import (
    Interface,
    Member,
    MetalFunction,
    MetalUnit,
    ShaderJob,
    Target,
)
from shaderc_tool.manifest.nodes import Node
from shaderc_tool.manifest.shapes import as_int, did_you_mean

_SYMBOL = re.compile(r"[A-Za-z_]\w*")
_FIELD = re.compile(r"\{(\w*)\}")
_VULKAN_DEFAULTS = {"optimize": "speed", "layout": "std430", "validate": "error"}


@dataclass(frozen=True)
class Context:
    """What the expansion needs of the rest of the manifest."""

    defaults: Node
    source_folders: Mapping[str, str]
    targets: Mapping[str, Target]
    found: list[Diagnostic]
    is_sound: Callable[[str], bool]
    inside: Callable[[str, Node], str | None]

    def default(self, api: str, key: str, otherwise: str) -> str:
        section = self.defaults.get(api)
        node = section.get(key) if section else None
        return node.string() if node else otherwise

    def default_defines(self, api: str) -> dict[str, str]:
        section = self.defaults.get(api)
        return _defines(section.get("defines") if section else None)

    def source(self, api: str, node: Node) -> str:
        """The source path below the root; "" after a diagnostic."""
        return self.inside(f"{self.source_folders[api]}/{node.string()}", node) or ""

    def chosen_targets(self, api: str, entry: Node) -> list[Target]:
        """The targets that an entry names, or all of its API."""
        node = entry.get("targets")
        if node is None:
            return [t for t in self.targets.values() if t.api == api]
        chosen = []
        for name in node.texts():
            target = self.targets.get(name)
            if target is None or target.api != api:
                self.found.append(
                    Diagnostic(
                        "SP1011",
                        f"there is no {api} target «{name}»",
                        node.place,
                        cause=f"it is not declared under `targets:` with `api: {api}`",
                        fix=did_you_mean(name, (t.name for t in self.targets.values() if t.api == api)),
                        subject=name,
                    )
                )
            else:
                chosen.append(target)
        return chosen


def expand_kernels(node: Node | None, context: Context) -> tuple[list[ShaderJob], list[MetalUnit]]:
    """The jobs of `kernels:`."""
    shaders: list[ShaderJob] = []
    metal: list[MetalUnit] = []
    for name, entry in node.pairs() if node and node.entries is not None else ():
        if not context.is_sound(f"kernels.{name}"):
            continue
        verify = entry.get("verify")
        reference = verify.string() if verify else ""
        if entry.get("vulkan") is None and entry.get("metal") is None:
            context.found.append(
                Diagnostic(
                    "SP1003",
                    f"the kernel «{name}» has neither `vulkan:` nor `metal:`",
                    entry.place,
                    cause="a kernel needs at least one form",
                    fix="add one of them",
                    subject=name,
                )
            )
        if (vulkan := entry.get("vulkan")) is not None:
            shaders += _vulkan_jobs(name, vulkan, reference, context)
        if (form := entry.get("metal")) is not None:
            metal += _metal_units(name, form, reference, context)
    return shaders, metal


def expand_variants(node: Node | None, context: Context) -> list[ShaderJob]:
    """The jobs of `variants:`."""
    jobs: list[ShaderJob] = []
    for name, entry in node.pairs() if node and node.entries is not None else ():
        if context.is_sound(f"variants.{name}"):
            jobs += _variant_jobs(name, entry, context)
    return jobs


def _vulkan_jobs(kernel: str, entry: Node, reference: str, context: Context) -> list[ShaderJob]:
    symbol = entry["symbol"].string()
    if not _check_symbol(symbol, entry["symbol"].place, context):
        return []
    base = _base_job(kernel, entry, reference, context)
    defines = {**context.default_defines("vulkan"), **_defines(entry.get("defines"))}
    base = replace(base, symbol=symbol, defines=tuple(defines.items()))
    return [replace(base, target=t.name, env=t.env, spv=t.spv) for t in context.chosen_targets("vulkan", entry)]


def _base_job(kernel: str, entry: Node, reference: str, context: Context) -> ShaderJob:
    def text(key: str) -> str:
        node = entry.get(key)
        return node.string() if node else context.default("vulkan", key, _VULKAN_DEFAULTS[key])

    return ShaderJob(
        kernel=kernel,
        target="",
        symbol="",
        file=context.source("vulkan", entry["file"]),
        place=entry["file"].place,
        env="",
        spv="",
        defines=(),
        optimize=text("optimize"),
        layout=text("layout"),
        debug=context.default("vulkan", "debug", "false") == "true",
        interface=_interface(entry),
        verify=reference,
        validate=text("validate"),
    )


def _interface(entry: Node) -> Interface:
    def names(key: str) -> tuple[str, ...] | None:
        node = entry.get(key)
        return node.texts() if node else None

    size = entry.get("local_size")
    name = entry.get("entry")
    push = entry.get("push_constants")
    return Interface(
        entry=name.string() if name else "main",
        local_size=_local_size(size) if size else None,
        bindings=names("bindings"),
        push_constants=_members(push) if push else None,
        grid=names("grid") or (),
    )


def _local_size(node: Node) -> tuple[int, ...]:
    sizes = [as_int(item) or 1 for item in node.items or ()]
    return tuple((*sizes, 1, 1)[:3])


def _members(node: Node) -> tuple[Member, ...]:
    members = []
    for text in node.texts():
        name, _, kind = text.partition(":")
        members.append(Member(name.strip(), kind.strip() or "uint"))
    return tuple(members)


def _metal_units(kernel: str, entry: Node, reference: str, context: Context) -> list[MetalUnit]:
    def text(key: str, otherwise: str) -> str:
        node = entry.get(key)
        return node.string() if node else context.default("metal", key, otherwise)

    defines = {**context.default_defines("metal"), **_defines(entry.get("defines"))}
    unit = MetalUnit(
        kernel=kernel,
        target="",
        file=context.source("metal", entry["file"]),
        place=entry["file"].place,
        functions=_functions(entry["functions"], reference),
        defines=tuple(defines.items()),
        optimize=text("optimize", "speed"),
        math=text("math", "safe"),
        debug=context.default("metal", "debug", "false") == "true",
    )
    return [replace(unit, target=t.name) for t in context.chosen_targets("metal", entry)]


def _functions(node: Node, reference: str) -> tuple[MetalFunction, ...]:
    if node.entries is None:
        items = node.items if node.items is not None else (node,)
        return tuple(MetalFunction(item.string(), item.place, verify=reference) for item in items)
    return tuple(_function(name, node.key_places[name], entry) for name, entry in node.pairs())


def _function(name: str, place: Place, entry: Node) -> MetalFunction:
    def texts(key: str) -> tuple[str, ...]:
        node = entry.get(key)
        return node.texts() if node else ()

    size, args = entry.get("threadgroup"), entry.get("args")
    verify, std = entry.get("verify"), entry.get("requires_std")
    return MetalFunction(
        name,
        place,
        buffers=texts("buffers"),
        args=_members(args) if args else (),
        threadgroup=_local_size(size) if size else (),
        grid=texts("grid"),
        verify=verify.string() if verify else "",
        requires_std=std.string() if std else "",
    )


def _variant_jobs(name: str, entry: Node, context: Context) -> list[ShaderJob]:
    if not _check_form(name, entry, context):
        return []
    return _matrix_jobs(name, entry, context) if entry.get("cases") is None else _case_jobs(name, entry, context)


def _matrix_jobs(name: str, entry: Node, context: Context) -> list[ShaderJob]:
    vulkan = entry["vulkan"]
    axes = {axis: _axis_values(values) for axis, values in entry["matrix"].pairs()}
    verify = entry.get("verify")
    templates = {**_defines(vulkan.get("defines")), **_defines(entry.get("defines"))}
    symbol = vulkan["symbol"]
    if not _check_templates({"symbol": symbol.string(), **templates}, axes, symbol.place, context):
        return []
    excluded = [_exclusion(item, axes, context) for item in _items(entry.get("exclude"))]
    base = _base_job(name, vulkan, verify.string() if verify else "", context)
    targets = context.chosen_targets("vulkan", vulkan)
    common = context.default_defines("vulkan")
    jobs: list[ShaderJob] = []
    for values, macros in _combinations(axes):
        if any(rule and all(values[a] in allowed for a, allowed in rule.items()) for rule in excluded):
            continue
        text = _fill(symbol.string(), values)
        if not _check_symbol(text, symbol.place, context):
            return jobs
        defines = {**common, **macros, **{macro: _fill(t, values) for macro, t in templates.items()}}
        made = replace(base, symbol=text, defines=tuple(defines.items()))
        jobs += [replace(made, target=t.name, env=t.env, spv=t.spv) for t in targets]
    if not jobs and targets:
        context.found.append(
            Diagnostic(
                "SP1013",
                f"the variants «{name}» come to nothing",
                entry.place,
                cause="`exclude` leaves no combination",
                fix="remove the rule that excludes everything",
                subject=name,
            )
        )
    return jobs


def _case_jobs(name: str, entry: Node, context: Context) -> list[ShaderJob]:
    vulkan, verify = entry["vulkan"], entry.get("verify")
    base = _base_job(name, vulkan, verify.string() if verify else "", context)
    targets = context.chosen_targets("vulkan", vulkan)
    common = {
        **context.default_defines("vulkan"),
        **_defines(vulkan.get("defines")),
        **_defines(entry.get("defines")),
    }
    jobs: list[ShaderJob] = []
    for case in entry["cases"].items or ():
        symbol = case["symbol"]
        if _check_symbol(symbol.string(), symbol.place, context):
            defines = tuple({**common, **_defines(case.get("defines"))}.items())
            made = replace(base, symbol=symbol.string(), defines=defines, place=symbol.place)
            jobs += [replace(made, target=t.name, env=t.env, spv=t.spv) for t in targets]
    return jobs


def _check_form(name: str, entry: Node, context: Context) -> bool:
    """A variant set has a matrix and a symbol template, or cases that name their symbols."""
    listed = entry.get("cases") is not None
    superfluous = [k for k in ("matrix", "exclude") if listed and entry.get(k) is not None]
    vulkan = entry["vulkan"]
    if listed and vulkan.get("symbol") is not None:
        superfluous.append("vulkan.symbol")
    lacking = [] if listed or entry.get("matrix") is not None else ["matrix"]
    if not listed and vulkan.get("symbol") is None:
        lacking.append("vulkan.symbol")
    for code, keys, what, fix in (
        ("SP1002", superfluous, "does not go with `cases`", "remove it, or write a matrix instead of the cases"),
        ("SP1003", lacking, "is missing", "add it, or list the variants under `cases:`"),
    ):
        for key in keys:
            context.found.append(
                Diagnostic(
                    code,
                    f"«{key}» {what} in the variants «{name}»",
                    entry.place,
                    cause="variants are a matrix with a symbol template, or a list of cases with a symbol each",
                    fix=fix,
                    subject=f"variants.{name}.{key}",
                )
            )
    return not superfluous and not lacking


def _axis_values(node: Node) -> dict[str, dict[str, str]]:
    if node.items is not None:
        return {item.string(): {} for item in node.items}
    return {value: _defines(macros) for value, macros in node.pairs()}


def _combinations(
    axes: dict[str, dict[str, dict[str, str]]],
) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    for combination in itertools.product(*(values.items() for values in axes.values())):
        values = dict(zip(axes, (value for value, _ in combination), strict=True))
        macros: dict[str, str] = {}
        for _, more in combination:
            macros.update((macro, _fill(text, values)) for macro, text in more.items())
        yield values, macros


def _exclusion(node: Node, axes: Mapping[str, object], context: Context) -> dict[str, tuple[str, ...]]:
    for axis in node.entries or {}:
        if axis not in axes:
            context.found.append(
                Diagnostic(
                    "SP1012",
                    f"`exclude` names the axis «{axis}», which does not exist",
                    node.key_places[axis],
                    cause="an exclusion of nothing would be silently ignored",
                    fix=did_you_mean(axis, axes),
                    subject=axis,
                )
            )
    return {axis: value.texts() for axis, value in node.pairs() if axis in axes}


def _items(node: Node | None) -> tuple[Node, ...]:
    if node is None:
        return ()
    return node.items if node.items is not None else (node,)


def _fill(template: str, values: Mapping[str, str]) -> str:
    return _FIELD.sub(lambda m: values[m[1]], template) if "{" in template else template


def _check_templates(templates: Mapping[str, str], axes: Mapping[str, object], place: Place, context: Context) -> bool:
    ok = True
    for key, template in templates.items():
        for axis in _FIELD.findall(template):
            if axis not in axes:
                context.found.append(
                    Diagnostic(
                        "SP1012",
                        f"the template of «{key}» names the axis «{axis}», which does not exist",
                        place,
                        cause=f"the template is «{template}»",
                        fix=did_you_mean(axis, axes),
                        subject=key,
                    )
                )
                ok = False
    return ok


def _check_symbol(symbol: str, place: Place, context: Context) -> bool:
    if _SYMBOL.fullmatch(symbol):
        return True
    context.found.append(
        Diagnostic(
            "SP1009",
            f"«{symbol}» is not a C identifier",
            place,
            cause="the symbol becomes a C name and a file name",
            fix="use letters, digits and «_» in the symbol and in the axis values that it uses",
            subject=symbol,
        )
    )
    return False


def _defines(node: Node | None) -> dict[str, str]:
    return {macro: value.string() for macro, value in node.pairs()} if node else {}
