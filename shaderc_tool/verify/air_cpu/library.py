"""Finds a kernel's bitcode in whatever holds it."""

from __future__ import annotations

from typing import Any

from shaderc_tool.verify.air_cpu.errors import DispatchError


def kernel_bitcode(library: Any, kernel: str) -> bytes:
    """The AIR of `kernel` in a metallib's bytes, an AIR module's bytes, or a parsed library (`.functions`).

    Raises `FormatError` for damaged bytes, `DispatchError` when the library has no such kernel.
    """
    if isinstance(library, (bytes, bytearray, memoryview)):
        data = bytes(library)
        if not data.startswith(b"MTLB"):
            return data
        from shaderc_tool.formats.metallib import read_library

        library = read_library(data)
    for function in library.functions:
        if function.name == kernel:
            return bytes(function.bitcode)
    names = sorted(str(function.name) for function in library.functions)
    shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    raise DispatchError(f"no kernel {kernel!r} in the library", subject=kernel, cause=f"it has: {shown}")
