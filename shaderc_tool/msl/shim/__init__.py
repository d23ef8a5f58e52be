"""The `metal_stdlib` of the portable compiler, written from the public Metal Shading Language specification."""

from __future__ import annotations

from pathlib import Path

from shaderc_tool.msl.shim import generate

FOLDER = Path(__file__).parent
INCLUDE = FOLDER / "include"
"""What `#include <metal_stdlib>` and friends find when a user's source is preprocessed: macros only."""


def shim_text(fast_math: bool) -> str:
    """The declarations that clang reads before the rewritten source."""
    parts = [
        "#pragma clang attribute push(__attribute__((nodebug)), apply_to = hasType(functionType))",
        _static("base.h"),
        *generate.vector_types(),
        _static("vector.h"),
        *generate.math_functions(fast_math),
        *generate.integer_functions(),
        _static("library.h"),
        *generate.bool_vectors(),
        *generate.packed_vectors(),
        _static("column.h"),
        *generate.bfloat_vectors(),
        _static("matrix.h"),
        *generate.matrix_names(),
        _static("numeric.h"),
        *generate.group_functions(),
        *generate.atomics(),
        *generate.simdgroup_matrices(),
        _static("group.h"),
        *generate.textures(),
        "#pragma clang attribute pop",
    ]
    return "\n".join(parts) + "\n"


def _static(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
