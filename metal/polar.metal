// Q4_POLAR: norm of a 128-element row, 4-bit codes of its direction after a Hadamard transform, one residual sign.
// get_rows, mul_mv for a plain or a transformed query, encoder.

#include <metal_stdlib>
#include "milady_args.h"
#include "milady_common.h"

using namespace metal;

struct milady_block_q4_polar {
    half d;         // Euclidean norm of the row
    uchar qs[64];   // element 2i in the low nibble of byte i, element 2i + 1 in the high one
    uchar qjl[16];  // bit 0 of the first byte: sign of the residual; the rest is zero
};

constant float milady_polar_centroids[16] = {
    -2.754354807f, -2.093562707f, -1.643041510f, -1.279739752f, -0.962640978f, -0.672392117f, -0.397897103f,
    -0.131757782f, 0.131757782f,  0.397897103f,  0.672392117f,  0.962640978f,  1.279739752f,  1.643041510f,
    2.093562707f,  2.754354807f,
};

constant float milady_polar_boundaries[15] = {
    -2.423958757f, -1.868302108f, -1.461390631f, -1.121190365f, -0.817516548f, -0.535144610f, -0.264827443f, 0.0f,
    0.264827443f,  0.535144610f,  0.817516548f,  1.121190365f,  1.461390631f,  1.868302108f,  2.423958757f,
};

// Element 32w + b of the residual's direction is -1 where bit b of word w is set, else +1.
constant uint milady_polar_flips[4] = {0xc5cb34fbu, 0x5c3417abu, 0x2586ef0au, 0x68dad94eu};

static inline float4 milady_polar_along(float4 v, uint lane) {
    return milady_flip(v, milady_polar_flips[lane / 8] >> (4 * (lane % 8)));
}

// Centroid by code; four codes lie in two bytes.
static inline float4 milady_polar_centroids4(uint codes) {
    return float4(milady_polar_centroids[codes & 15],
                  milady_polar_centroids[(codes >> 4) & 15],
                  milady_polar_centroids[(codes >> 8) & 15],
                  milady_polar_centroids[(codes >> 12) & 15]);
}

// The lane's four elements before the inverse transform and without the factor d / 128.
static inline float4 milady_polar_decode(device const milady_block_q4_polar *block, bool residual, uint lane) {
    const uint codes = uint(block->qs[2 * lane]) | uint(block->qs[2 * lane + 1]) << 8;
    float4 z = milady_polar_centroids4(codes);
    if (residual) {
        const float step = 0.04419417382415922f; // 0.5 / sqrt(128)
        z += milady_polar_along(float4((block->qjl[0] & 1) != 0 ? step : -step), lane);
    }
    return z;
}

static inline float milady_polar_scale(device const milady_block_q4_polar *block) {
    return float(block->d) / 128.0f;
}

// Decodes one block per threadgroup of a one-dimensional grid: block i into out[128 i] .. out[128 i + 127].
kernel void kernel_get_rows_q4_polar(
        device const milady_block_q4_polar *blocks [[buffer(0)]],
        device float *out [[buffer(1)]],
        constant milady_polar_dequant_args &args [[buffer(2)]],
        uint3 group [[threadgroup_position_in_grid]],
        uint3 thread_in_group [[thread_position_in_threadgroup]]) {
    const uint lane = thread_in_group.x;
    if (args.head_dim != MILADY_HEAD_DIM) {
        return;
    }
    device const milady_block_q4_polar *block = blocks + group.x;
    const float4 x = milady_hadamard(milady_polar_decode(block, args.use_qjl != 0, lane), lane, MILADY_LANES);
    milady_store4(out + ulong(group.x) * MILADY_HEAD_DIM + 4 * lane, x * milady_polar_scale(block));
}

// One row per threadgroup. <decode(row), q> = d / 128 <z, H q>: the query is transformed, not the row.
kernel void kernel_mul_mv_q4_polar_f32(
        device const milady_block_q4_polar *k [[buffer(0)]],
        device const float *q [[buffer(1)]],
        device float *y [[buffer(2)]],
        constant milady_polar_mv_args &args [[buffer(3)]],
        uint3 group [[threadgroup_position_in_grid]],
        uint3 groups [[threadgroups_per_grid]],
        uint3 thread_in_group [[thread_position_in_threadgroup]]) {
    const uint lane = thread_in_group.x;
    const uint row = milady_group_index(group, groups);
    if (args.head_dim != MILADY_HEAD_DIM || row >= args.n_rows) {
        return;
    }
    device const milady_block_q4_polar *block = k + row;
    const float4 spectrum = milady_hadamard(milady_load4(q + 4 * lane), lane, MILADY_LANES);
    const float sum = simd_sum(dot(milady_polar_decode(block, args.use_qjl != 0, lane), spectrum));
    if (lane == 0) {
        y[row] = milady_polar_scale(block) * sum;
    }
}

// The same for a query that the caller has transformed: q holds H q.
kernel void kernel_mul_mv_q4_polar_preht_f32(
        device const milady_block_q4_polar *k [[buffer(0)]],
        device const float *q [[buffer(1)]],
        device float *y [[buffer(2)]],
        constant milady_polar_mv_args &args [[buffer(3)]],
        uint3 group [[threadgroup_position_in_grid]],
        uint3 groups [[threadgroups_per_grid]],
        uint3 thread_in_group [[thread_position_in_threadgroup]]) {
    const uint lane = thread_in_group.x;
    const uint row = milady_group_index(group, groups);
    if (args.head_dim != MILADY_HEAD_DIM || row >= args.n_rows) {
        return;
    }
    device const milady_block_q4_polar *block = k + row;
    const float4 spectrum = milady_load4(q + 4 * lane);
    const float sum = simd_sum(dot(milady_polar_decode(block, args.use_qjl != 0, lane), spectrum));
    if (lane == 0) {
        y[row] = milady_polar_scale(block) * sum;
    }
}

// A value on a boundary takes the lower code.
static inline uint milady_polar_code(float x) {
    uint code = 0;
    for (uint i = 0; i < 15; ++i) {
        code += x > milady_polar_boundaries[i] ? 1 : 0;
    }
    return code;
}

// Encodes source row i into destination row rows[i].
kernel void kernel_set_rows_q4_polar(
        device const float *src [[buffer(0)]],
        device const uint *rows [[buffer(1)]],
        device milady_block_q4_polar *dst [[buffer(2)]],
        constant milady_set_rows_args &args [[buffer(3)]],
        uint3 group [[threadgroup_position_in_grid]],
        uint3 groups [[threadgroups_per_grid]],
        uint3 thread_in_group [[thread_position_in_threadgroup]]) {
    const uint lane = thread_in_group.x;
    const uint row = milady_group_index(group, groups);
    if (args.head_dim != MILADY_HEAD_DIM || row >= args.n_rows) {
        return;
    }
    const float4 x = milady_load4(src + ulong(row) * MILADY_HEAD_DIM + 4 * lane);
    const float norm = sqrt(simd_sum(dot(x, x)));
    // Scaled after the transform: what cancels in the transform stays exactly zero, and a tie stays a tie.
    const float4 y = milady_hadamard(x, lane, MILADY_LANES) * (norm > 0.0f ? 1.0f / norm : 0.0f);
    const uint codes = milady_polar_code(y.x) | milady_polar_code(y.y) << 4 | milady_polar_code(y.z) << 8 |
                       milady_polar_code(y.w) << 12;
    const float4 residual = milady_polar_along(y - milady_polar_centroids4(codes), lane);
    const float along = simd_sum(residual.x + residual.y + residual.z + residual.w);
    device milady_block_q4_polar *block = dst + rows[row];
    block->qs[2 * lane] = uchar(codes & 255u);
    block->qs[2 * lane + 1] = uchar((codes >> 8) & 255u);
    if (lane < 16) {
        block->qjl[lane] = lane == 0 && along >= 0.0f ? 1 : 0;
    }
    if (lane == 0) {
        block->d = half(norm);
    }
}
