"""Finds a kernel's bitcode in whatever holds it."""

from __future__ import annotations

from typing import Final, TypeAlias

from shaderc_tool.formats.errors import FormatError
from shaderc_tool.formats.metallib import MAGIC, Library, read_library
from shaderc_tool.verify.air_cpu.errors import DispatchError

Source: TypeAlias = Library | bytes | bytearray | memoryview
"""A parsed Metal library, the bytes of one, or the bytes of one AIR module."""

_SHOWN: Final = 8


def kernel_bitcode(library: Source, kernel: str) -> bytes:
    """The AIR of `kernel`.

    Raises `FormatError` for damaged bytes, which include bitcode without its recorded hash: LLVM does not promise to
    survive it. Raises `DispatchError` when the library has no such kernel.
    """
    if not isinstance(library, Library):
        data = bytes(library)
        if not data.startswith(MAGIC):
            return data
        library = read_library(data)
    for function in library.functions:
        if function.name == kernel:
            if not function.hash_matches():
                raise FormatError(f"the bitcode of {kernel} does not have its recorded hash")
            return bytes(function.bitcode)
    names = sorted(function.name for function in library.functions)
    shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    raise DispatchError(f"no kernel {kernel!r} in the library", subject=kernel, cause=f"it has: {shown}")
