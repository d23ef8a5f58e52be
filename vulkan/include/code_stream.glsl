// A stream of 3-bit steps taken four at a time: each chunk starts 12 bits after the one before.

#ifndef CODE_STREAM_GLSL
#define CODE_STREAM_GLSL

// Chunks 0..3 of the stream, valid in their low 18 bits.
uvec4 low_chunks(uvec3 stream) {
    return uvec4(
        stream.x,
        stream.x >> 12,
        (stream.x >> 24) | (stream.y << 8),
        stream.y >> 4);
}

// Chunks 4..7. `next` is the word that follows the stream, where windows reach beyond its 96 bits.
uvec4 high_chunks(uvec3 stream, uint next) {
    return uvec4(
        (stream.y >> 16) | (stream.z << 16),
        (stream.y >> 28) | (stream.z << 4),
        stream.z >> 8,
        (stream.z >> 20) | (next << 12));
}

#endif
