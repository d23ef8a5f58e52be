// y[row] = <decode(key row), q> for Q4_POLAR keys and a query that is already Hadamard-transformed (unnormalised):
// one row a work-group, no transform.

#version 450
#extension GL_GOOGLE_include_directive : require

#define KEY_BINDING 0

#include "group_index.glsl"
#include "polar_block.glsl"
#include "polar_mv_args.glsl"
#include "reduce.glsl"

void main() {
    uint lane = gl_LocalInvocationID.x;
    uint row = folded_xy();
    if (args.head_dim != HEAD_DIM || row >= args.n_rows) {
        return;
    }
    load_polar_table(lane);
    barrier();
    vec4 elements = polar_elements(args.k_offset_bytes + row * POLAR_BLOCK_BYTES, lane, args.use_qjl != 0u);
    float sum = sum_lanes(dot(load_query(lane), elements), lane, LANES);
    if (lane == 0u) {
        y[args.y_offset + row] = sum;
    }
}
