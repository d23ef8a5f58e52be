// The rotation of TBQ3_TCQ queries: signs S1, orthonormal 128-point Walsh-Hadamard transform, signs S2. One row a
// work-group.

#version 450
#extension GL_GOOGLE_include_directive : require

#include "group_index.glsl"
#include "hadamard.glsl"
#include "signs.glsl"

layout(std430, set = 0, binding = 0) readonly buffer Queries {
    vec4 q[];
};

layout(std430, set = 0, binding = 1) writeonly buffer Rotated {
    vec4 rotated[];
};

layout(push_constant) uniform Args {
    uint n_rows;
    uint head_dim;
} args;

const uint SIGNS1[4] = uint[4](0xE46A0359u, 0x42F85949u, 0xA4C63BBBu, 0x49F250A9u);
const uint SIGNS2[4] = uint[4](0x16ACEE90u, 0x3F628FDCu, 0xB7A5357Au, 0xBEA56562u);
const float SCALE = 0.08838834764831845;  // 1/sqrt(128)

void main() {
    uint lane = gl_LocalInvocationID.x;
    uint row = folded_xy();
    if (args.head_dim != HEAD_DIM || row >= args.n_rows) {
        return;
    }
    uint shift = 4u * (lane & 7u);
    vec4 v = negate_where(SIGNS1[lane >> 3] >> shift, q[row * LANES + lane]);
    v = hadamard(v, lane, LANES) * SCALE;
    rotated[row * LANES + lane] = negate_where(SIGNS2[lane >> 3] >> shift, v);
}
