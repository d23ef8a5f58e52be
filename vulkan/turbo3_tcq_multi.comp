// Attention scores of one query head against TBQ3_TCQ keys: blocks_per_threadgroup rows a work-group, one row a lane.
// Same contract as turbo3_tcq; q and the codebook are loaded once for all rows.

#version 450
#extension GL_GOOGLE_include_directive : require

#define MULTI_ROW
#define KEY_BINDING 1
#define KEY_ROW_WORDS 13u

#include "code_stream.glsl"
#include "group_index.glsl"
#include "key_rows.glsl"
#include "shared_query.glsl"
#include "tcq.glsl"
#include "turbo_args.glsl"

shared float states[TCQ_STATES];

// Values of the four 9-bit windows, 3 bits apart, in the low 18 bits.
vec4 tcq_values(uint chunk) {
    return vec4(
        states[chunk & 0x1FFu],
        states[(chunk >> 3) & 0x1FFu],
        states[(chunk >> 6) & 0x1FFu],
        states[(chunk >> 9) & 0x1FFu]);
}

// 32 steps: the windows of the last ones reach 6 bits into `next`.
float steps_dot(uvec3 stream, uint next, uint first) {
    uvec4 low = low_chunks(stream);
    uvec4 high = high_chunks(stream, next);
    vec4 sum = shared_query[first] * tcq_values(low.x);
    sum += shared_query[first + 1u] * tcq_values(low.y);
    sum += shared_query[first + 2u] * tcq_values(low.z);
    sum += shared_query[first + 3u] * tcq_values(low.w);
    sum += shared_query[first + 4u] * tcq_values(high.x);
    sum += shared_query[first + 5u] * tcq_values(high.y);
    sum += shared_query[first + 6u] * tcq_values(high.z);
    sum += shared_query[first + 7u] * tcq_values(high.w);
    return dot(sum, vec4(1.0));
}

float row_dot(uint lane) {
    float sum = 0.0;
    for (uint part = 0u; part < 4u; ++part) {
        uint w = 3u * part;
        uvec3 stream = uvec3(
            key_row_half_word(lane, w), key_row_half_word(lane, w + 1u), key_row_half_word(lane, w + 2u));
        sum += steps_dot(stream, key_row_word(lane, w + 3u) >> 16, 8u * part);
    }
    return unpackHalf2x16(key_row_word(lane, 0u)).x * sum;
}

void main() {
    uint lane = gl_LocalInvocationID.x;
    uint first = folded_xy() * args.blocks_per_threadgroup;
    if (args.head_dim != HEAD_DIM || first >= args.n_kv) {
        return;
    }
    uint end = min(first + args.blocks_per_threadgroup, args.n_kv);
    uint stride = args.kv_stride_blocks * TCQ_BLOCK_BYTES;

    for (uint state = lane; state < TCQ_STATES; state += LANES) {
        states[state] = codebook[state];
    }
    shared_query[lane] = load_query(lane);
    for (uint tile = first; tile < end; tile += LANES) {
        uint count = min(LANES, end - tile);
        stage_key_rows(args.head_offset_bytes + tile * stride, stride, count, lane);
        if (lane < count) {
            store_score(tile + lane, row_dot(lane));
        }
    }
}
