// Bindings 0 and 2 and the push constants of the QJL score kernels.

#ifndef QJL_SCORE_ARGS_GLSL
#define QJL_SCORE_ARGS_GLSL

layout(std430, set = 0, binding = 0) readonly buffer Sketches {
    vec4 q_sketch[];
};

layout(std430, set = 0, binding = 2) writeonly buffer Scores {
    float scores[];
};

layout(push_constant) uniform Args {
    uint n_heads;
    uint n_kv_heads;
    uint n_tokens;
    uint proj_dim;
#ifdef MULTI_ROW
    uint tokens_per_threadgroup;  // multiples of 32 keep every lane busy
#endif
} args;

uint key_head(uint head) {
    return head / (args.n_heads / args.n_kv_heads);
}

#endif
