"""Searching large inputs without a copy."""

from __future__ import annotations

import mmap


def searchable(view: memoryview) -> bytes | mmap.mmap:
    """Something with `find` over the same bytes: what is behind a view of a whole file, a copy for a part of one."""
    whole = view.obj
    if isinstance(whole, bytes | mmap.mmap) and len(whole) == len(view):
        return whole
    return bytes(view)
