// Encodes f32 rows as TBQ3_0: source row i becomes destination row rows[i]. One row a work-group.

#version 450
#extension GL_GOOGLE_include_directive : require

#define ROW_BYTES 56u

#include "group_index.glsl"
#include "round_half.glsl"
#include "row_writer.glsl"
#include "set_rows_args.glsl"
#include "tbq3.glsl"
#include "tbq_encode.glsl"

// Halfway between the centroids. A value on a midpoint takes the lower code.
const float MIDPOINTS[7] = float[7](-1.7479275, -1.0499573, -0.50054975, 0.0, 0.50054975, 1.0499573, 1.7479275);

uint nearest_code(float x) {
    uint code = 0u;
    for (uint i = 0u; i < 7u; ++i) {
        code += x > MIDPOINTS[i] ? 1u : 0u;
    }
    return code;
}

void main() {
    uint lane = gl_LocalInvocationID.x;
    uint i = folded_xy();
    if (args.head_dim != HEAD_DIM || i >= args.n_rows) {
        return;
    }
    clear_row(lane);
    vec4 rotated = tbq_rotate(source[i * LANES + lane], lane);
    float rms = tbq_block_rms(rotated, lane);

    uint row = rows[i];
    uint block_bit = first_bit(row) + (lane >> 3) * TBQ3_BLOCK_BYTES * 8u;
    if (rms > 0.0) {  // a block of zeros is all zero bits
        vec4 x = tbq_normalised(rotated, rms);
        uint codes = nearest_code(x.x) | (nearest_code(x.y) << 3) | (nearest_code(x.z) << 6) | (nearest_code(x.w) << 9);
        put_bits(block_bit + 16u + 12u * (lane & 7u), codes, 12u);
    }
    if ((lane & 7u) == 0u) {
        put_bits(block_bit, to_half(rms), 16u);
    }
    write_row(row, lane);
}
