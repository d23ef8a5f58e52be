// What the TBQ3_0 and TBQ4_0 encoders share: rotation and scale of each 32-element block.

#ifndef TBQ_ENCODE_GLSL
#define TBQ_ENCODE_GLSL

#include "reduce.glsl"
#include "tbq_rotation.glsl"

// Root mean square of the lane's block of a rotated row.
float tbq_block_rms(vec4 rotated, uint lane) {
    return sqrt(sum_lanes(dot(rotated, rotated), lane, 8u) / 32.0);
}

// The elements in units of the root mean square before it is rounded to binary16: that is what the codes are made of.
vec4 tbq_normalised(vec4 rotated, float rms) {
    return rotated * (1.0 / rms);
}

#endif
