"""Buffers that tell on a kernel: guard bytes after the contents, poison where an output has to be written.

Guard words are NaNs, so that a value read beyond a buffer spoils the result. Part of the guard is visible to the
kernel, because some implementations drop writes beyond the bound range; the rest lies behind it for those that do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shaderc_tool.verify.backend import Binding

VISIBLE_GUARD: Final = 256
"""Less than one row of any kernel here, so that a row count taken from a buffer's length stays right."""

_GUARD_BYTES: Final = 4096
_GUARD_WORD: Final = 0x7FC5C500
POISON_WORD: Final = np.uint32(0x7FE1D00D)


def input_bytes(array: NDArray[Any]) -> bytes:
    """The bytes of an input; float64 arrays become float32, the kernels' type."""
    element = np.float32 if array.dtype == np.float64 else array.dtype
    raw: bytes = np.ascontiguousarray(array, dtype=element).tobytes()
    return raw


def output_bytes(expected: NDArray[Any], initial: NDArray[Any] | None) -> bytes:
    """Contents of an output before the run: `initial`, else poison in every element.

    A float element gets a NaN of a kind that no arithmetic makes, a byte the complement of what is expected.
    """
    if initial is not None:
        return input_bytes(initial)
    if expected.dtype == np.uint8:
        return input_bytes(np.invert(expected))
    return np.full(expected.size, POISON_WORD).tobytes()


@dataclass(frozen=True)
class Guarded:
    """A buffer of `size` bytes of contents with guard bytes after them, for binding `index`."""

    index: int
    contents: bytes

    @property
    def size(self) -> int:
        return len(self.contents)

    @property
    def _guard(self) -> bytes:
        # Each buffer has its own pattern: what a kernel copies from one guard to another shows.
        # It follows the address, so that a last partial word continues as a guard word does.
        total = (self.size + 3) // 4 * 4 + _GUARD_BYTES
        word = np.uint32(_GUARD_WORD + self.index)
        return np.full(total // 4, word).tobytes()[self.size :]

    def binding(self) -> Binding:
        """What a backend is to bind: whole words of contents, then the visible part of the guard."""
        visible = (self.size + 3) // 4 * 4 + VISIBLE_GUARD
        return Binding(self.index, self.contents + self._guard, read_back=True, visible=visible)

    def first_damage(self, after: bytes) -> int | None:
        """Offset from the end of the contents of the first guard byte that changed, None when all are intact."""
        if after[self.size :] == self._guard:
            return None
        guard = np.frombuffer(self._guard, np.uint8)
        return int(np.flatnonzero(np.frombuffer(after, np.uint8)[self.size :] != guard)[0])
