"""Small shaders that between them declare everything the reader reads."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.tools import require_tool

SOURCES = {
    "buffers": """\
#version 450
layout(local_size_x = 8, local_size_y = 4, local_size_z = 2) in;
struct Inner { vec3 direction; float weight; mat3 turn; uint many[3]; };
layout(std430, set = 1, binding = 4) readonly buffer In { Inner inner[]; } src;
layout(std430, set = 0, binding = 2) buffer Out { vec2 head; ivec4 tail[7]; } dst;
layout(std140, set = 0, binding = 1) uniform Params { float a[2]; vec3 b; } params;
layout(push_constant) uniform Push { uint n; float scale; ivec2 at; layout(offset = 48) vec3 last; } push;
void main() { dst.head = vec2(push.scale, src.inner[push.n].weight) * params.b.xy + push.last.xy;
              dst.tail[push.at.x] = ivec4(src.inner[0].many[1]); }
""",
    "spec": """\
#version 450
layout(local_size_x_id = 7) in;
layout(constant_id = 3) const uint COUNT = 5;
layout(constant_id = 4) const float SCALE = -1.5;
layout(constant_id = 5) const bool FLAG = true;
layout(constant_id = 6) const int OFFSET = -2;
layout(std430, binding = 0) buffer B { float b[]; };
void main() { if (FLAG) b[COUNT] = SCALE + OFFSET + gl_WorkGroupSize.x; }
""",
    "half": """\
#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer B { float16_t b[]; };
void main() { b[0] = float16_t(subgroupAdd(float(gl_LocalInvocationID.x))); b[1] = float16_t(1.5); }
""",
    "matrices": """\
#version 450
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 1) in;
layout(buffer_reference) buffer Link;
layout(buffer_reference, std430) buffer Link { Link next; uint value; };
struct Leaf { mat2x3 turn; float weight; };
struct Branch { Leaf leaves[2]; mat3 last; };
layout(std430, binding = 0) buffer B { Branch branch; layout(row_major) mat2x3 rows; mat4x2 grid[2][3]; } b;
layout(push_constant) uniform Push { Link link; layout(offset = 16) mat3 turn; } push;
void main() { b.branch.leaves[0].weight = push.turn[0][0] + push.link.value + b.rows[0][0] + b.grid[0][0][0][0]
                                          + b.branch.last[0][0]; }
""",
    "widths": """\
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 1) in;
layout(constant_id = 0) const int8_t A = int8_t(-5);
layout(constant_id = 1) const uint16_t B = uint16_t(65535);
layout(constant_id = 2) const int64_t C = -5000000000l;
layout(constant_id = 3) const uint64_t D = 18446744073709551615ul;
layout(constant_id = 4) const double E = 0.1lf;
layout(constant_id = 5) const float16_t F = 1.5hf;
layout(binding = 0) buffer Out { double value; };
void main() { value = double(A) + double(B) + double(C) + double(D) + E + double(F); }
""",
    "image": """\
#version 450
layout(local_size_x = 1) in;
layout(binding = 0, rgba8) uniform writeonly image2D target;
layout(binding = 1) uniform sampler2D source[3];
void main() { imageStore(target, ivec2(0), texture(source[1], vec2(0.5))); }
""",
}


def compile_all(folder: Path, *options: str) -> dict[str, bytes]:
    """Each source as a module from glslc."""
    glslc = require_tool("glslc")
    modules = {}
    for name, text in SOURCES.items():
        source, output = folder / f"{name}.comp", folder / f"{name}.spv"
        source.write_text(text)
        argv = [glslc, "--target-env=vulkan1.2", *options, str(source), "-o", str(output)]
        subprocess.run(argv, check=True)
        modules[name] = output.read_bytes()
    return modules


def have_glslc() -> bool:
    """Whether the modules can be made here."""
    return shutil.which("glslc") is not None
