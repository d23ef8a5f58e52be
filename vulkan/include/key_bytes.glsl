// Quantized blocks as a buffer of words. KEY_BINDING says where it is bound.
//
// Block sizes are even but mostly not multiples of 4, so a field may straddle two words. The second word is only read
// when the field needs it: nothing beyond the word of a block's last byte is touched.

#ifndef KEY_BYTES_GLSL
#define KEY_BYTES_GLSL

layout(std430, set = 0, binding = KEY_BINDING) readonly buffer Keys {
    uint words[];
} keys;

uint key_u32(uint byte_offset) {
    uint index = byte_offset >> 2;
    uint shift = (byte_offset & 3u) * 8u;
    uint low = keys.words[index] >> shift;
    return shift == 0u ? low : low | (keys.words[index + 1u] << (32u - shift));
}

// For even offsets.
uint key_u16(uint byte_offset) {
    return (keys.words[byte_offset >> 2] >> ((byte_offset & 2u) * 8u)) & 0xFFFFu;
}

uint key_u8(uint byte_offset) {
    return (keys.words[byte_offset >> 2] >> ((byte_offset & 3u) * 8u)) & 0xFFu;
}

// binary16, subnormal numbers included.
float key_half(uint byte_offset) {
    return unpackHalf2x16(key_u16(byte_offset)).x;
}

#endif
