"""The memory that Python and the scheduler share; mirrors the types in runtime.ll."""

from __future__ import annotations

import ctypes
from typing import Final

MAX_PARAMETERS: Final = 128
_U32x3: Final = ctypes.c_uint32 * 3


class Thread(ctypes.Structure):
    """`%spk.thread`."""

    _fields_ = (
        ("sp", ctypes.c_void_p),
        ("state", ctypes.c_uint32),
        ("site", ctypes.c_uint32),
        ("slot", ctypes.c_void_p),
        ("resolver", ctypes.c_void_p),
        ("index", ctypes.c_uint32),
        ("position", _U32x3),
        ("atomics", ctypes.c_uint32),
        ("low", ctypes.c_void_p),
        ("high", ctypes.c_void_p),
    )


class Fault(ctypes.Structure):
    """`%spk.fault`. `code` 0 means no fault."""

    _fields_ = (
        ("code", ctypes.c_uint32),
        ("thread", ctypes.c_uint32),
        ("site", ctypes.c_uint32),
        ("unused", ctypes.c_uint32),
        ("a", ctypes.c_uint64),
        ("b", ctypes.c_uint64),
    )


class Control(ctypes.Structure):
    """`%spk.control.type`."""

    _fields_ = (
        ("threads", ctypes.c_void_p),
        ("stacks", ctypes.c_void_p),
        ("stack_bytes", ctypes.c_uint64),
        ("size", _U32x3),
        ("groups", _U32x3),
        ("total", _U32x3),
        ("position", _U32x3),
        ("extent", _U32x3),
        ("count", ctypes.c_uint32),
        ("stop", ctypes.c_uint32),
        ("home", ctypes.c_void_p),
        ("current", ctypes.c_void_p),
        ("fault", Fault),
        ("range_count", ctypes.c_uint64),
        ("ranges", ctypes.c_void_p),
        ("barriers", ctypes.c_uint64),
        ("operations", ctypes.c_uint64),
        ("missed", ctypes.c_uint64),
        ("progress", ctypes.c_uint32),
    )


Bounds: Final = (ctypes.c_uint64 * 2) * MAX_PARAMETERS
Arguments: Final = ctypes.c_uint64 * MAX_PARAMETERS
