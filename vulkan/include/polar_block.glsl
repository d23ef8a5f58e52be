// Reading Q4_POLAR blocks from the key buffer.

#ifndef POLAR_BLOCK_GLSL
#define POLAR_BLOCK_GLSL

#include "key_bytes.glsl"
#include "polar.glsl"

// The lane's four elements of the transformed direction, times norm / 128. The table has to be loaded.
vec4 polar_elements(uint block, uint lane, bool residual) {
    vec4 z = polar_values(key_u16(block + POLAR_CODES + 2u * lane));
    if (residual) {
        z += polar_residual(key_u8(block + POLAR_RESIDUAL) & 1u, lane);
    }
    return z * (key_half(block) / float(HEAD_DIM));
}

#endif
