// Encodes f32 rows as QJL1_256: source row i becomes destination row rows[i]. One row a work-group.
// Sign j is set where sum over i of key_i * projection[i][j] > 0.

#version 450
#extension GL_GOOGLE_include_directive : require

#define ROW_BYTES 34u

#include "group_index.glsl"
#include "qjl.glsl"
#include "reduce.glsl"
#include "round_half.glsl"
#include "row_writer.glsl"

layout(std430, set = 0, binding = 3) readonly buffer Projection {
    float projection[];
};

layout(push_constant) uniform Args {
    uint n_rows;
    uint head_dim;
    uint proj_dim;
} args;

shared vec4 key[LANES];

// Projection j of the key. Lanes take neighbouring j and so read neighbouring words.
float projected(uint j) {
    float sum = 0.0;
    for (uint i = 0u; i < LANES; ++i) {
        uint at = 4u * i * QJL_PROJ_DIM + j;
        vec4 column = vec4(
            projection[at],
            projection[at + QJL_PROJ_DIM],
            projection[at + 2u * QJL_PROJ_DIM],
            projection[at + 3u * QJL_PROJ_DIM]);
        sum += dot(key[i], column);
    }
    return sum;
}

void main() {
    uint lane = gl_LocalInvocationID.x;
    uint i = folded_xy();
    if (args.head_dim != HEAD_DIM || args.proj_dim != QJL_PROJ_DIM || i >= args.n_rows) {
        return;
    }
    vec4 mine = source[i * LANES + lane];
    key[lane] = mine;
    clear_row(lane);
    float norm = sqrt(sum_lanes(dot(mine, mine), lane, LANES));

    uint row = rows[i];
    uint first = first_bit(row);
    for (uint j = lane; j < QJL_PROJ_DIM; j += LANES) {
        put_bits(first + j, projected(j) > 0.0 ? 1u : 0u, 1u);
    }
    if (lane == 0u) {
        put_bits(first + 8u * QJL_SIGN_BYTES, to_bfloat16(norm), 16u);
    }
    write_row(row, lane);
}
