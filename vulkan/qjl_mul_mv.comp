// y[row] = estimate of <key row, query> from QJL1_256 keys and the query's 256-element sketch: one row a work-group.

#version 450
#extension GL_GOOGLE_include_directive : require

#define KEY_BINDING 0

#include "group_index.glsl"
#include "key_bytes.glsl"
#include "qjl.glsl"
#include "reduce.glsl"

layout(std430, set = 0, binding = 1) readonly buffer Sketch {
    vec4 q_sketch[];
};

layout(std430, set = 0, binding = 2) writeonly buffer Result {
    float y[];
};

layout(push_constant) uniform Args {
    uint n_rows;
    uint proj_dim;
} args;

void main() {
    uint lane = gl_LocalInvocationID.x;
    uint row = folded_xy();
    if (args.proj_dim != QJL_PROJ_DIM || row >= args.n_rows) {
        return;
    }
    uint block = row * QJL_BLOCK_BYTES;
    uint bits = key_u8(block + lane);
    float part = qjl_signed_sum(bits, q_sketch[2u * lane], q_sketch[2u * lane + 1u]);
    float sum = sum_lanes(part, lane, LANES);
    if (lane == 0u) {
        y[row] = QJL_SCALE * qjl_norm(key_u16(block + QJL_SIGN_BYTES)) * sum;
    }
}
