// y[row] = estimate of <key row, query> from QJL1_256 keys and the query's 256-element sketch: one row a work-group.

#version 450
#extension GL_GOOGLE_include_directive : require

#define KEY_BINDING 0

#include "group_index.glsl"
#include "key_bytes.glsl"
#include "qjl.glsl"
#include "reduce.glsl"

layout(std430, set = 0, binding = 1) readonly buffer Sketch {
    float q_sketch[];
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
    uint i = 8u * lane;
    vec4 low = vec4(q_sketch[i], q_sketch[i + 1u], q_sketch[i + 2u], q_sketch[i + 3u]);
    vec4 high = vec4(q_sketch[i + 4u], q_sketch[i + 5u], q_sketch[i + 6u], q_sketch[i + 7u]);
    vec4 terms = qjl_signed(bits, low) + qjl_signed(bits >> 4, high);
    float sum = sum_lanes(dot(terms, vec4(1.0)), lane, LANES);
    if (lane == 0u) {
        y[row] = QJL_SCALE * qjl_norm(key_u16(block + QJL_SIGN_BYTES)) * sum;
    }
}
