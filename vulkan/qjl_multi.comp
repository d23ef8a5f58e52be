// Attention scores of all query heads against QJL1_256 keys: work-group (head, tile of tokens), one token a lane.
// Same contract as qjl; tokens_per_threadgroup tokens share what is computed from the sketch once.

#version 450
#extension GL_GOOGLE_include_directive : require

#define MULTI_ROW
#define KEY_BINDING 1
#define KEY_ROW_WORDS 8u

#include "group_index.glsl"
#include "key_rows.glsl"
#include "qjl.glsl"
#include "qjl_score_args.glsl"

#define NIBBLES (QJL_PROJ_DIM / 4u)

// Entry (g, n): sum of the sketch elements 4g..4g+3 with the signs that nibble n gives them. A row is then 64 lookups
// instead of 256 additions, and lanes with different nibbles hit different banks.
shared float nibble_sums[NIBBLES * 16u];

void load_nibble_sums(uint head, uint lane) {
    uint nibble = lane & 15u;
    for (uint g = lane >> 4; g < NIBBLES; g += LANES / 16u) {
        vec4 sketch = q_sketch[head * NIBBLES + g];
        nibble_sums[g * 16u + nibble] = dot(negate_where(~nibble, sketch), vec4(1.0));
    }
}

float row_sum(uint lane) {
    vec4 sum = vec4(0.0);
    for (uint word = 0u; word < KEY_ROW_WORDS; ++word) {
        uint bits = key_row_word(lane, word);
        uint g = 128u * word;
        sum += vec4(
            nibble_sums[g + (bits & 15u)],
            nibble_sums[g + 16u + ((bits >> 4) & 15u)],
            nibble_sums[g + 32u + ((bits >> 8) & 15u)],
            nibble_sums[g + 48u + ((bits >> 12) & 15u)]);
        sum += vec4(
            nibble_sums[g + 64u + ((bits >> 16) & 15u)],
            nibble_sums[g + 80u + ((bits >> 20) & 15u)],
            nibble_sums[g + 96u + ((bits >> 24) & 15u)],
            nibble_sums[g + 112u + ((bits >> 28) & 15u)]);
    }
    return dot(sum, vec4(1.0));
}

void main() {
    uint lane = gl_LocalInvocationID.x;
    uint head = gl_WorkGroupID.x;
    uint first = folded_yz() * args.tokens_per_threadgroup;
    if (args.proj_dim != QJL_PROJ_DIM || first >= args.n_tokens) {
        return;
    }
    uint end = min(first + args.tokens_per_threadgroup, args.n_tokens);
    uint base = key_head(head) * args.n_tokens * QJL_BLOCK_BYTES;

    load_nibble_sums(head, lane);
    for (uint tile = first; tile < end; tile += LANES) {
        uint count = min(LANES, end - tile);
        uint tile_base = base + tile * QJL_BLOCK_BYTES;
        stage_key_rows(tile_base, QJL_BLOCK_BYTES, count, lane);
        if (lane < count) {
            float norm = qjl_norm(key_u16(tile_base + lane * QJL_BLOCK_BYTES + QJL_SIGN_BYTES));
            scores[head * args.n_tokens + tile + lane] = QJL_SCALE * norm * row_sum(lane);
        }
    }
}
