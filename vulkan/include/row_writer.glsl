// Encoders: one source row of 128 floats a work-group, assembled in shared memory as ROW_BYTES bytes, then written to
// row rows[i] of the destination. Destination rows have to be distinct.
//
// A row whose size is not a multiple of 4 shares its first or last word with a neighbour that another work-group may
// be writing: such a word is changed by atomics that touch the row's own bits only.

#ifndef ROW_WRITER_GLSL
#define ROW_WRITER_GLSL

#include "group_index.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Source {
    vec4 source[];
};

layout(std430, set = 0, binding = 1) readonly buffer RowIndex {
    uint rows[];
};

layout(std430, set = 0, binding = 2) buffer Destination {
    uint words[];
} destination;

// One word more than the row's own, for rows that start in the middle of a word.
#define ROW_WORDS ((ROW_BYTES + 3u) / 4u + 1u)
shared uint row_bits[ROW_WORDS];

void clear_row(uint lane) {
    for (uint i = lane; i < ROW_WORDS; i += LANES) {
        row_bits[i] = 0u;
    }
    barrier();
}

// Sets `count` bits from bit `bit` of the assembled words on. Higher bits of `value` are zero.
void put_bits(uint bit, uint value, uint count) {
    uint word = bit >> 5;
    uint shift = bit & 31u;
    atomicOr(row_bits[word], value << shift);
    if (shift + count > 32u) {
        atomicOr(row_bits[word + 1u], value >> (32u - shift));
    }
}

// The first bit of destination row `row` within its first word.
uint first_bit(uint row) {
    return (row * ROW_BYTES & 3u) * 8u;
}

// Bits of assembled word `word` that belong to a row which starts at bit `first` of word 0.
uint own_bits(uint word, uint first) {
    uint below = word == 0u ? first : 0u;
    uint end = first + 8u * ROW_BYTES - min(32u * word, first + 8u * ROW_BYTES);
    uint mask = end >= 32u ? 0xFFFFFFFFu : (1u << end) - 1u;
    return mask & (0xFFFFFFFFu << below);
}

// Every lane of the work-group has to call it, after the last put_bits.
void write_row(uint row, uint lane) {
    barrier();
    uint first = first_bit(row);
    for (uint i = lane; i < ROW_WORDS; i += LANES) {
        uint at = row * ROW_BYTES / 4u + i;
        uint own = own_bits(i, first);
        if (own == 0xFFFFFFFFu) {
            destination.words[at] = row_bits[i];
        } else if (own != 0u) {
            atomicAnd(destination.words[at], ~own);
            atomicOr(destination.words[at], row_bits[i]);
        }
    }
}

#endif
