// Attention scores of one query head against TBQ4_0 keys: blocks_per_threadgroup rows a work-group, one row a lane.
// Same contract as turbo4; q is loaded and rotated once for all rows.

#version 450
#extension GL_GOOGLE_include_directive : require

#define MULTI_ROW
#define KEY_BINDING 1
#define KEY_ROW_WORDS 18u

#include "group_index.glsl"
#include "key_rows.glsl"
#include "shared_query.glsl"
#include "tbq4.glsl"
#include "tbq_rotation.glsl"
#include "turbo_args.glsl"

float block_dot(uvec4 codes, uint block) {
    uint first = 8u * block;
    vec4 sum = shared_query[first] * tbq4_values(codes.x);
    sum += shared_query[first + 1u] * tbq4_values(codes.y);
    sum += shared_query[first + 2u] * tbq4_values(codes.z);
    sum += shared_query[first + 3u] * tbq4_values(codes.w);
    codes >>= 4;
    sum += shared_query[first + 4u] * tbq4_values(codes.x);
    sum += shared_query[first + 5u] * tbq4_values(codes.y);
    sum += shared_query[first + 6u] * tbq4_values(codes.z);
    sum += shared_query[first + 7u] * tbq4_values(codes.w);
    return dot(sum, vec4(1.0));
}

// Two blocks are nine words: the second one starts in the middle of the fifth.
float row_dot(uint lane) {
    float score = 0.0;
    for (uint pair = 0u; pair < 2u; ++pair) {
        uint w = 9u * pair;
        uvec4 even = uvec4(
            key_row_half_word(lane, w), key_row_half_word(lane, w + 1u),
            key_row_half_word(lane, w + 2u), key_row_half_word(lane, w + 3u));
        uvec4 odd = uvec4(
            key_row_word(lane, w + 5u), key_row_word(lane, w + 6u),
            key_row_word(lane, w + 7u), key_row_word(lane, w + 8u));
        score += unpackHalf2x16(key_row_word(lane, w)).x * block_dot(even, 2u * pair);
        score += unpackHalf2x16(key_row_word(lane, w + 4u)).y * block_dot(odd, 2u * pair + 1u);
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
    uint stride = args.kv_stride_blocks * TBQ4_BLOCK_BYTES;

    load_tbq4_table(lane);
    shared_query[lane] = tbq_rotate(load_query(lane), lane);
    for (uint tile = first; tile < end; tile += LANES) {
        uint count = min(LANES, end - tile);
        stage_key_rows(args.head_offset_bytes + tile * stride, stride, count, lane);
        if (lane < count) {
            store_score(tile + lane, row_dot(lane));
        }
    }
}
