// TBQ3_TCQ: trellis-coded 128-element rows. Scores against a query that the caller has rotated; the rotation itself.

#include <metal_stdlib>
#include "milady_args.h"
#include "milady_common.h"

using namespace metal;

struct milady_block_tbq3_tcq {
    half d;        // norm of the row, corrected for the quantized one's length
    uchar qs[49];  // 6 bits of the initial state, then 128 symbols of 3 bits, one little-endian stream
    uchar pad;
};

// Element 32w + b is negated before (1) or after (2) the transform where bit b of word w is set.
constant uint milady_tcq_flips1[4] = {0xe46a0359u, 0x42f85949u, 0xa4c63bbbu, 0x49f250a9u};
constant uint milady_tcq_flips2[4] = {0x16acee90u, 0x3f628fdcu, 0xb7a5357au, 0xbea56562u};

static inline device const milady_block_tbq3_tcq *milady_tcq_row(
        device const uchar *k, uint head_offset_bytes, uint stride_blocks, uint row) {
    return (device const milady_block_tbq3_tcq *)(k + head_offset_bytes) + ulong(row) * stride_blocks;
}

// The lane's four elements in the rotated basis. State t is the 9-bit window at stream bit 3t: four of them span three
// bytes, and those of the last lane end with byte 48.
static inline float4 milady_tcq_decode(
        device const milady_block_tbq3_tcq *block, constant float *codebook, uint lane) {
    const uint bit = 12 * lane;
    device const uchar *bytes = block->qs + bit / 8;
    const uint states = (uint(bytes[0]) | uint(bytes[1]) << 8 | uint(bytes[2]) << 16) >> (bit % 8);
    return float(block->d) * float4(codebook[states & 511],
                                    codebook[(states >> 3) & 511],
                                    codebook[(states >> 6) & 511],
                                    codebook[(states >> 9) & 511]);
}

kernel void kernel_turbo3_tcq_dot(
        device const float *q [[buffer(0)]],
        device const uchar *k [[buffer(1)]],
        device float *scores [[buffer(2)]],
        constant float *codebook [[buffer(3)]],
        constant milady_turbo_dot_args &args [[buffer(4)]],
        uint3 group [[threadgroup_position_in_grid]],
        uint3 groups [[threadgroups_per_grid]],
        uint3 thread_in_group [[thread_position_in_threadgroup]]) {
    const uint lane = thread_in_group.x;
    const uint row = milady_group_index(group, groups);
    if (args.head_dim != MILADY_HEAD_DIM || row >= args.n_kv) {
        return;
    }
    const float4 query = milady_load4(q + args.q_head * MILADY_HEAD_DIM + 4 * lane);
    device const milady_block_tbq3_tcq *block =
        milady_tcq_row(k, args.head_offset_bytes, args.kv_stride_blocks, row);
    const float score = simd_sum(dot(query, milady_tcq_decode(block, codebook, lane)));
    if (lane == 0) {
        scores[args.q_head * args.n_kv + row] = score;
    }
}

// The same for blocks_per_threadgroup consecutive rows.
kernel void kernel_turbo3_tcq_dot_multi(
        device const float *q [[buffer(0)]],
        device const uchar *k [[buffer(1)]],
        device float *scores [[buffer(2)]],
        constant float *codebook [[buffer(3)]],
        constant milady_turbo_dot_multi_args &args [[buffer(4)]],
        uint3 group [[threadgroup_position_in_grid]],
        uint3 groups [[threadgroups_per_grid]],
        uint3 thread_in_group [[thread_position_in_threadgroup]]) {
    const uint lane = thread_in_group.x;
    const uint first = milady_group_index(group, groups) * args.blocks_per_threadgroup;
    if (args.head_dim != MILADY_HEAD_DIM || first >= args.n_kv) {
        return;
    }
    const uint end = min(first + args.blocks_per_threadgroup, args.n_kv);
    const float4 query = milady_load4(q + args.q_head * MILADY_HEAD_DIM + 4 * lane);
    for (uint row = first; row < end; ++row) {
        device const milady_block_tbq3_tcq *block =
            milady_tcq_row(k, args.head_offset_bytes, args.kv_stride_blocks, row);
        const float score = simd_sum(dot(query, milady_tcq_decode(block, codebook, lane)));
        if (lane == 0) {
            scores[args.q_head * args.n_kv + row] = score;
        }
    }
}

// R(x) = S2 H128 S1 x / sqrt(128) of each row: what a query needs before the kernels above.
kernel void kernel_turbo3_tcq_rotate(
        device const float *q [[buffer(0)]],
        device float *out [[buffer(1)]],
        constant milady_rotate_args &args [[buffer(2)]],
        uint3 group [[threadgroup_position_in_grid]],
        uint3 groups [[threadgroups_per_grid]],
        uint3 thread_in_group [[thread_position_in_threadgroup]]) {
    const uint lane = thread_in_group.x;
    const uint row = milady_group_index(group, groups);
    if (args.head_dim != MILADY_HEAD_DIM || row >= args.n_rows) {
        return;
    }
    const ulong at = ulong(row) * MILADY_HEAD_DIM + 4 * lane;
    const uint shift = 4 * (lane % 8);
    const float4 x = milady_flip(milady_load4(q + at), milady_tcq_flips1[lane / 8] >> shift);
    const float4 y = milady_hadamard(x, lane, MILADY_LANES) * 0.08838834764831845f; // 1/sqrt(128)
    milady_store4(out + at, milady_flip(y, milady_tcq_flips2[lane / 8] >> shift));
}
