// Rows of quantized blocks for one lane each: a tile of rows is read as consecutive words by all lanes together and
// kept in shared memory. KEY_ROW_WORDS whole words of every row are staged.

#ifndef KEY_ROWS_GLSL
#define KEY_ROWS_GLSL

#include "group_index.glsl"
#include "key_bytes.glsl"

// An odd pitch: lanes that read the same word of their rows hit different banks.
#define KEY_ROW_PITCH (KEY_ROW_WORDS | 1u)

shared uint key_tile[LANES * KEY_ROW_PITCH];

// Stages `count` (at most LANES) rows from byte `base` on, `stride` bytes apart; rows start at even bytes. Every lane
// of the work-group has to call it.
void stage_key_rows(uint base, uint stride, uint count, uint lane) {
    barrier();
    for (uint pass = 0u; pass < KEY_ROW_WORDS; ++pass) {
        uint i = pass * LANES + lane;
        uint row = i / KEY_ROW_WORDS;
        uint word = i % KEY_ROW_WORDS;
        if (row < count) {
            key_tile[row * KEY_ROW_PITCH + word] = key_u32(base + row * stride + 4u * word);
        }
    }
    barrier();
}

uint key_row_word(uint lane, uint word) {
    return key_tile[lane * KEY_ROW_PITCH + word];
}

// The word at bit 16 of word `word`: blocks begin with a 16-bit norm, which leaves their codes half a word off.
uint key_row_half_word(uint lane, uint word) {
    return (key_row_word(lane, word) >> 16) | (key_row_word(lane, word + 1u) << 16);
}

#endif
