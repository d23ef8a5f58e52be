// Decodes QJL1_256 blocks: out[i] = scale * norm * sum over j of sign_j * projection[i][j]. One block a work-group.

#version 450
#extension GL_GOOGLE_include_directive : require

#define KEY_BINDING 0

#include "group_index.glsl"
#include "key_bytes.glsl"
#include "qjl.glsl"

layout(std430, set = 0, binding = 1) readonly buffer Projection {
    float projection[];
};

layout(std430, set = 0, binding = 2) writeonly buffer Rows {
    float decoded[];
};

layout(push_constant) uniform Args {
    uint head_dim;
    uint proj_dim;
} args;

// A tile of the projection, 32 elements i by 32 projections j: read along j, where memory is contiguous, and summed
// along j by one lane for each i. The odd pitch keeps both directions free of bank conflicts.
#define TILE_PITCH (LANES + 1u)
shared float tile[LANES * TILE_PITCH];

void main() {
    uint lane = gl_LocalInvocationID.x;
    uint row = folded_xy();
    if (args.head_dim != HEAD_DIM || args.proj_dim != QJL_PROJ_DIM || row >= decoded.length() / HEAD_DIM) {
        return;
    }
    uint block = row * QJL_BLOCK_BYTES;
    float scale = QJL_SCALE * qjl_norm(key_u16(block + QJL_SIGN_BYTES));
    for (uint first_i = 0u; first_i < HEAD_DIM; first_i += LANES) {
        float sum = 0.0;
        for (uint first_j = 0u; first_j < QJL_PROJ_DIM; first_j += LANES) {
            for (uint i = 0u; i < LANES; ++i) {
                tile[i * TILE_PITCH + lane] = projection[(first_i + i) * QJL_PROJ_DIM + first_j + lane];
            }
            barrier();
            uint bits = key_u16(block + first_j / 8u) | (key_u16(block + first_j / 8u + 2u) << 16);
            for (uint j = 0u; j < LANES; ++j) {
                float term = tile[lane * TILE_PITCH + j];
                sum += ((bits >> j) & 1u) == 0u ? -term : term;
            }
            barrier();
        }
        decoded[row * HEAD_DIM + first_i + lane] = scale * sum;
    }
}
