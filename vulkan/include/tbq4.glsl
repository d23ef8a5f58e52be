// TBQ4_0: blocks of 32 elements in 18 bytes: binary16 root mean square, then 16 bytes of codes, elements 0..15 in the
// low nibbles and 16..31 in the high ones. A row of 128 elements is four blocks.

#ifndef TBQ4_GLSL
#define TBQ4_GLSL

#include "group_index.glsl"

#define TBQ4_BLOCK_BYTES 18u

// Lloyd-Max codebook for unit variance.
const float TBQ4_CENTROIDS[16] = float[16](
    -2.7321365, -2.0685055, -1.6175243, -1.2557391, -0.9419147, -0.6564307, -0.3878412, -0.1283243,
    0.1283243, 0.3878412, 0.6564307, 0.9419147, 1.2557391, 1.6175243, 2.0685055, 2.7321365);

// A table in shared memory: a lookup by a different code in every lane is then one conflict-free access.
shared float tbq4_table[16];

// A barrier has to follow before the first lookup.
void load_tbq4_table(uint lane) {
    if (lane < 16u) {
        tbq4_table[lane] = TBQ4_CENTROIDS[lane];
    }
}

// Values of the low nibbles of the four bytes.
vec4 tbq4_values(uint codes) {
    return vec4(
        tbq4_table[codes & 15u],
        tbq4_table[(codes >> 8) & 15u],
        tbq4_table[(codes >> 16) & 15u],
        tbq4_table[(codes >> 24) & 15u]);
}

#endif
