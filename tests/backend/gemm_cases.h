/* backend/gemm_cases.h: products of matrices on a backend against ref, of one type and of two. */
#pragma once

#include "backend/backend_env.h"

/* With bfloat16 one of the matrices is, or two, or all: `narrow` has a bit each. */
static void gemm_of_types(env *e, int64_t k, bool trans_a, bool trans_b, double alpha, double beta, bool with_bias,
                          int narrow)
{
    operand a = operand_own(e, (narrow & 1) != 0, trans_a ? k : e->m, trans_a ? e->m : k, UNIT);
    operand b = operand_own(e, (narrow & 2) != 0, trans_b ? e->n : k, trans_b ? k : e->n, UNIT);
    operand c = operand_own(e, (narrow & 4) != 0, e->m, e->n, beta == 0.0 ? NOTHING : UNIT);
    operand bias = operand_vector(e, e->n, UNIT);
    for (int i = 0; i < e->backends; ++i) {
        RUN_ON(e, i, gemm, .a = mat_on(&a, i), .b = mat_on(&b, i), .c = mat_on(&c, i),
               .bias = with_bias ? row_on(&bias, i) : (hal_mat){.data = NULL}, .trans_a = trans_a, .trans_b = trans_b,
               .alpha = alpha, .beta = beta);
    }
    operand_compare(e, &c, 8.0 + 0.5 * (double)k);
}

static void gemm_variant(env *e, int64_t k, bool trans_a, bool trans_b, double alpha, double beta, bool with_bias)
{
    static const int types[] = {1 | 4, 1 | 2, 1, 2, 4, 1 | 2 | 4};
    static unsigned turn;
    const int narrow = e->dtype == WEFT_DTYPE_BF16 ? types[turn++ % 6] : 0;
    gemm_of_types(e, k, trans_a, trans_b, alpha, beta, with_bias, narrow);
}

/* m and n are the shape's; k runs over short, odd and long. */
static void case_gemm(env *e)
{
    static const int64_t inner[] = {0, 1, 3, 17, 65, 300};
    bool big = e->m * e->n > 5000;
    for (int i = 0; i < 6; ++i) {
        int64_t k = inner[i];
        if ((big && k == 3) || (k == 300 && e->m * e->n > 600)) {
            continue;
        }
        gemm_variant(e, k, false, false, 1.0, 0.0, true);
        gemm_variant(e, k, true, false, 1.0, 1.0, false);
        gemm_variant(e, k, false, true, 1.0, 0.0, false);
        if (!big) {
            gemm_variant(e, k, true, true, -0.5, 0.25, true);
            gemm_variant(e, k, true, false, 1.0, 0.0, false);
        }
    }
}

/* Long reductions, as in weight gradients: few rows and columns of C, many terms. */
static void case_gemm_gradient(env *e)
{
    if (e->m == 0 || e->n == 0 || e->n > 130) {
        return;
    }
    int64_t k = e->m;
    e->m = 37;
    gemm_variant(e, k, true, false, 1.0, 1.0, false);
    e->m = 5;
    gemm_variant(e, k, true, false, 1.0, 0.0, false);
    e->m = k;
}

/* Products that a library takes from the kernels above: large ones, with and without bias and accumulation. */
static void case_gemm_large(env *e)
{
    if (e->m != 5 || e->n != 602) {
        return;
    }
    gemm_variant(e, 300, false, false, 1.0, 0.0, true);
    gemm_variant(e, 300, false, true, 1.0, 1.0, false);
    gemm_variant(e, 300, false, true, 1.0, 0.5, true);
    gemm_variant(e, 300, false, false, -2.0, 0.5, true); /* scaled: stays with the kernels */
    e->m = 440;
    gemm_variant(e, 9, true, false, 1.0, 0.0, false);
    gemm_variant(e, 9, true, true, 1.0, 1.0, true);
    if (e->dtype ==
        WEFT_DTYPE_F32) { /* scaled again: rows and columns of C in several passes, or sums of each thread's own */
        gemm_variant(e, 9, true, false, -2.0, 0.5, true);
        e->m = 37;
        gemm_variant(e, 800, true, false, -2.0, 0.0, false);
    }
    e->m = 37;
    for (int turned = 0; turned < 4 && e->dtype == WEFT_DTYPE_BF16; ++turned) {
        const bool trans_a = (turned & 1) != 0, trans_b = (turned & 2) != 0;
        gemm_of_types(e, 60, trans_a, trans_b, 1.0, 0.0, true, 1 | 2 | 4);
        gemm_of_types(e, 60, trans_a, trans_b, 1.0, 1.0, trans_b, 1 | 2);
    }
    e->m = 5;
}
