"""The tables that the shim is generated from: element types, AIR spellings, function families.

AIR names follow `air.<operation>[.s|.u].<type>`. Every intrinsic named here was seen in libraries that Apple's compiler
made, or belongs to a family seen there; see `air/intrinsics.py`.
"""

from __future__ import annotations

from typing import NamedTuple


class Element(NamedTuple):
    """A scalar type: Metal's name, the shim's name for clang, AIR's type code, and "s", "u" or "f"."""

    msl: str
    clang: str
    air: str
    sign: str


INTEGERS = (
    Element("char", "char", "i8", "s"),
    Element("uchar", "uchar", "i8", "u"),
    Element("short", "short", "i16", "s"),
    Element("ushort", "ushort", "i16", "u"),
    Element("int", "int", "i32", "s"),
    Element("uint", "uint", "i32", "u"),
    Element("long", "long", "i64", "s"),
    Element("ulong", "ulong", "i64", "u"),
)
FLOAT = Element("float", "float", "f32", "f")
HALF = Element("half", "half", "f16", "f")
FLOATS = (FLOAT, HALF)
BFLOAT = Element("bfloat", "ushort", "bf16", "f")
"""clang 15 has no arithmetic on bfloat: the shim keeps its bits in a class, and `air/bfloat.py` gives AIR the type."""
ELEMENTS = INTEGERS + FLOATS

UNARY = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "exp",
    "exp10",
    "exp2",
    "fabs",
    "floor",
    "fract",
    "log",
    "log10",
    "log2",
    "rint",
    "round",
    "rsqrt",
    "saturate",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]
BINARY = ["atan2", "fmax", "fmin", "fmod", "pow"]
TERNARY_EXACT = ("fma",)
"""Functions whose name is the same with and without fast math."""

SIMD_REDUCTIONS = [
    "simd_sum",
    "simd_product",
    "simd_max",
    "simd_min",
    "simd_prefix_inclusive_sum",
    "simd_prefix_exclusive_sum",
    "simd_prefix_inclusive_product",
    "simd_prefix_exclusive_product",
]
SIMD_BITS = ["simd_and", "simd_or", "simd_xor"]
SIMD_SHUFFLES = [
    "simd_broadcast",
    "simd_shuffle",
    "simd_shuffle_up",
    "simd_shuffle_down",
    "simd_shuffle_xor",
    "simd_shuffle_rotate_up",
    "simd_shuffle_rotate_down",
]
SIMD_FILLS = ["simd_shuffle_and_fill_up", "simd_shuffle_and_fill_down"]
QUAD_REDUCTIONS = ["quad_sum", "quad_product", "quad_max", "quad_min"]
QUAD_BITS = ["quad_and", "quad_or", "quad_xor"]
QUAD_SHUFFLES = ["quad_broadcast", "quad_shuffle", "quad_shuffle_up", "quad_shuffle_down", "quad_shuffle_xor"]

TEXTURES = [
    "texture1d",
    "texture1d_array",
    "texture2d",
    "texture2d_array",
    "texture3d",
    "texturecube",
    "texturecube_array",
    "texture2d_ms",
    "texture2d_ms_array",
    "texture_buffer",
    "depth2d",
    "depth2d_array",
    "depthcube",
    "depthcube_array",
    "depth2d_ms",
    "depth2d_ms_array",
]

NOT_MODELLED_TYPES = (
    *TEXTURES,
    "sampler",
    "acceleration_structure",
    "instance_acceleration_structure",
    "primitive_acceleration_structure",
    "intersector",
    "intersection_query",
    "intersection_function_table",
    "visible_function_table",
    "imageblock",
    "indirect_command_buffer",
    "render_command",
    "compute_command",
    "command_buffer",
    "tensor",
    "mesh",
    "mesh_grid_properties",
    "simdgroup_event",
    "patch_control_point",
    "rasterization_rate_map_decoder",
    "interpolant",
    "cooperative_tensor",
)
"""Types of the specification that parse, at most, and make a compile «not modelled»."""

NOT_MODELLED_FUNCTIONS = (
    "simd_ballot",
    "simd_active_threads_mask",
    "simd_is_first",
    "simd_vote",
    "quad_ballot",
    "quad_vote",
    "quad_active_threads_mask",
    "quad_is_first",
    "is_function_constant_defined",
    "dfdx",
    "dfdy",
    "fwidth",
    "discard_fragment",
    "simdgroup_async_copy",
    "atomic_thread_fence",
    "get_num_samples",
    "get_sample_position",
    "tgamma",
    "lgamma",
    "remquo",
    "remainder",
)
"""Functions of the specification that the shim does not have."""

VECTOR_NAMES = {f"{e.msl}{n}": (e.msl, n) for e in ELEMENTS for n in (2, 3, 4)}
"""Metal's names of the native vector types, to (element, size)."""

PACKED_NAMES = {f"packed_{e.msl}{n}": (e.msl, n) for e in ELEMENTS for n in (2, 3, 4)}
BOOL_VECTORS = ("bool2", "bool3", "bool4")
MATRIX_NAMES = tuple(f"{t}{c}x{r}" for t in ("float", "half") for c in (2, 3, 4) for r in (2, 3, 4))
