// What TBQ3_0 and TBQ4_0 share: blocks of 32 elements, each rotated by itself; eight lanes hold one block.

#ifndef MILADY_TBQ_H
#define MILADY_TBQ_H

enum : uint { MILADY_TBQ_BLOCKS = 4, MILADY_TBQ_BLOCK_LANES = 8 };

// Element i of a block is negated before the transform where bit i is set.
constant uint milady_tbq_flips = 0x5a69b4d2u;

// P(x) = H32 (T x) / sqrt(32). Queries need it too: <q, decode(k)> = <P(q), codes of k>.
static inline float4 milady_tbq_rotate(float4 x, uint lane) {
    const uint flips = milady_tbq_flips >> (4 * (lane % MILADY_TBQ_BLOCK_LANES));
    return milady_hadamard(milady_flip(x, flips), lane, MILADY_TBQ_BLOCK_LANES) * 0.17677669529663687f;
}

// Root mean square of the block, the same in its eight lanes.
static inline float milady_tbq_rms(float4 y) {
    float sum = metal::dot(y, y);
    for (uint stride = 1; stride < MILADY_TBQ_BLOCK_LANES; stride *= 2) {
        sum += metal::simd_shuffle_xor(sum, ushort(stride));
    }
    return metal::sqrt(sum / 32.0f);
}

#endif // MILADY_TBQ_H
