// Encodes f32 rows as TBQ4_0: source row i becomes destination row rows[i]. One row a work-group.

#version 450
#extension GL_GOOGLE_include_directive : require

#define ROW_BYTES 72u

#include "group_index.glsl"
#include "round_half.glsl"
#include "row_writer.glsl"
#include "set_rows_args.glsl"
#include "tbq4.glsl"
#include "tbq_encode.glsl"

// Halfway between the centroids. A value on a midpoint takes the lower code.
const float MIDPOINTS[15] = float[15](
    -2.400321, -1.84301495, -1.4366316, -1.0988269, -0.7991727, -0.52213595, -0.25808275, 0.0,
    0.25808275, 0.52213595, 0.7991727, 1.0988269, 1.4366316, 1.84301495, 2.400321);

uint nearest_code(float x) {
    uint code = 0u;
    for (uint i = 0u; i < 15u; ++i) {
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
    uint block_bit = first_bit(row) + (lane >> 3) * TBQ4_BLOCK_BYTES * 8u;
    if (rms > 0.0) {  // a block of zeros is all zero bits
        vec4 x = tbq_normalised(rotated, rms);
        // Four bytes hold the lane's codes: in the low nibbles for lanes 0..3 of a block, in the high ones for 4..7.
        uint codes = nearest_code(x.x) | (nearest_code(x.y) << 8) | (nearest_code(x.z) << 16)
            | (nearest_code(x.w) << 24);
        put_bits(block_bit + 16u + 32u * (lane & 3u), codes << (lane & 4u), 32u);
    }
    if ((lane & 7u) == 0u) {
        put_bits(block_bit, to_half(rms), 16u);
    }
    write_row(row, lane);
}
