// Attention scores of one query head against TBQ4_0 keys: one row a work-group.
// score[row] = <q, decode(key row)>; the kernel rotates q, hosts pass it as it is.

#version 450
#extension GL_GOOGLE_include_directive : require

#define KEY_BINDING 1

#include "group_index.glsl"
#include "key_bytes.glsl"
#include "reduce.glsl"
#include "tbq4.glsl"
#include "tbq_rotation.glsl"
#include "turbo_args.glsl"

void main() {
    uint lane = gl_LocalInvocationID.x;
    uint row = folded_xy();
    if (args.head_dim != HEAD_DIM || row >= args.n_kv) {
        return;
    }
    // Eight lanes a block, four codes a lane: lanes 0..3 the low nibbles, lanes 4..7 the high ones of the same bytes.
    uint block = args.head_offset_bytes + (row * args.kv_stride_blocks + (lane >> 3)) * TBQ4_BLOCK_BYTES;
    uint codes = key_u32(block + 2u + 4u * (lane & 3u)) >> (lane & 4u);
    float d = key_half(block);

    load_tbq4_table(lane);
    vec4 rotated = tbq_rotate(load_query(lane), lane);
    float score = sum_lanes(d * dot(rotated, tbq4_values(codes)), lane, LANES);
    if (lane == 0u) {
        store_score(row, score);
    }
}
