// Attention scores of one query head against TBQ3_0 keys: one row a work-group.
// score[row] = <q, decode(key row)>; the kernel rotates q, hosts pass it as it is.

#version 450
#extension GL_GOOGLE_include_directive : require

#define KEY_BINDING 1

#include "group_index.glsl"
#include "key_bytes.glsl"
#include "reduce.glsl"
#include "tbq3.glsl"
#include "tbq_rotation.glsl"
#include "turbo_args.glsl"

void main() {
    uint lane = gl_LocalInvocationID.x;
    uint row = folded_xy();
    if (args.head_dim != HEAD_DIM || row >= args.n_kv) {
        return;
    }
    // Eight lanes a block, four codes (12 bits, never more than two bytes) a lane.
    uint block = args.head_offset_bytes + (row * args.kv_stride_blocks + (lane >> 3)) * TBQ3_BLOCK_BYTES;
    uint bit = 12u * (lane & 7u);
    uint at = block + 2u + (bit >> 3);
    uint codes = (key_u8(at) | (key_u8(at + 1u) << 8)) >> (bit & 7u);
    float d = key_half(block);

    load_tbq3_table(lane);
    vec4 rotated = tbq_rotate(load_query(lane), lane);
    float score = sum_lanes(d * dot(rotated, tbq3_values(codes)), lane, LANES);
    if (lane == 0u) {
        store_score(row, score);
    }
}
