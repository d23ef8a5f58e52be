// Bindings 1 and 2 and the push constants of the Q4_POLAR matrix-vector kernels.

#ifndef POLAR_MV_ARGS_GLSL
#define POLAR_MV_ARGS_GLSL

layout(std430, set = 0, binding = 1) readonly buffer Query {
    float q[];
};

layout(std430, set = 0, binding = 2) writeonly buffer Result {
    float y[];
};

// Descriptors bind whole tensors; the offsets select the rows, the query and the result in them.
layout(push_constant) uniform Args {
    uint n_rows;
    uint head_dim;
    uint use_qjl;
    uint k_offset_bytes;
    uint q_offset;  // in floats
    uint y_offset;  // in floats
} args;

vec4 load_query(uint lane) {
    uint i = args.q_offset + 4u * lane;
    return vec4(q[i], q[i + 1u], q[i + 2u], q[i + 3u]);
}

#endif
