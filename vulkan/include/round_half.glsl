// float32 to binary16 and bfloat16, to nearest and ties to even. packHalf2x16 leaves the rounding to the
// implementation, which would make stored bytes depend on the device. NaN is outside the domain.

#ifndef ROUND_HALF_GLSL
#define ROUND_HALF_GLSL

// Drops the low `count` bits of `value`, rounding to nearest, ties to even.
uint round_off(uint value, uint count) {
    uint odd = (value >> count) & 1u;
    return (value + (1u << (count - 1u)) - 1u + odd) >> count;
}

uint to_half(float value) {
    uint bits = floatBitsToUint(value);
    uint sign = (bits >> 16) & 0x8000u;
    uint magnitude = bits & 0x7FFFFFFFu;
    if (magnitude >= 0x477FF000u) {
        return sign | 0x7C00u;  // rounds to 65536 or more: infinity
    }
    if (magnitude >= 0x38800000u) {
        return sign | round_off(magnitude - 0x38000000u, 13u);
    }
    if (magnitude < 0x33000000u) {
        return sign;  // below half of the smallest subnormal number
    }
    uint exponent = magnitude >> 23;
    uint mantissa = (magnitude & 0x7FFFFFu) | 0x800000u;
    return sign | round_off(mantissa, 126u - exponent);
}

uint to_bfloat16(float value) {
    return round_off(floatBitsToUint(value), 16u);
}

#endif
