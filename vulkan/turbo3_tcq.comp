// Attention scores of one query head against TBQ3_TCQ keys: one row a work-group.
// Decoded keys stay in the rotated basis, so hosts pass a rotated q (tcq_rotate).

#version 450
#extension GL_GOOGLE_include_directive : require

#define KEY_BINDING 1

#include "group_index.glsl"
#include "key_bytes.glsl"
#include "reduce.glsl"
#include "tcq.glsl"
#include "turbo_args.glsl"

void main() {
    uint lane = gl_LocalInvocationID.x;
    uint row = folded_xy();
    if (args.head_dim != HEAD_DIM || row >= args.n_kv) {
        return;
    }
    uint block = args.head_offset_bytes + row * args.kv_stride_blocks * TCQ_BLOCK_BYTES;
    // Four 9-bit windows, 3 bits apart: 18 bits that start at bit 0 or 4 of a byte. The last lane's four bytes end
    // with the padding byte of the block.
    uint bit = 12u * lane;
    uint stream = key_u32(block + 2u + (bit >> 3)) >> (bit & 7u);
    vec4 values = vec4(
        codebook[stream & 0x1FFu],
        codebook[(stream >> 3) & 0x1FFu],
        codebook[(stream >> 6) & 0x1FFu],
        codebook[(stream >> 9) & 0x1FFu]);
    float score = sum_lanes(dot(load_query(lane), values), lane, LANES);
    if (lane == 0u) {
        store_score(row, score * key_half(block));
    }
}
