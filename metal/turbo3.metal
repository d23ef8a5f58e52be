// TBQ3_0: 3-bit codes of Hadamard-rotated 32-element blocks. Scores against a query, and the encoder.
// The query is passed as it is; the kernels rotate it.

#include <metal_stdlib>
#include "milady_args.h"
#include "milady_common.h"
#include "milady_tbq.h"

using namespace metal;

struct milady_block_tbq3_0 {
    half d;        // root mean square of the rotated elements
    uchar qs[12];  // 32 codes of 3 bits, one little-endian stream
};

constant float milady_tbq3_centroids[8] = {
    -2.1519457f, -1.3439093f, -0.7560053f, -0.2450942f, 0.2450942f, 0.7560053f, 1.3439093f, 2.1519457f,
};

constant float milady_tbq3_midpoints[7] = {
    -1.7479275f, -1.0499573f, -0.50054975f, 0.0f, 0.50054975f, 1.0499573f, 1.7479275f,
};

static inline device const milady_block_tbq3_0 *milady_tbq3_row(
        device const uchar *k, uint head_offset_bytes, uint stride_blocks, uint row) {
    return (device const milady_block_tbq3_0 *)(k + head_offset_bytes) + ulong(row) * stride_blocks;
}

// The lane's four elements in the rotated basis. Their 12 bits lie in two bytes.
static inline float4 milady_tbq3_decode(device const milady_block_tbq3_0 *row, uint lane) {
    device const milady_block_tbq3_0 *block = row + lane / MILADY_TBQ_BLOCK_LANES;
    const uint bit = 12 * (lane % MILADY_TBQ_BLOCK_LANES);
    const uint bytes = uint(block->qs[bit / 8]) | uint(block->qs[bit / 8 + 1]) << 8;
    const uint codes = bytes >> (bit % 8);
    return float(block->d) * float4(milady_tbq3_centroids[codes & 7],
                                    milady_tbq3_centroids[(codes >> 3) & 7],
                                    milady_tbq3_centroids[(codes >> 6) & 7],
                                    milady_tbq3_centroids[(codes >> 9) & 7]);
}

// Nearest centroid; a tie goes to the lower one.
static inline uint milady_tbq3_code(float x) {
    uint code = 0;
    for (uint i = 0; i < 7; ++i) {
        code += x > milady_tbq3_midpoints[i] ? 1 : 0;
    }
    return code;
}

kernel void kernel_turbo3_dot(
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
    device const milady_block_tbq3_0 *blocks =
        milady_tbq3_row(k, args.head_offset_bytes, args.kv_stride_blocks, row);
    const float score = simd_sum(dot(rotated, milady_tbq3_decode(blocks, lane)));
    if (lane == 0) {
        scores[args.q_head * args.n_kv + row] = score;
    }
}

// The same for blocks_per_threadgroup consecutive rows: the query is rotated once for all of them.
kernel void kernel_turbo3_dot_multi(
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
        device const milady_block_tbq3_0 *blocks =
            milady_tbq3_row(k, args.head_offset_bytes, args.kv_stride_blocks, row);
        const float score = simd_sum(dot(rotated, milady_tbq3_decode(blocks, lane)));
        if (lane == 0) {
            scores[args.q_head * args.n_kv + row] = score;
        }
    }
}

// Encodes source row i into destination row rows[i].
kernel void kernel_turbo3_set_rows(
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
    uint codes = 0;
    if (d > 0.0f) { // d before it is rounded to half: a block too small for half still gets codes
        const float4 x = y * (1.0f / d);
        codes = milady_tbq3_code(x.x) | milady_tbq3_code(x.y) << 3 | milady_tbq3_code(x.z) << 6 |
                milady_tbq3_code(x.w) << 9;
    }
    // Two lanes fill three bytes.
    const uint bits = codes | simd_shuffle_xor(codes, ushort(1)) << 12;
    device milady_block_tbq3_0 *block =
        (device milady_block_tbq3_0 *)dst + ulong(rows[row]) * MILADY_TBQ_BLOCKS + lane / MILADY_TBQ_BLOCK_LANES;
    const uint lane_in_block = lane % MILADY_TBQ_BLOCK_LANES;
    if (lane_in_block == 0) {
        block->d = half(d);
    }
    if (lane % 2 == 0) {
        device uchar *bytes = block->qs + 3 * (lane_in_block / 2);
        bytes[0] = uchar(bits & 255u);
        bytes[1] = uchar((bits >> 8) & 255u);
        bytes[2] = uchar((bits >> 16) & 255u);
    }
}
