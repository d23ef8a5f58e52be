"""Buffers as the kernel sees them: NumPy arrays in place where possible, aligned copies where not."""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shaderc_tool.formats.air import EntryPoint
from shaderc_tool.formats.air_arguments import Argument
from shaderc_tool.verify.air_cpu.errors import DispatchError

Buffer: TypeAlias = "NDArray[Any] | np.generic | bytes | bytearray | memoryview | Mapping[int, Any] | None"
Buffers: TypeAlias = "Sequence[Buffer] | Mapping[int, Buffer]"

_ALIGN: Final = 16  # the strictest alignment left in the code, see lower.py
ABSENT: Final = 2**64 - 1


@dataclass
class Binding:
    """One buffer argument at run time. `staged` holds the aligned copy, `target` the array to copy back into."""

    argument: Argument
    address: int
    size: int
    staged: NDArray[np.uint8] | None = None
    target: NDArray[Any] | None = None
    inner: list[Binding] = field(default_factory=list)

    def copy_back(self) -> None:
        """Bring what the kernel wrote into a copy back to the caller's array."""
        if self.staged is not None and self.target is not None:
            flat = self.staged[: self.size].view(self.target.dtype).reshape(self.target.shape)
            self.target[...] = flat
        for binding in self.inner:
            binding.copy_back()


def bind(entry: EntryPoint, buffers: Buffers, threadgroup_memory: Mapping[int, int]) -> list[Binding]:
    """Bindings for all buffer arguments of a kernel. Raises `DispatchError`."""
    given = dict(buffers) if isinstance(buffers, Mapping) else dict(enumerate(buffers))
    bindings = []
    wanted: set[int] = set()
    for argument in entry.arguments:
        if not argument.is_buffer:
            continue
        if argument.address_space == 3:
            bindings.append(_threadgroup(entry, argument, threadgroup_memory))
            continue
        wanted.add(argument.index)
        bindings.append(_bind(entry, argument, given.get(argument.index)))
    extra = sorted(index for index, value in given.items() if value is not None and index not in wanted)
    if extra:
        raise DispatchError(
            f"{entry.name} has no buffer {', '.join(map(str, extra))}",
            subject=entry.name,
            cause=f"its buffers are {', '.join(map(str, sorted(wanted))) or 'none'}",
        )
    _refuse_aliased_copies(entry, bindings)
    return bindings


def _threadgroup(entry: EntryPoint, argument: Argument, sizes: Mapping[int, int]) -> Binding:
    size = sizes.get(argument.index, 0)
    if not size and not argument.unused:
        raise DispatchError(
            f"{entry.name} takes threadgroup memory [[threadgroup({argument.index})]] {argument.name}",
            subject=entry.name,
            fix=f"pass threadgroup_memory={{{argument.index}: bytes}}",
        )
    memory = _aligned(size)
    return Binding(argument, memory.ctypes.data, size, memory)


def _aligned(size: int) -> NDArray[np.uint8]:
    raw = np.empty(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size]


def _bind(entry: EntryPoint, argument: Argument, value: Buffer) -> Binding:
    if value is None:
        return Binding(argument, ABSENT, 0)
    if isinstance(value, Mapping):
        return _argument_buffer(entry, argument, value)
    if isinstance(value, np.ndarray):
        return _bind_array(entry, argument, value)
    raw = value.tobytes() if isinstance(value, np.generic) else bytes(value)
    staged = _aligned(len(raw))
    staged[:] = np.frombuffer(raw, np.uint8)
    _check_size(entry, argument, len(raw))
    return Binding(argument, staged.ctypes.data, len(raw), staged)


def _bind_array(entry: EntryPoint, argument: Argument, array: NDArray[Any]) -> Binding:
    if array.dtype.hasobject:
        raise DispatchError(f"buffer {argument.index} of {entry.name} is an object array", subject=entry.name)
    _check_size(entry, argument, array.nbytes)
    if array.flags.c_contiguous and array.flags.writeable and array.ctypes.data % _ALIGN == 0:
        return Binding(argument, array.ctypes.data, array.nbytes, target=array)
    staged = _aligned(array.nbytes)
    staged[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    target = array if array.flags.writeable else None
    return Binding(argument, staged.ctypes.data, array.nbytes, staged, target)


def _check_size(entry: EntryPoint, argument: Argument, size: int) -> None:
    """A reference argument (`constant Params &p`) needs its whole type, as Metal's validation layer demands."""
    if size < argument.buffer_size:
        raise DispatchError(
            f"buffer {argument.index} ({argument.name}) of {entry.name} holds {size} bytes",
            subject=entry.name,
            cause=f"its type {argument.type_name} has {argument.buffer_size} bytes",
        )


def _argument_buffer(entry: EntryPoint, argument: Argument, values: Mapping[int, Any]) -> Binding:
    """An argument buffer from {[[id(n)]]: array, scalar or, for an array of buffers, their list}."""
    size = argument.buffer_size or argument.size
    staged = _aligned(size)
    staged[:] = 0
    binding = Binding(argument, staged.ctypes.data, size, staged)
    _fill(entry, binding, argument.fields, 0, values)
    return binding


def _fill(entry: EntryPoint, binding: Binding, fields: Sequence[Any], base: int, values: Mapping[int, Any]) -> None:
    staged = binding.staged
    assert staged is not None
    for member in fields:
        offset = base + member.offset
        inner = member.argument
        if inner is None:
            _fill(entry, binding, member.fields, offset, values)
            continue
        for step in range(max(1, member.count)):
            value = values.get(inner.index + step)
            if value is None:
                continue
            if inner.is_buffer:
                bound = _bind(entry, inner, value)
                binding.inner.append(bound)
                raw = bound.address.to_bytes(8, "little")
            else:
                raw = np.asarray(value).tobytes() if not isinstance(value, bytes) else value
                raw = raw[: member.size]
            staged[offset + step * 8 : offset + step * 8 + len(raw)] = np.frombuffer(raw, np.uint8)


def _refuse_aliased_copies(entry: EntryPoint, bindings: Sequence[Binding]) -> None:
    """Two views of one memory of which one was copied would no longer see each other's writes."""
    arrays = [(item, item.target) for item in bindings if item.target is not None]
    for index, (one, first) in enumerate(arrays):
        for other, second in arrays[index + 1 :]:
            copied = one.staged is not None or other.staged is not None
            if copied and np.may_share_memory(first, second):
                raise DispatchError(
                    f"buffers {one.argument.index} and {other.argument.index} of {entry.name} share memory",
                    subject=entry.name,
                    cause=f"one of them is not contiguous or not aligned to {_ALIGN} bytes",
                )


class Stacks:
    """Stacks for the fibers of one threadgroup, kept for the next dispatch; pages are used only when touched."""

    def __init__(self) -> None:
        self._map: mmap.mmap | None = None
        self._size = 0
        self.address = 0

    def reserve(self, size: int) -> int:
        """The address of at least `size` bytes, aligned to a page."""
        if size > self._size:
            self._map = mmap.mmap(-1, size)
            self._size = size
            self.address = np.frombuffer(self._map, np.uint8).ctypes.data
        return self.address
