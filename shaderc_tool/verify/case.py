"""The unit of verification: inputs, dispatch parameters and expected outputs of one kernel run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shaderc_tool.verify.references.common import F64

UNTOUCHED: Final = -12345.0
"""What an output element holds before the run when the kernel must leave it alone."""

_ROUNDINGS: Final = 16
"""Rounding steps that a float32 kernel may spend on one output: transform stages, products and a tree of sums."""


@dataclass(frozen=True, eq=False)
class Case:
    """One run of a kernel.

    `buffers` maps the role name of each input to its contents, exactly as long as the kernel may read: a backend that
    binds whole words rounds sizes up itself. `params` holds argument-struct and push-constant members by name, plus
    names that only the grid needs. A backend whose argument struct lacks a member skips the case only when that
    member's value is not zero.

    `expected` maps outputs to float64 values, or uint8 bytes that must be equal. An output x is right when
    |x - expected| <= atol + rtol * |expected|. `initial` gives contents of outputs before the run where the kernel
    must leave elements alone; other outputs start poisoned, so that an element never written is found. `large` marks
    cases that need more than 65535 workgroups.
    """

    name: str
    buffers: Mapping[str, NDArray[Any]]
    params: Mapping[str, int]
    expected: Mapping[str, NDArray[Any]]
    atol: float = 0.0
    rtol: float = 0.0
    initial: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    large: bool = False


def dot_tolerance(terms: F64) -> float:
    """Absolute error that float32 may make in sums over the last axis of `terms`, whatever the order.

    The classical bound: roundings, times the unit roundoff 2^-24, times the largest sum of magnitudes.
    """
    return float(np.abs(terms).sum(axis=-1).max()) * _ROUNDINGS * 2.0**-24
