"""All kernels from real wheels that run on the CPU in tests and in the bench."""

from __future__ import annotations

from tests.verify.metal_case import MetalCase, Prepared, relative_error
from tests.verify.metal_cases_llama import GPT4ALL
from tests.verify.metal_cases_mlx import MLX
from tests.verify.metal_cases_mlx_metal import MLX_METAL
from tests.verify.metal_cases_msplat import MSPLAT

__all__ = ["CASES", "GPT4ALL", "MLX", "MLX_METAL", "MSPLAT", "MetalCase", "Prepared", "relative_error"]

CASES = [*GPT4ALL, *MSPLAT, *MLX, *MLX_METAL]
