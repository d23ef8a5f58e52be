// QJL1_256: signs of 256 random projections of a 128-element key, and its norm. Scores, mul_mv, get_rows, encoder.
// A query takes part as its sketch, query @ projection, which the caller computes.

#include <metal_stdlib>
#include "milady_args.h"
#include "milady_common.h"

using namespace metal;

enum : uint { MILADY_QJL_PROJ_DIM = 256 };

struct milady_block_qjl1_256 {
    uchar signs[32];  // sign j in bit j & 7 of byte j >> 3, 1 = positive
    ushort norm;      // bfloat16
};

// sqrt(pi/2) / 256 times the norm: what a sum of signed projections is multiplied by.
static inline float milady_qjl_scale(device const milady_block_qjl1_256 *block) {
    return 1.2533141373155003f / 256.0f * as_type<float>(uint(block->norm) << 16);
}

// Lane i owns sign byte i, projections 8i .. 8i + 7, of which `lo` and `hi` hold the other factors.
static inline float milady_qjl_signed_sum(uint signs, float4 lo, float4 hi) {
    const float4 sum = milady_flip(lo, ~signs) + milady_flip(hi, ~signs >> 4);
    return sum.x + sum.y + sum.z + sum.w;
}

kernel void kernel_attn_score_qjl1_256(
        device const float *q_sketch [[buffer(0)]],
        device const milady_block_qjl1_256 *packed_k [[buffer(1)]],
        device float *scores [[buffer(2)]],
        constant milady_qjl_score_args &args [[buffer(3)]],
        uint3 group [[threadgroup_position_in_grid]],
        uint3 groups [[threadgroups_per_grid]],
        uint3 thread_in_group [[thread_position_in_threadgroup]]) {
    const uint lane = thread_in_group.x;
    const uint head = group.x;
    const uint token = group.y + group.z * groups.y; // tokens fold over y and z
    if (args.proj_dim != MILADY_QJL_PROJ_DIM || head >= args.n_heads || token >= args.n_tokens) {
        return;
    }
    const uint kv_head = head / (args.n_heads / args.n_kv_heads);
    device const milady_block_qjl1_256 *block = packed_k + ulong(kv_head) * args.n_tokens + token;
    device const float *sketch = q_sketch + head * MILADY_QJL_PROJ_DIM + 8 * lane;
    const float sum =
        simd_sum(milady_qjl_signed_sum(block->signs[lane], milady_load4(sketch), milady_load4(sketch + 4)));
    if (lane == 0) {
        scores[ulong(head) * args.n_tokens + token] = milady_qjl_scale(block) * sum;
    }
}

// The same for tokens_per_threadgroup consecutive tokens: the sketch stays in registers.
kernel void kernel_attn_score_qjl1_256_multi(
        device const float *q_sketch [[buffer(0)]],
        device const milady_block_qjl1_256 *packed_k [[buffer(1)]],
        device float *scores [[buffer(2)]],
        constant milady_qjl_score_multi_args &args [[buffer(3)]],
        uint3 group [[threadgroup_position_in_grid]],
        uint3 groups [[threadgroups_per_grid]],
        uint3 thread_in_group [[thread_position_in_threadgroup]]) {
    const uint lane = thread_in_group.x;
    const uint head = group.x;
    const uint first = (group.y + group.z * groups.y) * args.tokens_per_threadgroup;
    if (args.proj_dim != MILADY_QJL_PROJ_DIM || head >= args.n_heads || first >= args.n_tokens) {
        return;
    }
    const uint end = min(first + args.tokens_per_threadgroup, args.n_tokens);
    const uint kv_head = head / (args.n_heads / args.n_kv_heads);
    device const float *sketch = q_sketch + head * MILADY_QJL_PROJ_DIM + 8 * lane;
    const float4 lo = milady_load4(sketch);
    const float4 hi = milady_load4(sketch + 4);
    for (uint token = first; token < end; ++token) {
        device const milady_block_qjl1_256 *block = packed_k + ulong(kv_head) * args.n_tokens + token;
        const float sum = simd_sum(milady_qjl_signed_sum(block->signs[lane], lo, hi));
        if (lane == 0) {
            scores[ulong(head) * args.n_tokens + token] = milady_qjl_scale(block) * sum;
        }
    }
}

// Decodes one block per threadgroup of a one-dimensional grid: block i into out[128 i] .. out[128 i + 127].
kernel void kernel_get_rows_qjl1_256(
        device const milady_block_qjl1_256 *blocks [[buffer(0)]],
        device const float *projection [[buffer(1)]],
        device float *out [[buffer(2)]],
        constant milady_qjl_dequant_args &args [[buffer(3)]],
        uint3 group [[threadgroup_position_in_grid]],
        uint3 thread_in_group [[thread_position_in_threadgroup]]) {
    const uint lane = thread_in_group.x;
    if (args.head_dim != MILADY_HEAD_DIM || args.proj_dim != MILADY_QJL_PROJ_DIM) {
        return;
    }
    device const milady_block_qjl1_256 *block = blocks + group.x;
    const uint signs = block->signs[lane];
    const float scale = milady_qjl_scale(block);
    for (uint i = 0; i < MILADY_HEAD_DIM; ++i) {
        device const float *p = projection + i * MILADY_QJL_PROJ_DIM + 8 * lane;
        const float sum = simd_sum(milady_qjl_signed_sum(signs, milady_load4(p), milady_load4(p + 4)));
        if (lane == 0) {
            out[ulong(group.x) * MILADY_HEAD_DIM + i] = scale * sum;
        }
    }
}

// One row per threadgroup. q is the sketch of the query, 256 floats, not the query.
kernel void kernel_mul_mv_qjl1_256_f32(
        device const milady_block_qjl1_256 *k [[buffer(0)]],
        device const float *q [[buffer(1)]],
        device float *y [[buffer(2)]],
        constant milady_qjl_mv_args &args [[buffer(3)]],
        uint3 group [[threadgroup_position_in_grid]],
        uint3 groups [[threadgroups_per_grid]],
        uint3 thread_in_group [[thread_position_in_threadgroup]]) {
    const uint lane = thread_in_group.x;
    const uint row = milady_group_index(group, groups);
    if (args.proj_dim != MILADY_QJL_PROJ_DIM || row >= args.n_rows) {
        return;
    }
    device const milady_block_qjl1_256 *block = k + row;
    const float4 lo = milady_load4(q + 8 * lane);
    const float4 hi = milady_load4(q + 8 * lane + 4);
    const float sum = simd_sum(milady_qjl_signed_sum(block->signs[lane], lo, hi));
    if (lane == 0) {
        y[row] = milady_qjl_scale(block) * sum;
    }
}

static inline uint milady_qjl_positive(float4 v) {
    return (v.x > 0.0f ? 1u : 0u) | (v.y > 0.0f ? 2u : 0u) | (v.z > 0.0f ? 4u : 0u) | (v.w > 0.0f ? 8u : 0u);
}

// Round to nearest even; the norm is finite and not negative.
static inline ushort milady_qjl_bfloat16(float norm) {
    const uint bits = as_type<uint>(norm);
    return ushort((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// Encodes source row i into destination row rows[i]. A projection of exactly zero gives bit 0.
kernel void kernel_set_rows_qjl1_256(
        device const float *src [[buffer(0)]],
        device const uint *rows [[buffer(1)]],
        device milady_block_qjl1_256 *dst [[buffer(2)]],
        device const float *projection [[buffer(3)]],
        constant milady_qjl_set_rows_args &args [[buffer(4)]],
        uint3 group [[threadgroup_position_in_grid]],
        uint3 groups [[threadgroups_per_grid]],
        uint3 thread_in_group [[thread_position_in_threadgroup]]) {
    const uint lane = thread_in_group.x;
    const uint row = milady_group_index(group, groups);
    if (args.head_dim != MILADY_HEAD_DIM || args.proj_dim != MILADY_QJL_PROJ_DIM || row >= args.n_rows) {
        return;
    }
    device const float *key = src + ulong(row) * MILADY_HEAD_DIM;
    float4 lo = float4(0.0f);
    float4 hi = float4(0.0f);
    for (uint i = 0; i < MILADY_HEAD_DIM; ++i) {
        device const float *p = projection + i * MILADY_QJL_PROJ_DIM + 8 * lane;
        lo += key[i] * milady_load4(p);
        hi += key[i] * milady_load4(p + 4);
    }
    const float4 own = milady_load4(key + 4 * lane);
    const float norm = sqrt(simd_sum(dot(own, own)));
    device milady_block_qjl1_256 *block = dst + rows[row];
    block->signs[lane] = uchar(milady_qjl_positive(lo) | milady_qjl_positive(hi) << 4);
    if (lane == 0) {
        block->norm = milady_qjl_bfloat16(norm);
    }
}
