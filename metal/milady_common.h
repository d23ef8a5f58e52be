// What all milady kernels share. Every threadgroup is one simdgroup: 32x1x1 threads, so that lane = thread index.
// A row has 128 elements; lane i holds elements 4i .. 4i + 3 as one float4.

#ifndef MILADY_COMMON_H
#define MILADY_COMMON_H

enum : uint { MILADY_HEAD_DIM = 128, MILADY_LANES = 32 };

// Number of this threadgroup when a one-dimensional grid is folded over x and y.
static inline uint milady_group_index(uint3 group, uint3 groups) {
    return group.x + group.y * groups.x;
}

static inline float4 milady_load4(device const float *p) {
    return float4(p[0], p[1], p[2], p[3]);
}

static inline void milady_store4(device float *p, float4 v) {
    p[0] = v.x;
    p[1] = v.y;
    p[2] = v.z;
    p[3] = v.w;
}

// Negates component i where bit i of `bits` is set.
static inline float4 milady_flip(float4 v, uint bits) {
    return float4(bits & 1u ? -v.x : v.x, bits & 2u ? -v.y : v.y, bits & 4u ? -v.z : v.z, bits & 8u ? -v.w : v.w);
}

// Unnormalised Walsh-Hadamard transform (Sylvester order) of each run of 4 * lanes elements; `lanes` is a power of two.
static inline float4 milady_hadamard(float4 v, uint lane, uint lanes) {
    v = float4(v.x + v.y, v.x - v.y, v.z + v.w, v.z - v.w);
    v = float4(v.x + v.z, v.y + v.w, v.x - v.z, v.y - v.w);
    for (uint stride = 1; stride < lanes; stride *= 2) {
        const float4 other = metal::simd_shuffle_xor(v, ushort(stride));
        v = (lane & stride) == 0 ? v + other : other - v;
    }
    return v;
}

#endif // MILADY_COMMON_H
