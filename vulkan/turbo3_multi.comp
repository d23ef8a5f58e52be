// Attention scores of one query head against TBQ3_0 keys: blocks_per_threadgroup rows a work-group, one row a lane.
// Same contract as turbo3; q is loaded and rotated once for all rows.

#version 450
#extension GL_GOOGLE_include_directive : require

#define MULTI_ROW
#define KEY_BINDING 1
#define KEY_ROW_WORDS 14u

#include "code_stream.glsl"
#include "group_index.glsl"
#include "key_rows.glsl"
#include "shared_query.glsl"
#include "tbq3.glsl"
#include "tbq_rotation.glsl"
#include "turbo_args.glsl"

float block_dot(uvec3 stream, uint block) {
    uvec4 low = low_chunks(stream);
    uvec4 high = high_chunks(stream, 0u);
    uint first = 8u * block;
    vec4 sum = shared_query[first] * tbq3_values(low.x);
    sum += shared_query[first + 1u] * tbq3_values(low.y);
    sum += shared_query[first + 2u] * tbq3_values(low.z);
    sum += shared_query[first + 3u] * tbq3_values(low.w);
    sum += shared_query[first + 4u] * tbq3_values(high.x);
    sum += shared_query[first + 5u] * tbq3_values(high.y);
    sum += shared_query[first + 6u] * tbq3_values(high.z);
    sum += shared_query[first + 7u] * tbq3_values(high.w);
    return dot(sum, vec4(1.0));
}

// Two blocks are seven words: the second one starts in the middle of the fourth.
float row_dot(uint lane) {
    float score = 0.0;
    for (uint pair = 0u; pair < 2u; ++pair) {
        uint w = 7u * pair;
        uvec3 even = uvec3(
            key_row_half_word(lane, w), key_row_half_word(lane, w + 1u), key_row_half_word(lane, w + 2u));
        uvec3 odd = uvec3(key_row_word(lane, w + 4u), key_row_word(lane, w + 5u), key_row_word(lane, w + 6u));
        score += unpackHalf2x16(key_row_word(lane, w)).x * block_dot(even, 2u * pair);
        score += unpackHalf2x16(key_row_word(lane, w + 3u)).y * block_dot(odd, 2u * pair + 1u);
    }
    return score;
}

void main() {
    uint lane = gl_LocalInvocationID.x;
    uint first = folded_xy() * args.blocks_per_threadgroup;
    if (args.head_dim != HEAD_DIM || first >= args.n_kv) {
        return;
    }
    uint end = min(first + args.blocks_per_threadgroup, args.n_kv);
    uint stride = args.kv_stride_blocks * TBQ3_BLOCK_BYTES;

    load_tbq3_table(lane);
    shared_query[lane] = tbq_rotate(load_query(lane), lane);
    for (uint tile = first; tile < end; tile += LANES) {
        uint count = min(LANES, end - tile);
        stage_key_rows(args.head_offset_bytes + tile * stride, stride, count, lane);
        if (lane < count) {
            store_score(tile + lane, row_dot(lane));
        }
    }
}
