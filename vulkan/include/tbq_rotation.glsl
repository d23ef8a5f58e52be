// The rotation of TBQ3_0 and TBQ4_0: 32 signs, then an orthonormal 32-point Walsh-Hadamard transform, block by block.
// It is orthogonal, so <q, decode(k)> = <rotate(q), codes of k>: kernels rotate the query once instead of every key.

#ifndef TBQ_ROTATION_GLSL
#define TBQ_ROTATION_GLSL

#include "hadamard.glsl"
#include "signs.glsl"

const uint TBQ_SIGNS = 0x5A69B4D2u;
const float TBQ_SCALE = 0.1767766952966369;  // 1/sqrt(32)

vec4 tbq_rotate(vec4 v, uint lane) {
    v = negate_where(TBQ_SIGNS >> (4u * (lane & 7u)), v);
    return hadamard(v, lane, 8u) * TBQ_SCALE;
}

#endif
