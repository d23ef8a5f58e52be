// Sums over lanes through shared memory. Subgroups may be narrower than a work-group (8 lanes on some devices), so no
// subgroup operation is used.

#ifndef REDUCE_GLSL
#define REDUCE_GLSL

#include "group_index.glsl"

shared float lane_partials[LANES];

// Sum of `value` over each aligned run of `width` lanes (a power of two), returned in all of them. Every lane of the
// work-group has to call it.
float sum_lanes(float value, uint lane, uint width) {
    lane_partials[lane] = value;
    for (uint span = 1u; span < width; span <<= 1) {
        barrier();
        if ((lane & (2u * span - 1u)) == 0u) {
            lane_partials[lane] += lane_partials[lane + span];
        }
    }
    barrier();
    float total = lane_partials[lane & ~(width - 1u)];
    barrier();
    return total;
}

#endif
