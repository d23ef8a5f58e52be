// Encodes f32 rows as Q4_POLAR: source row i becomes destination row rows[i]. One row a work-group.

#version 450
#extension GL_GOOGLE_include_directive : require

#define ROW_BYTES 82u

#include "group_index.glsl"
#include "hadamard.glsl"
#include "polar.glsl"
#include "reduce.glsl"
#include "round_half.glsl"
#include "row_writer.glsl"
#include "set_rows_args.glsl"

// Boundaries between the codes. A value on a boundary takes the lower code.
const float BOUNDARIES[15] = float[15](
    -2.423958757, -1.868302108, -1.461390631, -1.121190365, -0.817516548, -0.535144610, -0.264827443, 0.0,
    0.264827443, 0.535144610, 0.817516548, 1.121190365, 1.461390631, 1.868302108, 2.423958757);

uint nearest_code(float x) {
    uint code = 0u;
    for (uint i = 0u; i < 15u; ++i) {
        code += x > BOUNDARIES[i] ? 1u : 0u;
    }
    return code;
}

void main() {
    uint lane = gl_LocalInvocationID.x;
    uint i = folded_xy();
    if (args.head_dim != HEAD_DIM || i >= args.n_rows) {
        return;
    }
    load_polar_table(lane);
    clear_row(lane);
    vec4 x = source[i * LANES + lane];
    float norm = sqrt(sum_lanes(dot(x, x), lane, LANES));
    // Rounded before the transform: contracted into its additions, equal elements would no longer cancel to zero.
    precise vec4 unit = norm > 0.0 ? x * (1.0 / norm) : x;
    vec4 y = hadamard(unit, lane, LANES);
    uint codes = nearest_code(y.x) | (nearest_code(y.y) << 4) | (nearest_code(y.z) << 8) | (nearest_code(y.w) << 12);
    vec4 residual = negate_where(polar_signs(lane), y - polar_values(codes));
    float along = sum_lanes(dot(residual, vec4(1.0)), lane, LANES);

    uint row = rows[i];
    uint first = first_bit(row);
    put_bits(first + 8u * POLAR_CODES + 16u * lane, codes, 16u);
    if (lane == 0u) {
        put_bits(first, to_half(norm), 16u);
        put_bits(first + 8u * POLAR_RESIDUAL, along >= 0.0 ? 1u : 0u, 1u);
    }
    write_row(row, lane);
}
