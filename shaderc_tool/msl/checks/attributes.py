"""Attribute names: which there are, and which of them a parameter may have."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from shaderc_tool.diagnostics import Diagnostic
from shaderc_tool.msl.air.entry import BUILTINS
from shaderc_tool.msl.checks.place import At
from shaderc_tool.msl.rewrite import Rewritten
from shaderc_tool.msl.rewrite.entries import STAGES

INDEX_LIMITS = {"buffer": 31, "threadgroup": 31, "texture": 128, "sampler": 16}
"""How many entries each argument table has."""
PARAMETER = frozenset({*INDEX_LIMITS, *BUILTINS, "function_constant", "stage_in", "raster_order_group"})
"""Attributes that say what fills a parameter."""
_GRAPHICS = frozenset(
    [
        "position",
        "vertex_id",
        "instance_id",
        "base_vertex",
        "base_instance",
        "point_size",
        "point_coord",
        "front_facing",
        "primitive_id",
        "sample_id",
        "sample_mask",
        "color",
        "depth",
        "stencil",
        "clip_distance",
        "cull_distance",
        "flat",
        "center_perspective",
        "center_no_perspective",
        "centroid_perspective",
        "centroid_no_perspective",
        "sample_perspective",
        "sample_no_perspective",
        "user",
        "attribute",
        "render_target_array_index",
        "viewport_array_index",
        "patch",
        "patch_id",
        "position_in_patch",
        "early_fragment_tests",
        "invariant",
        "shared",
        "barycentric_coord",
        "payload",
        "object_data",
        "amplification_id",
        "amplification_count",
        "payload_size",
        "threadgroups",
        "imageblock_data",
        "tile_index",
        "thread_position_in_tile",
    ]
)
_OTHER = frozenset(
    [
        "host_name",
        "max_total_threads_per_threadgroup",
        "max_total_threadgroups_per_mesh_grid",
        "id",
        "unroll",
        "likely",
        "unlikely",
        "noinline",
        "always_inline",
        "maybe_unused",
        "nodiscard",
        "fallthrough",
        "deprecated",
        "gnu::always_inline",
        "gnu::noinline",
        "clang::optnone",
        "visible",
        "stitchable",
        "function_groups",
        "intersection",
        "mesh",
        "object",
        "kernel",
        "vertex",
        "fragment",
        "function_constant",
        "required_threads_per_threadgroup",
        "max_total_threads_per_mesh_threadgroup",
        "air::kernel",
    ]
)
_KNOWN = PARAMETER | _GRAPHICS | _OTHER | frozenset(STAGES)


def unknown_attributes(unit: Rewritten, at: At) -> Iterator[Diagnostic]:
    for attributes in unit.attributes:
        for attribute in attributes.attributes:
            base = attribute.name
            if base in _KNOWN or base.startswith(("clang::", "gnu::")):
                continue
            close = difflib.get_close_matches(base, sorted(_KNOWN), n=1, cutoff=0.75)
            hint = f" (did you mean '{close[0]}'?)" if close else ""
            yield Diagnostic(
                "SP8003",
                f"unknown attribute '{base}'{hint}",
                at(attribute.token),
                cause="Metal has no attribute of this name",
                fix=f"write [[{close[0]}]]" if close else "remove it",
            )
