// Argument structs of the milady kernels: one declaration for the host (C99, C++) and the shaders (Metal).
//
// Every member is a 32-bit unsigned integer, so offsets are 0, 4, 8, ... in every language.

#ifndef MILADY_ARGS_H
#define MILADY_ARGS_H

#ifndef __METAL_VERSION__
#include <stdint.h>
#endif

// kernel_turbo3_dot, kernel_turbo4_dot, kernel_turbo3_tcq_dot
typedef struct milady_turbo_dot_args {
    uint32_t head_dim;          // 128
    uint32_t n_kv;              // rows to score
    uint32_t kv_stride_blocks;  // blocks from one row to the next
    uint32_t q_head;            // selects the query and the row of scores
    uint32_t head_offset_bytes; // start of the key head in the cache
} milady_turbo_dot_args;

// kernel_turbo3_dot_multi, kernel_turbo4_dot_multi, kernel_turbo3_tcq_dot_multi
typedef struct milady_turbo_dot_multi_args {
    uint32_t head_dim;
    uint32_t n_kv;
    uint32_t kv_stride_blocks;
    uint32_t q_head;
    uint32_t head_offset_bytes;
    uint32_t blocks_per_threadgroup; // consecutive rows per threadgroup
} milady_turbo_dot_multi_args;

// kernel_turbo3_tcq_rotate
typedef struct milady_rotate_args {
    uint32_t n_rows;
    uint32_t head_dim; // 128
} milady_rotate_args;

// kernel_turbo3_set_rows, kernel_turbo4_set_rows, kernel_set_rows_q4_polar
typedef struct milady_set_rows_args {
    uint32_t n_rows;
    uint32_t head_dim; // 128
} milady_set_rows_args;

// kernel_attn_score_qjl1_256
typedef struct milady_qjl_score_args {
    uint32_t n_heads;
    uint32_t n_kv_heads;
    uint32_t n_tokens;
    uint32_t proj_dim; // 256
} milady_qjl_score_args;

// kernel_attn_score_qjl1_256_multi
typedef struct milady_qjl_score_multi_args {
    uint32_t n_heads;
    uint32_t n_kv_heads;
    uint32_t n_tokens;
    uint32_t proj_dim;
    uint32_t tokens_per_threadgroup; // consecutive tokens per threadgroup
} milady_qjl_score_multi_args;

// kernel_get_rows_qjl1_256
typedef struct milady_qjl_dequant_args {
    uint32_t head_dim; // 128
    uint32_t proj_dim; // 256
} milady_qjl_dequant_args;

// kernel_mul_mv_qjl1_256_f32
typedef struct milady_qjl_mv_args {
    uint32_t n_rows;
    uint32_t proj_dim; // 256
} milady_qjl_mv_args;

// kernel_set_rows_qjl1_256
typedef struct milady_qjl_set_rows_args {
    uint32_t n_rows;
    uint32_t head_dim; // 128
    uint32_t proj_dim; // 256
} milady_qjl_set_rows_args;

// kernel_get_rows_q4_polar
typedef struct milady_polar_dequant_args {
    uint32_t head_dim; // 128
    uint32_t use_qjl;  // nonzero: apply the residual
} milady_polar_dequant_args;

// kernel_mul_mv_q4_polar_f32, kernel_mul_mv_q4_polar_preht_f32
typedef struct milady_polar_mv_args {
    uint32_t n_rows;
    uint32_t head_dim; // 128
    uint32_t use_qjl;  // nonzero: apply the residual
} milady_polar_mv_args;

// A negative array size stops the compiler: static_assert in a form that C99 knows, too.
#define MILADY_ASSERT_SIZE(type, bytes) typedef char type##_size_check[sizeof(type) == (bytes) ? 1 : -1]
MILADY_ASSERT_SIZE(milady_turbo_dot_args, 20);
MILADY_ASSERT_SIZE(milady_turbo_dot_multi_args, 24);
MILADY_ASSERT_SIZE(milady_rotate_args, 8);
MILADY_ASSERT_SIZE(milady_set_rows_args, 8);
MILADY_ASSERT_SIZE(milady_qjl_score_args, 16);
MILADY_ASSERT_SIZE(milady_qjl_score_multi_args, 20);
MILADY_ASSERT_SIZE(milady_qjl_dequant_args, 8);
MILADY_ASSERT_SIZE(milady_qjl_mv_args, 8);
MILADY_ASSERT_SIZE(milady_qjl_set_rows_args, 12);
MILADY_ASSERT_SIZE(milady_polar_dequant_args, 8);
MILADY_ASSERT_SIZE(milady_polar_mv_args, 12);
#undef MILADY_ASSERT_SIZE

#endif // MILADY_ARGS_H
