// TBQ3_TCQ: one block of 128 elements in 52 bytes: binary16 norm, then a little-endian stream of 390 bits (6 bits of
// the first state, then 128 symbols of 3 bits), then one zero byte. The 9-bit window at stream bit 3t is the state of
// step t and selects the codebook value.

#ifndef TCQ_GLSL
#define TCQ_GLSL

#define TCQ_BLOCK_BYTES 52u
#define TCQ_STATES 512u

layout(std430, set = 0, binding = 3) readonly buffer Codebook {
    float codebook[];
};

#endif
