// Bindings 0 and 2 and the push constants that the turbo score kernels share.

#ifndef TURBO_ARGS_GLSL
#define TURBO_ARGS_GLSL

layout(std430, set = 0, binding = 0) readonly buffer Query {
    vec4 q[];
};

layout(std430, set = 0, binding = 2) writeonly buffer Scores {
    float scores[];
};

layout(push_constant) uniform Args {
    uint head_dim;
    uint n_kv;
    uint kv_stride_blocks;   // blocks from one row to the next
    uint q_head;             // selects the query and the row of scores
    uint head_offset_bytes;  // start of the key head in the key buffer
#ifdef MULTI_ROW
    uint blocks_per_threadgroup;  // rows of one work-group; multiples of 32 keep every lane busy
#endif
} args;

// Elements 4 * lane .. 4 * lane + 3 of the query.
vec4 load_query(uint lane) {
    return q[args.q_head * (args.head_dim / 4u) + lane];
}

void store_score(uint row, float score) {
    scores[args.q_head * args.n_kv + row] = score;
}

#endif
