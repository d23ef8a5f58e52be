// TBQ3_0: blocks of 32 elements in 14 bytes: binary16 root mean square, then 32 codes of 3 bits as one little-endian
// stream. A row of 128 elements is four blocks.

#ifndef TBQ3_GLSL
#define TBQ3_GLSL

#include "group_index.glsl"

#define TBQ3_BLOCK_BYTES 14u

// Lloyd-Max codebook for unit variance.
const float TBQ3_CENTROIDS[8] = float[8](
    -2.1519457, -1.3439093, -0.7560053, -0.2450942,
    0.2450942, 0.7560053, 1.3439093, 2.1519457);

// A table in shared memory: a lookup by a different code in every lane is then one conflict-free access.
shared float tbq3_table[8];

// A barrier has to follow before the first lookup.
void load_tbq3_table(uint lane) {
    if (lane < 8u) {
        tbq3_table[lane] = TBQ3_CENTROIDS[lane];
    }
}

// Values of the four codes in the low 12 bits.
vec4 tbq3_values(uint codes) {
    return vec4(
        tbq3_table[codes & 7u],
        tbq3_table[(codes >> 3) & 7u],
        tbq3_table[(codes >> 6) & 7u],
        tbq3_table[(codes >> 9) & 7u]);
}

#endif
