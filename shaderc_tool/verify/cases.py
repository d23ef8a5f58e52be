"""Verification cases by reference name: what `verify:` in a manifest selects.

for case in cases("turbo3"):
    run(case.buffers, case.params) ≈ case.expected
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from shaderc_tool.verify import case_encoders, case_polar, case_qjl, case_turbo
from shaderc_tool.verify.case import Case

__all__ = ["REFERENCES", "Case", "cases"]

_BUILDERS: Final[dict[str, Callable[[], Iterator[Case]]]] = {
    "turbo3": partial(case_turbo.single, "turbo3"),
    "turbo4": partial(case_turbo.single, "turbo4"),
    "turbo3_tcq": partial(case_turbo.single, "turbo3_tcq"),
    "turbo3_multi": partial(case_turbo.multi, "turbo3"),
    "turbo4_multi": partial(case_turbo.multi, "turbo4"),
    "turbo3_tcq_multi": partial(case_turbo.multi, "turbo3_tcq"),
    "qjl": case_qjl.score_cases,
    "qjl_multi": case_qjl.multi_cases,
    "qjl_get_rows": case_qjl.get_rows_cases,
    "qjl_mul_mv": case_qjl.mul_mv_cases,
    "polar": partial(case_polar.mul_mv_cases, transformed=False),
    "polar_preht": partial(case_polar.mul_mv_cases, transformed=True),
    "polar_get_rows": case_polar.get_rows_cases,
    "tcq_rotate": case_encoders.rotate_cases,
    "turbo3_set_rows": partial(case_encoders.set_rows_cases, "turbo3_set_rows"),
    "turbo4_set_rows": partial(case_encoders.set_rows_cases, "turbo4_set_rows"),
    "qjl_set_rows": partial(case_encoders.set_rows_cases, "qjl_set_rows"),
    "polar_set_rows": partial(case_encoders.set_rows_cases, "polar_set_rows"),
}

REFERENCES: Final = tuple(sorted(_BUILDERS))
"""Every name that `cases` knows."""


def cases(reference: str) -> Iterator[Case]:
    """The cases of one reference, built one at a time. Raises KeyError for a name not in `REFERENCES`."""
    return _BUILDERS[reference]()
