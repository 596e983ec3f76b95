/*
 * hal/cpu/kernels.h: the single-thread f32 kernels of one instruction set, as a table.
 *
 * The bodies are written once (kernels_*_body.h) and compiled for each level by kernels_base.c, kernels_avx2.c and
 * kernels_avx512.c; batch norm of bfloat16 once more by kernels_avx512bf16.c, products of pairs by gemm/. The drivers
 * (cpu_dense.c, cpu_nn.c, cpu_optim.c) cut the rows, hand each thread its piece and add partial results in the order of
 * the pieces. Matrices are [m, n] row-major with a leading dimension, as in hal/hal.h.
 */
#pragma once

#include "hal/hal.h"

/* Before a loop of constant length whose arrays are to be registers. */
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Optimiser steps with their constants worked out in double by the driver. */
typedef struct cpu_adam_step {
    float beta1, beta2, one_minus_beta1, one_minus_beta2;
    float weight_decay, epsilon;
    float step_size;           /* lr / (1 - beta1^step) */
    float inverse_root_second; /* 1 / sqrt(1 - beta2^step) */
} cpu_adam_step;

typedef struct cpu_adadelta_step {
    float lr, decay, one_minus_decay, epsilon, weight_decay;
} cpu_adadelta_step;

typedef struct cpu_sgd_step {
    float lr, momentum, one_minus_dampening, weight_decay;
    bool nesterov, has_momentum, first;
} cpu_sgd_step;

typedef struct cpu_lars_step {
    float rate; /* lr * the trust ratio */
    float momentum, weight_decay;
    bool has_momentum, first;
} cpu_lars_step;

/* What the two losses return. */
typedef struct cpu_loss {
    double sum;
    int64_t count;
} cpu_loss;

/* A pooling: rows of x are pixels of the input, rows of y of the output, [.., cols]. */
typedef struct cpu_pooling {
    hal_pool_shape shape;
    int64_t extent[2]; /* of the output */
    int64_t cols, ldx, ldy, ld_index;
} cpu_pooling;

/* Rows of batch norm, forward; matrices [m, n]. */
typedef struct cpu_bn_forward {
    int64_t m, n;
    const void *x, *residual; /* residual: NULL for none */
    void *y;
    int64_t ld_x, ld_residual, ld_y;
    const float *mean, *rstd, *gamma, *beta;
    bool relu;
} cpu_bn_forward;

/* Rows of the backward pass of batch norm; matrices [m, n]. */
typedef struct cpu_bn_backward {
    int64_t m, n;
    const void *dy, *share, *x, *y; /* share, and y: NULL for none */
    void *to;                       /* what counts, or NULL for nobody; dx */
    int64_t ld_dy, ld_share, ld_x, ld_y, ld_to;
    const float *mean, *rstd, *gamma, *beta;
    bool relu;
} cpu_bn_backward;

/* Batch norm over cells of one type. */
typedef struct cpu_norm_kernels {
    /* stats[2n] += */
    void (*stats)(int64_t m, int64_t n, const void *x, int64_t ldx, double *stats);
    void (*apply)(const cpu_bn_forward *rows);
    void (*backward_stats)(const cpu_bn_backward *rows, double *stats); /* stats[2n] += */
    /* coefficient[3n]: gamma * rstd, sum_g / count, sum_g_xhat / count */
    void (*backward_apply)(const cpu_bn_backward *rows, const float *coefficient);
} cpu_norm_kernels;

/* curve_backward of a piece (hal/ops.def). */
typedef struct cpu_curve_backward {
    int64_t m, n, lddy, ldk, lddx;
    const void *dy, *known;
    void *dx;
} cpu_curve_backward;

/* Kernels over cells of float32 or bfloat16 (x, y, residual and their gradients); all else is float32, and so is the
 * arithmetic: a cell is rounded once, when it is stored. */
typedef struct cpu_cell_kernels {
    void (*axpby)(int64_t m, int64_t n, float alpha, const void *x, int64_t ldx, float beta, void *y, int64_t ldy);
    /* sum[n] += columns of a */
    void (*col_sum)(int64_t m, int64_t n, const void *a, int64_t lda, double *sum);
    void (*gather_rows)(int64_t m, int64_t n, const int32_t *index, const void *x, int64_t ldx, void *y, int64_t ldy);
    void (*scatter_rows)(int64_t m, int64_t n, const int32_t *index, hal_scatter mode, const void *x, int64_t ldx,
                         void *y, int64_t ldy);
    /* dropout, and ReLU before it; row: number of the first row within the matrix of the dropout descriptor */
    void (*act_forward)(int64_t m, int64_t n, const void *x, int64_t ldx, bool relu, const hal_dropout *dropout,
                        int64_t row, void *y, int64_t ldy);
    void (*relu_forward)(int64_t m, int64_t n, const void *x, int64_t ldx, void *y, int64_t ldy);
    /* scale: of the dropout behind the ReLU */
    void (*relu_backward)(int64_t m, int64_t n, const void *dy, int64_t lddy, const void *y, int64_t ldy, float scale,
                          void *dx, int64_t lddx);
    void (*curve_forward)(int64_t m, int64_t n, hal_curve curve, const void *x, int64_t ldx, void *y, int64_t ldy);
    void (*curve_backward)(const cpu_curve_backward *rows, hal_curve curve);
    /* rows [row, row + rows) of y; the images [image, image + images) of dx */
    void (*gate_forward)(const hal_gate_forward_args *a, int64_t row, int64_t rows);
    void (*gate_backward)(const hal_gate_backward_args *a, int64_t image, int64_t images);
    cpu_norm_kernels norm;
    void (*ln_forward)(int64_t m, int64_t n, const void *x, int64_t ldx, const float *gamma, const float *beta,
                       double epsilon, float *saved, void *y, int64_t ldy);
    /* sums[2n] += dgamma, dbeta */
    void (*ln_backward)(int64_t m, int64_t n, const void *dy, int64_t lddy, const void *x, int64_t ldx,
                        const float *gamma, const float *saved, double *sums, void *dx, int64_t lddx);
    /* rows [first, first + rows) of y, and of dx; the matrices are whole. index: NULL for none */
    void (*pool_max)(const cpu_pooling *pool, int64_t first, int64_t rows, const void *x, void *y, uint8_t *index);
    void (*pool_average)(const cpu_pooling *pool, int64_t first, int64_t rows, const void *x, void *y);
    /* index: NULL for an average */
    void (*pool_backward)(const cpu_pooling *pool, int64_t first, int64_t rows, const void *dy, const uint8_t *index,
                          void *dx);
    /* the largest over edges, rows first .. end - 1 */
    void (*max_forward)(const hal_max_forward_args *a, int64_t first, int64_t end);
    void (*max_ties)(const hal_max_ties_args *a, int64_t first, int64_t end);
    void (*max_share)(int64_t m, int64_t n, const float *ties, int64_t ldt, void *dy, int64_t lddy);
    void (*max_backward)(const hal_max_backward_args *a, int64_t first, int64_t end);
} cpu_cell_kernels;

/* Sums of products of bfloat16, A^T B, by dot products of pairs. Packed: rows two at a time, an element of four bytes
 * from each pair of cells, in panels of that many columns: [panel, pair, column]; missing columns are zeros. row[2 *
 * pairs]: the rows' first cells; the last may be NULL, zeros. */
enum { PAIR_A_PANEL = 8, PAIR_B_PANEL = 32 };

/* Rows of A and B that are packed next: `multiply` asks for their lines, which come from memory meanwhile. */
typedef struct cpu_pair_ahead {
    int64_t rows, a_bytes, b_bytes; /* rows; bytes of one */
    const uint16_t *const *a, *const *b;
} cpu_pair_ahead;

typedef struct cpu_pair_kernels {
    void (*pack_a)(int64_t pairs, int64_t cols, const uint16_t *const *row, uint32_t *packed);
    void (*pack_b)(int64_t pairs, int64_t cols, const uint16_t *const *row, uint32_t *packed);
    /* c[m, n] = A^T B, + c where it adds */
    void (*multiply)(int64_t m, int64_t n, int64_t pairs, const uint32_t *a, const uint32_t *b, bool adds, float *c,
                     int64_t ldc, const cpu_pair_ahead *ahead);
} cpu_pair_kernels;

/* Products of bfloat16 that read a tall A where it lies. Packed: by pack_b of cpu_pair_kernels.
 *
 * Sums are kept in strips of PAIR_SUM_STRIP columns of A, [strip][n][PAIR_SUM_STRIP], whose order is that of
 * pair_sum_place. */
enum { PAIR_SUM_STEP = 16 /* rows of A and B at once */, PAIR_SUM_STRIP = 32 };

/* Where a column of a strip is among its sums. */
static inline int64_t pair_sum_place(int64_t column)
{
    return column / 4 % 2 * 16 + column / 8 * 4 + column % 4;
}

typedef struct cpu_pair_row_kernels {
    /* c[m, n] = a[m, k] packed + beta * c + bias[n]; packed: of the k rows of B */
    void (*multiply_rows)(int64_t m, int64_t n, int64_t k, const uint16_t *a, int64_t lda, const uint32_t *packed,
                          float beta, const float *bias, float *c, int64_t ldc);
    /* sums += A^T B over steps * PAIR_SUM_STEP rows of A [.., m] and B [.., n]; packed: step by step. As many further
     * rows of A are asked for. */
    void (*add_rows)(int64_t steps, int64_t m, int64_t n, const uint16_t *a, int64_t lda, const uint32_t *packed,
                     float *sums);
} cpu_pair_row_kernels;

typedef struct cpu_winograd_kernels cpu_winograd_kernels; /* see winograd/winograd.h */

typedef struct cpu_kernels {
    cpu_cell_kernels f32, bf16;

    /* dense */
    void (*scale_rows)(int64_t m, int64_t n, const float *scale, const float *x, int64_t ldx, float *y, int64_t ldy);

    /* products (kernels_gemm_body.h). Packed: rows k_begin .. k_end - 1 of alpha * B, element (p, j) of B at
     * b[p * b_row + j * b_col], into the layout of all k rows: k * gemm_columns(n) floats. */
    int64_t (*gemm_columns)(int64_t n);
    void (*gemm_pack)(int64_t k_begin, int64_t k_end, int64_t k, int64_t n, float alpha, const float *b, int64_t b_row,
                      int64_t b_col, float *packed);
    /* c[m, n] = a[m, k] packed + beta * c + bias[n] */
    void (*gemm_multiply)(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *packed, float beta,
                          const float *bias, float *c, int64_t ldc);
    /* c[m, n] = transpose of a[k, m], times packed, + beta * c */
    void (*gemm_multiply_transposed)(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *packed,
                                     float beta, float *c, int64_t ldc);
    /* NULL where the processor has none, or something better. */
    const cpu_pair_kernels *pairs;
    const cpu_pair_row_kernels *pair_rows;
    const cpu_winograd_kernels *winograd_f32, *winograd_bf16;

    /* shares of attention over tokens: every row becomes its softmax; gradients of shares become those of what it read,
     * times scale */
    void (*softmax_rows)(int64_t m, int64_t n, float *x, int64_t ldx);
    void (*softmax_slopes)(int64_t m, int64_t n, const float *share, int64_t lds, float scale, float *dx, int64_t lddx);

    void (*elu_forward)(int64_t m, int64_t n, const float *x, int64_t ldx, float *y, int64_t ldy);
    void (*elu_backward)(int64_t m, int64_t n, const float *dy, int64_t lddy, const float *y, int64_t ldy, float keep,
                         float *dx, int64_t lddx);

    /* losses and metric, over the rows whose mask is not 0; mask NULL: over all of them */
    cpu_loss (*softmax_xent)(int64_t m, int64_t n, const float *x, int64_t ldx, const int32_t *label,
                             const uint8_t *mask, const float *weight, float scale, float smoothing, float *dx,
                             int64_t lddx);
    cpu_loss (*bce_logits)(int64_t m, int64_t n, const float *x, int64_t ldx, const float *target, int64_t ldt,
                           const uint8_t *mask, float scale, float *dx, int64_t lddx);
    /* count[2] += rows that are right, then all of them */
    void (*accuracy)(int64_t m, int64_t n, const float *x, int64_t ldx, const int32_t *label, const uint8_t *mask,
                     int64_t *count);

    /* attention, rows first .. end - 1; cache_bytes: the part of a cache that rows of edges' other ends may fill */
    void (*head_dot)(const hal_head_dot_args *a, int64_t first, int64_t end);
    void (*head_scale)(const hal_head_scale_args *a, int64_t first, int64_t end);
#define EDGE_KERNEL(name) void (*name)(const hal_##name##_args *a, int64_t cache_bytes, int64_t first, int64_t end)
    EDGE_KERNEL(attention_highest);
    EDGE_KERNEL(attention_forward);
    EDGE_KERNEL(attention_backward_targets);
    EDGE_KERNEL(attention_backward_sources);
    EDGE_KERNEL(dynamic_highest);
    EDGE_KERNEL(dynamic_forward);
    EDGE_KERNEL(dynamic_backward_targets);
    EDGE_KERNEL(dynamic_backward_sources);
#undef EDGE_KERNEL

    /* optimisers */
    void (*adam)(int64_t n, const cpu_adam_step *step, float *w, const float *g, float *m, float *v);
    void (*adadelta)(int64_t n, const cpu_adadelta_step *step, float *w, const float *g, float *squares, float *moves);
    void (*sgd)(int64_t n, const cpu_sgd_step *step, float *w, const float *g, float *momentum);
    double (*sum_squares)(int64_t n, const float *x);
    void (*lars)(int64_t n, const cpu_lars_step *step, float *w, const float *g, float *velocity);
} cpu_kernels;

extern const cpu_kernels cpu_kernels_base, cpu_kernels_avx2, cpu_kernels_avx512;
extern const cpu_norm_kernels cpu_norm_avx512bf16; /* of bfloat16 */
extern const cpu_pair_kernels cpu_pairs_avx512bf16;
extern const cpu_pair_row_kernels cpu_pair_rows_avx512bf16;
extern const cpu_winograd_kernels cpu_winograd_base, cpu_winograd_avx2, cpu_winograd_avx512; /* of float32 */
extern const cpu_winograd_kernels cpu_winograd_avx512bf16;
