// Decodes Q4_POLAR blocks: one block a work-group.

#version 450
#extension GL_GOOGLE_include_directive : require

#define KEY_BINDING 0

#include "group_index.glsl"
#include "hadamard.glsl"
#include "polar_block.glsl"

layout(std430, set = 0, binding = 1) writeonly buffer Rows {
    vec4 decoded[];
};

layout(push_constant) uniform Args {
    uint head_dim;
    uint use_qjl;
} args;

void main() {
    uint lane = gl_LocalInvocationID.x;
    uint row = folded_xy();
    if (args.head_dim != HEAD_DIM || row >= decoded.length() / LANES) {
        return;
    }
    load_polar_table(lane);
    barrier();
    vec4 elements = polar_elements(row * POLAR_BLOCK_BYTES, lane, args.use_qjl != 0u);
    decoded[row * LANES + lane] = hadamard(elements, lane, LANES);
}
