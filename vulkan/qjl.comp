// Attention scores of all query heads against QJL1_256 keys: work-group (head, token).
// Queries come as their 256-element sketches; head h reads key head h / (n_heads / n_kv_heads).

#version 450
#extension GL_GOOGLE_include_directive : require

#define KEY_BINDING 1

#include "group_index.glsl"
#include "key_bytes.glsl"
#include "qjl.glsl"
#include "qjl_score_args.glsl"
#include "reduce.glsl"

void main() {
    uint lane = gl_LocalInvocationID.x;
    uint head = gl_WorkGroupID.x;
    uint token = folded_yz();
    if (args.proj_dim != QJL_PROJ_DIM || token >= args.n_tokens) {
        return;
    }
    uint block = (key_head(head) * args.n_tokens + token) * QJL_BLOCK_BYTES;
    uint bits = key_u8(block + lane);
    uint i = head * (QJL_PROJ_DIM / 4u) + 2u * lane;
    float part = qjl_signed_sum(bits, q_sketch[i], q_sketch[i + 1u]);
    float sum = sum_lanes(part, lane, LANES);
    if (lane == 0u) {
        float norm = qjl_norm(key_u16(block + QJL_SIGN_BYTES));
        scores[head * args.n_tokens + token] = QJL_SCALE * norm * sum;
    }
}
