// TBQ4_0: 4-bit codes of Hadamard-rotated 32-element blocks. Scores against a query, and the encoder.
// The query is passed as it is; the kernels rotate it.

#include <metal_stdlib>
#include "milady_args.h"
#include "milady_common.h"
#include "milady_tbq.h"

using namespace metal;

struct milady_block_tbq4_0 {
    half d;        // root mean square of the rotated elements
    uchar qs[16];  // element j < 16 in the low nibble of byte j, element j >= 16 in the high nibble of byte j - 16
};

constant float milady_tbq4_centroids[16] = {
    -2.7321365f, -2.0685055f, -1.6175243f, -1.2557391f, -0.9419147f, -0.6564307f, -0.3878412f, -0.1283243f,
    0.1283243f,  0.3878412f,  0.6564307f,  0.9419147f,  1.2557391f,  1.6175243f,  2.0685055f,  2.7321365f,
};

constant float milady_tbq4_midpoints[15] = {
    -2.400321f,   -1.8430149f,  -1.4366317f, -1.0988269f, -0.7991727f, -0.52213595f, -0.25808275f, 0.0f,
    0.25808275f,  0.52213595f,  0.7991727f,  1.0988269f,  1.4366317f,  1.8430149f,   2.400321f,
};

static inline device const milady_block_tbq4_0 *milady_tbq4_row(
        device const uchar *k, uint head_offset_bytes, uint stride_blocks, uint row) {
    return (device const milady_block_tbq4_0 *)(k + head_offset_bytes) + ulong(row) * stride_blocks;
}

// The lane's four elements in the rotated basis: one nibble of each of four bytes.
static inline float4 milady_tbq4_decode(device const milady_block_tbq4_0 *row, uint lane) {
    device const milady_block_tbq4_0 *block = row + lane / MILADY_TBQ_BLOCK_LANES;
    device const uchar *bytes = block->qs + 4 * (lane % 4);
    const uint shift = lane & 4u; // lanes 4..7 of a block hold elements 16..31
    return float(block->d) * float4(milady_tbq4_centroids[(uint(bytes[0]) >> shift) & 15],
                                    milady_tbq4_centroids[(uint(bytes[1]) >> shift) & 15],
                                    milady_tbq4_centroids[(uint(bytes[2]) >> shift) & 15],
                                    milady_tbq4_centroids[(uint(bytes[3]) >> shift) & 15]);
}

// Nearest centroid; a tie goes to the lower one.
static inline uint milady_tbq4_code(float x) {
    uint code = 0;
    for (uint i = 0; i < 15; ++i) {
        code += x > milady_tbq4_midpoints[i] ? 1 : 0;
    }
    return code;
}

kernel void kernel_turbo4_dot(
        device const float *q [[buffer(0)]],
        device const uchar *k [[buffer(1)]],
        device float *scores [[buffer(2)]],
        constant milady_turbo_dot_args &args [[buffer(3)]],
        uint3 group [[threadgroup_position_in_grid]],
        uint3 groups [[threadgroups_per_grid]],
        uint3 thread_in_group [[thread_position_in_threadgroup]]) {
    const uint lane = thread_in_group.x;
    const uint row = milady_group_index(group, groups);
    if (args.head_dim != MILADY_HEAD_DIM || row >= args.n_kv) {
        return;
    }
    const float4 rotated = milady_tbq_rotate(milady_load4(q + args.q_head * MILADY_HEAD_DIM + 4 * lane), lane);
    device const milady_block_tbq4_0 *blocks =
        milady_tbq4_row(k, args.head_offset_bytes, args.kv_stride_blocks, row);
    const float score = simd_sum(dot(rotated, milady_tbq4_decode(blocks, lane)));
    if (lane == 0) {
        scores[args.q_head * args.n_kv + row] = score;
    }
}

// The same for blocks_per_threadgroup consecutive rows: the query is rotated once for all of them.
kernel void kernel_turbo4_dot_multi(
        device const float *q [[buffer(0)]],
        device const uchar *k [[buffer(1)]],
        device float *scores [[buffer(2)]],
        constant milady_turbo_dot_multi_args &args [[buffer(3)]],
        uint3 group [[threadgroup_position_in_grid]],
        uint3 groups [[threadgroups_per_grid]],
        uint3 thread_in_group [[thread_position_in_threadgroup]]) {
    const uint lane = thread_in_group.x;
    const uint first = milady_group_index(group, groups) * args.blocks_per_threadgroup;
    if (args.head_dim != MILADY_HEAD_DIM || first >= args.n_kv) {
        return;
    }
    const uint end = min(first + args.blocks_per_threadgroup, args.n_kv);
    const float4 rotated = milady_tbq_rotate(milady_load4(q + args.q_head * MILADY_HEAD_DIM + 4 * lane), lane);
    for (uint row = first; row < end; ++row) {
        device const milady_block_tbq4_0 *blocks =
            milady_tbq4_row(k, args.head_offset_bytes, args.kv_stride_blocks, row);
        const float score = simd_sum(dot(rotated, milady_tbq4_decode(blocks, lane)));
        if (lane == 0) {
            scores[args.q_head * args.n_kv + row] = score;
        }
    }
}

// Encodes source row i into destination row rows[i].
kernel void kernel_turbo4_set_rows(
        device const float *src [[buffer(0)]],
        device const uint *rows [[buffer(1)]],
        device uchar *dst [[buffer(2)]],
        constant milady_set_rows_args &args [[buffer(3)]],
        uint3 group [[threadgroup_position_in_grid]],
        uint3 groups [[threadgroups_per_grid]],
        uint3 thread_in_group [[thread_position_in_threadgroup]]) {
    const uint lane = thread_in_group.x;
    const uint row = milady_group_index(group, groups);
    if (args.head_dim != MILADY_HEAD_DIM || row >= args.n_rows) {
        return;
    }
    const float4 y = milady_tbq_rotate(milady_load4(src + ulong(row) * MILADY_HEAD_DIM + 4 * lane), lane);
    const float d = milady_tbq_rms(y);
    uint codes = 0; // one a byte
    if (d > 0.0f) { // d before it is rounded to half: a block too small for half still gets codes
        const float4 x = y * (1.0f / d);
        codes = milady_tbq4_code(x.x) | milady_tbq4_code(x.y) << 8 | milady_tbq4_code(x.z) << 16 |
                milady_tbq4_code(x.w) << 24;
    }
    // Lanes 4..7 of a block fill the high nibbles of lanes 0..3.
    const uint bits = codes | simd_shuffle_xor(codes, ushort(4)) << 4;
    device milady_block_tbq4_0 *block =
        (device milady_block_tbq4_0 *)dst + ulong(rows[row]) * MILADY_TBQ_BLOCKS + lane / MILADY_TBQ_BLOCK_LANES;
    const uint lane_in_block = lane % MILADY_TBQ_BLOCK_LANES;
    if (lane_in_block == 0) {
        block->d = half(d);
    }
    if (lane_in_block < 4) {
        device uchar *bytes = block->qs + 4 * lane_in_block;
        bytes[0] = uchar(bits & 255u);
        bytes[1] = uchar((bits >> 8) & 255u);
        bytes[2] = uchar((bits >> 16) & 255u);
        bytes[3] = uchar((bits >> 24) & 255u);
    }
}
