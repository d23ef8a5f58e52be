"""Small AIR modules for tests: textual IR with Apple's metadata, assembled by llvmlite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LAYOUT = (
    "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-v16:16:16-v24:32:32-v32:32:32"
    "-v48:64:64-v64:64:64-v96:128:128-v128:128:128-v192:256:256-v256:256:256-v512:512:512-v1024:1024:1024-n8:16:32"
)
_SIZES = {"i8": 1, "i16": 2, "half": 2, "bfloat": 2, "i32": 4, "float": 4, "i64": 8}


@dataclass(frozen=True)
class Buffer:
    """`device`, `constant` or `threadgroup` pointer; `reference` bytes make it a reference argument."""

    index: int
    kind: str
    space: int = 1
    reference: int = 0
    name: str = ""


@dataclass(frozen=True)
class Builtin:
    """A builtin argument such as `thread_position_in_grid`."""

    role: str
    kind: str = "i32"


def module_text(
    params: Sequence[Buffer | Builtin],
    body: str,
    *,
    name: str = "k",
    before: str = "",
    named: str = "",
    nodes: str = "",
    triple: str = "air64-apple-macosx14.0.0",
    attributes: str = "",
) -> str:
    """A module with one kernel whose parameters are `%0`, `%1`, …; `body` starts in block `entry`."""
    types, metadata = [], []
    for position, param in enumerate(params):
        number = 100 + position
        if isinstance(param, Buffer):
            types.append(f"{param.kind} addrspace({param.space})*")
            size = f'!"air.buffer_size", i32 {param.reference}, ' if param.reference else ""
            access = "air.read" if param.space == 2 else "air.read_write"
            width = _SIZES.get(param.kind, 4)
            metadata.append(
                f'!{number} = !{{i32 {position}, !"air.buffer", {size}!"air.location_index", i32 {param.index}, i32 1, '
                f'!"{access}", !"air.address_space", i32 {param.space}, !"air.arg_type_size", i32 {width}, '
                f'!"air.arg_type_align_size", i32 {width}, !"air.arg_type_name", !"{param.kind}", '
                f'!"air.arg_name", !"{param.name or f"b{param.index}"}"}}'
            )
        else:
            types.append(param.kind)
            metadata.append(
                f'!{number} = !{{i32 {position}, !"air.{param.role}", !"air.arg_type_name", !"uint", '
                f'!"air.arg_name", !"p{position}"}}'
            )
    signature = ", ".join(types)
    parameters = ", ".join(f"{kind} %{index}" for index, kind in enumerate(types))
    inputs = ", ".join(f"!{100 + position}" for position in range(len(params)))
    return f"""source_filename = "{name}"
target datalayout = "{LAYOUT}"
target triple = "{triple}"
{before}
define void @{name}({parameters}) {{
entry:
{body}
}}
!llvm.ident = !{{!4}}
!air.version = !{{!5}}
!air.language_version = !{{!6}}
!air.compile_options = !{{!7, !8}}
!air.kernel = !{{!1}}
{named}
!1 = !{{void ({signature})* @{name}, !2, !3{", !9" if attributes else ""}}}
!2 = !{{}}
!3 = !{{{inputs}}}
!4 = !{{!"test compiler 1.0"}}
!5 = !{{i32 2, i32 6, i32 0}}
!6 = !{{!"Metal", i32 3, i32 1, i32 0}}
!7 = !{{!"air.compile.denorms_disable"}}
!8 = !{{!"air.compile.fast_math_disable"}}
{f"!9 = !{{{attributes}}}" if attributes else ""}
{chr(10).join(metadata)}
{nodes}
"""


def assemble(text: str) -> bytes:
    """Bitcode of a module in textual form; LLVM adds the Darwin wrapper for AIR triples."""
    import llvmlite.binding as llvm

    context = llvm.create_context()
    module = llvm.parse_assembly(text, context=context)
    try:
        module.verify()
        return bytes(module.as_bitcode())
    finally:
        module.close()
        context.close()


def kernel(params: Sequence[Buffer | Builtin], body: str, **options: str) -> bytes:
    """The bitcode of `module_text`."""
    return assemble(module_text(params, body, **options))
