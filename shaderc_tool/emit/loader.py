"""Host code that loads an embedded pack: checks the digest and finds every required function by name.

The texts are templates filled with names and digests; the program that includes them decides nothing at run time but
the device. Apple code needs ARC and blocks; the Vulkan code is C99.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from shaderc_tool.emit import loader_apple, loader_vulkan
from shaderc_tool.emit.c_header import header_name
from shaderc_tool.emit.payload import Payload, c_identifier, require_distinct, require_identifier

_VERSION: Final = re.compile(r"[1-9]\.\d\Z")


@dataclass(frozen=True)
class MetalBundle:
    """What the Apple loader is generated for.

    `payload` is a metallib, or merged source when `is_source`; `functions` are the kernels that must be in it.
    `macros`, `language` ("3.1") and `fast_math` are compile options of source. `module` is what the Swift text imports,
    the pack with a capital when empty. Raises ValueError for a function or macro that is no identifier and for a bad
    language version.
    """

    pack: str
    payload: Payload
    functions: tuple[str, ...]
    is_source: bool = False
    macros: Mapping[str, str] | None = None
    language: str = ""
    fast_math: bool = False
    module: str = ""

    def __post_init__(self) -> None:
        for name in (*self.functions, *(self.macros or {})):
            require_identifier(name)
        if self.language and not _VERSION.match(self.language):
            raise ValueError(f"not a Metal language version: {self.language!r}")
        if not self.is_source and (self.macros or self.language or self.fast_math):
            raise ValueError("macros, language and fast_math are options of a source payload")


def metal_loader(bundle: MetalBundle) -> dict[str, str]:
    """Header, Objective-C and Swift texts, by file name.

    The header declares the payload's symbols, its digest and `<pack>_load_library`; only the header depends on the
    payload's bytes, so that one loader serves all platforms. The `.m` file compiles as Objective-C and, when
    renamed, as Objective-C++. The Swift text imports the header through a module of the pack's name.
    """
    pack = c_identifier(bundle.pack)
    values = {
        "pack": pack,
        "PACK": pack.upper(),
        "Pack": pack[:1].upper() + pack[1:],
        "module": bundle.module or pack[:1].upper() + pack[1:],
        "symbol": bundle.payload.symbol,
        "digest": bundle.payload.digest,
        "functions": "".join(f'    @"{name}",\n' for name in bundle.functions),
        "swift_functions": "".join(f'        "{name}",\n' for name in bundle.functions),
    }
    make, swift_make = loader_apple.make_library(
        bundle.is_source, bundle.macros or {}, bundle.language, bundle.fast_math
    )
    return {
        f"{pack}_metal.h": loader_apple.HEADER.substitute(values),
        f"{pack}_metal.m": loader_apple.OBJECTIVE_C.substitute(values, make=make.substitute(values)),
        f"{values['Pack']}Metal.swift": loader_apple.SWIFT.substitute(values, make=swift_make.substitute(values)),
    }


def vulkan_loader(pack: str, payloads: Iterable[Payload]) -> dict[str, str]:
    """C header and source, by file name, for the payloads that `c_header(pack, payloads)` declares.

    `<pack>_create_shader_module` takes a symbol and gives a VkShaderModule. Raises ValueError for two payloads with one
    symbol.
    """
    ordered = tuple(payloads)
    require_distinct(ordered)
    name = c_identifier(pack)
    values = {
        "pack": name,
        "PACK": name.upper(),
        "header": header_name(pack),
        "entries": "".join(map(_entry, ordered)),
    }
    return {
        f"{name}_vulkan.h": loader_vulkan.HEADER.substitute(values),
        f"{name}_vulkan.c": loader_vulkan.SOURCE.substitute(values),
    }


def _entry(payload: Payload) -> str:
    """One element of the table: symbol, bytes, length, digest."""
    name = payload.symbol
    return f'    {{"{name}", {name}_data, &{name}_len,\n     {{{_digest_bytes(payload, 5)}}}}},\n'


def _digest_bytes(payload: Payload, indent: int) -> str:
    """The digest as C array elements, on two lines."""
    values = [f"0x{byte:02x}" for byte in bytes.fromhex(payload.digest)]
    return f",\n{' ' * (indent + 1)}".join(", ".join(values[i : i + 16]) for i in (0, 16))
