"""The random stream of the published verification fixtures (kernel facts, section 5).

One 64-bit linear congruential stream feeds Marsaglia's polar method in float32; the QJL projection has a splitmix64
stream of its own. Each turbo-style fixture draws 128 query values, then 8 keys of 128; the fixtures follow one another
in one run: turbo3, turbo4, turbo3_tcq, qjl, polar, polar_qjl.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

HEAD_DIM = 128
KEYS = 8
_MASK = (1 << 64) - 1


def _lcg(state: int = 0x9E3779B97F4A7C15) -> Iterator[int]:
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) & _MASK
        yield state


def _splitmix64(state: int) -> Iterator[int]:
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        yield z ^ (z >> 31)


def _normals(words: Iterator[int]) -> Iterator[np.float32]:
    """Marsaglia's polar method, every operation in float32; the second value of a pair is the spare."""
    one, two = np.float32(1), np.float32(2)

    def uniform() -> np.float32:
        value: np.float32 = np.float32(((next(words) >> 11) & 0xFFFFFF) / 2**24) * two - one
        return value

    while True:
        u, v = uniform(), uniform()
        s = u * u + v * v
        if s == 0 or s >= 1:
            continue
        factor = np.sqrt(np.float32(-2) * np.log(s) / s)
        yield u * factor
        yield v * factor


def _draw(normals: Iterator[np.float32], *shape: int) -> NDArray[np.float32]:
    count = int(np.prod(shape))
    return np.array([next(normals) for _ in range(count)], dtype=np.float32).reshape(shape)


def fixtures() -> dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Query [128] and keys [8, 128] of each fixture, by name."""
    stream = _normals(_lcg())
    names = ("turbo3", "turbo4", "turbo3_tcq", "qjl", "polar", "polar_qjl")
    return {name: (_draw(stream, HEAD_DIM), _draw(stream, KEYS, HEAD_DIM)) for name in names}


def projection() -> NDArray[np.float32]:
    """The QJL projection [128, 256] of the fixtures."""
    return _draw(_normals(_splitmix64(0xCAFEBABE12345678)), HEAD_DIM, 256)
