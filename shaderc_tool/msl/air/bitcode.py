"""AIR text to bitcode and back, and one module for each function."""

from __future__ import annotations

import re
import struct

from shaderc_tool.msl.air.clean import quoted
from shaderc_tool.msl.air.constants import keep_constants
from shaderc_tool.msl.air.module import IrModule, parse_module

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
    symbols = [(number, _function_symbol(module, number)) for number in listed]
    return [(_plain(symbol), _alone(module, symbol, number)) for number, symbol in symbols]


def _plain(symbol: str) -> str:
    """The name that a symbol stands for."""
    raw = re.sub(rb"\\([0-9A-Fa-f]{2})", lambda m: bytes([int(m[1], 16)]), symbol.strip('"').encode())
    return raw.decode("utf-8")


def _alone(module: IrModule, symbol: str, node: str) -> str:
    predicates = set(re.findall(r"@(__metal_implicit_fc_pred_\d+)", _closure(module, int(node))))
    part = module.reachable({symbol} | predicates)
    part.named["air.kernel"] = f"!{{!{node}}}"
    part.preamble = [
        f"source_filename = {quoted(_plain(symbol))}",
        *[p for p in part.preamble if not p.startswith("source_")],
    ]
    keep_constants(part, module)
    part.drop_unused()
    return part.text()


def _closure(module: IrModule, node: int) -> str:
    """The text of a metadata node and of all that it refers to."""
    seen: dict[int, str] = {}
    todo = [node]
    while todo:
        number = todo.pop()
        if number not in seen:
            seen[number] = module.metadata.get(number, "")
            todo += [int(n) for n in re.findall(r"!(\d+)", seen[number])]
    return "\n".join(seen.values())


def _function_symbol(module: IrModule, node: str) -> str:
    match = re.search(r'@("(?:[^"\\]|\\.)*"|[-\w.$]+)', module.metadata[int(node)])
    assert match is not None, node
    return match[1]


def entry_names(bitcode: bytes) -> list[str]:
    """The entry points of an .air module."""
    return [name for name, _ in split_functions(disassemble(bitcode))]
