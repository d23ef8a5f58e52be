"""`.air` modules to one metallib, one function a module, as Apple's linker does it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shaderc_tool.formats.metallib import FunctionType, NewFunction, build_library, write_library
from shaderc_tool.formats.metallib_tags import Constant
from shaderc_tool.msl.air.bitcode import assemble, disassemble, split_functions
from shaderc_tool.msl.air.module import IrModule, parse_module

_DATA_TYPES = {
    "float": 3,
    "half": 16,
    "int": 29,
    "uint": 33,
    "short": 37,
    "ushort": 41,
    "char": 45,
    "uchar": 49,
    "bool": 53,
    "long": 81,
    "ulong": 85,
}
"""MTLDataType by type name; vectors of 2, 3 and 4 follow each scalar."""


def link_metallib(airs: Sequence[bytes], platform: str, min_os: str) -> bytes:
    """A library with the entry points of all modules, in order.

    `platform` is a slug such as "ios-simulator", `min_os` the deployment target. Raises ValueError when two modules
    have an entry point of one name.
    """
    numbers = [int(part) for part in min_os.split(".")] + [0, 0]
    functions = [f for air in airs for f in split_air(air)]
    return write_library(build_library(functions, platform, (numbers[0], numbers[1], numbers[2])))


def split_air(air: bytes) -> list[NewFunction]:
    """The functions of one .air module, each as a module of its own."""
    found: list[NewFunction] = []
    for name, text in split_functions(disassemble(air)):
        module = parse_module(text)
        found.append(
            NewFunction(
                name=name,
                type=FunctionType.KERNEL,
                bitcode=assemble(text),
                air_version=_version(module, "air.version"),
                language_version=_version(module, "air.language_version"),
                constants=_constants(module),
            )
        )
    return found


def _nodes(module: IrModule, name: str) -> list[str]:
    return [module.metadata[int(n)] for n in re.findall(r"!(\d+)", module.named.get(name, ""))]


def _version(module: IrModule, name: str) -> tuple[int, int]:
    major, minor, *_ = re.findall(r"i32 (\d+)", _nodes(module, name)[0])
    return int(major), int(minor)


def _constants(module: IrModule) -> tuple[Constant, ...]:
    found: list[Constant] = []
    for node in _nodes(module, "air.function_constants"):
        match = re.search(r'!"([a-z]+)([234]?)", !"(\w+)", i32 (\d+)', node)
        assert match is not None, node
        code = _DATA_TYPES[match[1]] + (int(match[2]) - 1 if match[2] else 0)
        found.append(Constant(match[3], code, int(match[4]), active=True))
    return tuple(found)
