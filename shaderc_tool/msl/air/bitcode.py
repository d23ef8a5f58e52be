"""AIR text to bitcode and back, and one module for each function."""

from __future__ import annotations

import re
import struct

from shaderc_tool.msl.air.module import parse_module

_WRAPPER = 0x0B17C0DE


def assemble(text: str) -> bytes:
    """Bitcode in Apple's wrapper, padded to 16 bytes: LLVM writes both by itself for this triple.

    Raises RuntimeError when LLVM's parser or verifier refuses the module.
    """
    import llvmlite.binding as llvm

    with llvm.parse_assembly(text) as module:
        module.verify()
        return bytes(module.as_bitcode())


def disassemble(bitcode: bytes) -> str:
    """The text of a module in bitcode, with or without the wrapper."""
    import llvmlite.binding as llvm

    with llvm.parse_bitcode(unwrap(bitcode)) as module:
        return str(module)


def unwrap(bitcode: bytes) -> bytes:
    """The bitcode without Apple's wrapper."""
    if len(bitcode) >= 20 and struct.unpack_from("<I", bitcode)[0] == _WRAPPER:
        offset, size = struct.unpack_from("<II", bitcode, 8)
        return bitcode[offset : offset + size]
    return bitcode


def split_functions(text: str) -> list[tuple[str, str]]:
    """(entry point, text of the module that holds it alone), as a metallib stores them.

    As in Apple's libraries `source_filename` is the function's name.
    """
    module = parse_module(text)
    listed = re.findall(r"!(\d+)", module.named.get("air.kernel", ""))
    found: list[tuple[str, str]] = []
    for number in listed:
        name = _function_name(module.metadata[int(number)])
        roots = {name} | ({"llvm.global_ctors", "llvm.compiler.used"} & set(module.globals))
        part = module.reachable(roots)
        part.named["air.kernel"] = f"!{{!{number}}}"
        part.preamble = [f'source_filename = "{name}"', *[p for p in part.preamble if not p.startswith("source_")]]
        part.drop_unused()
        found.append((name, part.text()))
    return found


def _function_name(node: str) -> str:
    match = re.search(r'@("(?:[^"\\]|\\.)*"|[-\w.$]+)', node)
    assert match is not None, node
    return match[1].strip('"')


def entry_names(bitcode: bytes) -> list[str]:
    """The entry points of an .air module."""
    return [name for name, _ in split_functions(disassemble(bitcode))]
