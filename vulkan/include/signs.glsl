// Sign vectors as bit masks: a set bit is a minus.

#ifndef SIGNS_GLSL
#define SIGNS_GLSL

// Negates element i where bit i of `minus` is set. A flipped sign bit is exact and cannot be contracted into a
// multiply-add.
vec4 negate_where(uint minus, vec4 v) {
    uvec4 sign = (uvec4(minus) >> uvec4(0u, 1u, 2u, 3u)) << 31;
    return uintBitsToFloat(floatBitsToUint(v) ^ sign);
}

#endif
