// Walsh-Hadamard transforms of a 128-element row of which lane t holds elements 4t..4t+3.

#ifndef HADAMARD_GLSL
#define HADAMARD_GLSL

#include "group_index.glsl"

shared vec4 hadamard_exchange[2u * LANES];

// Unnormalised transform, Sylvester order, over each aligned run of `lanes` lanes: 8 lanes are four independent
// 32-point transforms, 32 lanes one 128-point transform. Every lane of the work-group has to call it.
vec4 hadamard(vec4 v, uint lane, uint lanes) {
    v = vec4(v.x + v.y, v.x - v.y, v.z + v.w, v.z - v.w);
    v = vec4(v.xy + v.zw, v.xy - v.zw);
    // Two exchange areas in turn, so that one barrier a stage is enough.
    uint area = 0u;
    for (uint span = 1u; span < lanes; span <<= 1) {
        hadamard_exchange[area + lane] = v;
        barrier();
        vec4 other = hadamard_exchange[area + (lane ^ span)];
        v = (lane & span) == 0u ? v + other : other - v;
        area ^= LANES;
    }
    barrier();
    return v;
}

#endif
