// Q4_POLAR: 128 elements in 82 bytes: binary16 norm; 64 bytes of codes of the Hadamard-transformed direction, even
// elements in the low nibbles; 16 bytes of which bit 0 of the first is the sign of the residual along POLAR_SIGNS.

#ifndef POLAR_GLSL
#define POLAR_GLSL

#include "group_index.glsl"
#include "signs.glsl"

#define POLAR_BLOCK_BYTES 82u
#define POLAR_CODES 2u
#define POLAR_RESIDUAL 66u

// Lloyd-Max codebook for unit variance.
const float POLAR_CENTROIDS[16] = float[16](
    -2.754354807, -2.093562707, -1.643041510, -1.279739752, -0.962640978, -0.672392117, -0.397897103, -0.131757782,
    0.131757782, 0.397897103, 0.672392117, 0.962640978, 1.279739752, 1.643041510, 2.093562707, 2.754354807);

// xorshift32 (13, 17, 5) from seed 42: odd states are plus.
const uint POLAR_SIGNS[4] = uint[4](0xC5CB34FBu, 0x5C3417ABu, 0x2586EF0Au, 0x68DAD94Eu);

const float POLAR_RESIDUAL_SIZE = 0.04419417382415922;  // 0.5/sqrt(128)

shared float polar_table[16];

// A barrier has to follow before the first lookup.
void load_polar_table(uint lane) {
    if (lane < 16u) {
        polar_table[lane] = POLAR_CENTROIDS[lane];
    }
}

// Values of the four nibbles in the low 16 bits.
vec4 polar_values(uint codes) {
    return vec4(
        polar_table[codes & 15u],
        polar_table[(codes >> 4) & 15u],
        polar_table[(codes >> 8) & 15u],
        polar_table[(codes >> 12) & 15u]);
}

// The signs of elements 4 * lane .. 4 * lane + 3 in the low four bits, 1 = minus.
uint polar_signs(uint lane) {
    return POLAR_SIGNS[lane >> 3] >> (4u * (lane & 7u));
}

// The residual part of the lane's four elements; `flag` is the block's residual bit.
vec4 polar_residual(uint flag, uint lane) {
    float size = flag == 0u ? -POLAR_RESIDUAL_SIZE : POLAR_RESIDUAL_SIZE;
    return negate_where(polar_signs(lane), vec4(size));
}

#endif
