// QJL1_256: the signs of 256 projections of a 128-element key and its norm, in 34 bytes: sign j is bit j & 7 of byte
// j >> 3 (1 = positive), the last two bytes are the norm as bfloat16.

#ifndef QJL_GLSL
#define QJL_GLSL

#include "signs.glsl"

#define QJL_BLOCK_BYTES 34u
#define QJL_SIGN_BYTES 32u
#define QJL_PROJ_DIM 256u

const float QJL_SCALE = 1.2533141373155003 / 256.0;  // sqrt(pi/2) / projections

float qjl_norm(uint bf16) {
    return uintBitsToFloat(bf16 << 16);
}

// Sum of eight values with the signs of the low eight bits: a clear bit is a minus.
float qjl_signed_sum(uint bits, vec4 low, vec4 high) {
    return dot(negate_where(~bits, low) + negate_where(~bits >> 4, high), vec4(1.0));
}

#endif
