// Push constants of the encoders without a projection.

#ifndef SET_ROWS_ARGS_GLSL
#define SET_ROWS_ARGS_GLSL

layout(push_constant) uniform Args {
    uint n_rows;
    uint head_dim;
} args;

#endif
