/*
 * hal/cpu/kernels_norm_body.h: batch norm. Included by each kernels_*.c once for float32 and once for bfloat16, after
 * kernels_cell_body.h, with what that asks for and
 *   PASSES         whether a float is above 0 once it is stored
 * Plain loops that the compiler turns into vector code of that set. Statistics are kept in double and rows are added in
 * their order. No include guard.
 *
 * Functions named _rows are compiled once for each form of batch norm, so that no loop asks what takes part, and for
 * rows of one vector and of two, whose coefficients and sums then stay in registers, beside those of any width. (Wide
 * matrices in strips of a vector or two read memory in strides: float32 was up to twice as slow.)
 */

/* Calls `function`, whose first argument is the width, with a width that the compiler knows where it may. */
#define NORM_OF_WIDTH(n, function, ...)                                                                                \
    ((n) == LANES       ? function(LANES, __VA_ARGS__)                                                                 \
     : (n) == 2 * LANES ? function((int64_t)2 * LANES, __VA_ARGS__)                                                    \
                        : function(n, __VA_ARGS__))

/* Asks for the lines of a row that comes 2 KB later, to read or to write it. The hardware does so too, but begins anew at each
 * page: matrices larger than the caches go 1.1 times as fast. An address, not a pointer: behind the last row is nothing. */
BY_FORM void CELL(fetch_ahead)(int64_t n, const cell *row, bool writes)
{
    enum { AHEAD_BYTES = 2048 };
    const uintptr_t first = (uintptr_t)row + AHEAD_BYTES;
    for (uintptr_t line = first; line < first + (uintptr_t)n * sizeof *row; line += LINE_BYTES) {
        if (writes) {
            __builtin_prefetch((const void *)line, 1);
        } else {
            __builtin_prefetch((const void *)line, 0);
        }
    }
}

/* ---- forward ------------------------------------------------------------------------------------------------- */

/* Two rows a sweep: half as many additions wait for the one before. */
BY_FORM void CELL(bn_stats_rows)(int64_t n, int64_t m, const cell *x, int64_t ldx, double *restrict sum,
                                 double *restrict squares)
{
    int64_t i = 0;
    for (; i + 2 <= m; i += 2) {
        const cell *restrict row = x + i * ldx;
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            double a = (double)LOAD(row[j]);
            double b = (double)LOAD(row[ldx + j]);
            sum[j] += a + b;
            squares[j] += a * a + b * b;
        }
    }
    for (; i < m; ++i) {
        const cell *restrict row = x + i * ldx;
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            double a = (double)LOAD(row[j]);
            sum[j] += a;
            squares[j] += a * a;
        }
    }
}

static void CELL(bn_stats)(int64_t m, int64_t n, const void *x, int64_t ldx, double *stats)
{
    NORM_OF_WIDTH(n, CELL(bn_stats_rows), m, x, ldx, stats, stats + n);
}

static inline float CELL(bn_normalised)(float x, float mean, float rstd)
{
    return (x - mean) * rstd;
}

BY_FORM void CELL(bn_apply_rows)(int64_t n, const cpu_bn_forward *a, bool adds, bool relu)
{
    const float *restrict mean = a->mean;
    const float *restrict rstd = a->rstd;
    const float *restrict gamma = a->gamma;
    const float *restrict beta = a->beta;
    for (int64_t i = 0; i < a->m; ++i) {
        const cell *from = (const cell *)a->x + i * a->ld_x;
        const cell *other = adds ? (const cell *)a->residual + i * a->ld_residual : from;
        cell *to = (cell *)a->y + i * a->ld_y;
        CELL(fetch_ahead)(n, from, false);
        if (adds) {
            CELL(fetch_ahead)(n, other, false);
        }
        CELL(fetch_ahead)(n, to, true);
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            float value = gamma[j] * CELL(bn_normalised)(LOAD(from[j]), mean[j], rstd[j]) + beta[j];
            value = adds ? value + LOAD(other[j]) : value;
            to[j] = STORE(relu && value < 0.0F ? 0.0F : value);
        }
    }
}

BY_FORM void CELL(bn_apply_of)(const cpu_bn_forward *a, bool adds, bool relu)
{
    NORM_OF_WIDTH(a->n, CELL(bn_apply_rows), a, adds, relu);
}

static void CELL(bn_apply)(const cpu_bn_forward *a)
{
    if (a->residual != NULL) {
        if (a->relu) {
            CELL(bn_apply_of)(a, true, true);
        } else {
            CELL(bn_apply_of)(a, true, false);
        }
    } else if (a->relu) {
        CELL(bn_apply_of)(a, false, true);
    } else {
        CELL(bn_apply_of)(a, false, false);
    }
}

/* ---- backward ------------------------------------------------------------------------------------------------ */

/* The gradient as it counts: masked by what bn_apply makes of xhat again, to the bit, or by its output. */
static inline float CELL(bn_counts)(float gradient, bn_mask mask, float xhat, float gamma, float beta, cell y)
{
    switch (mask) {
    case BN_MASK_X:
        return PASSES(gamma * xhat + beta) ? gradient : 0.0F;
    case BN_MASK_Y:
        return LOAD(y) > 0.0F ? gradient : 0.0F;
    default:
        return gradient;
    }
}

BY_FORM void CELL(bn_backward_stats_rows)(int64_t n, const cpu_bn_backward *a, bn_mask mask, bool shares, bool writes,
                                          double *restrict sum, double *restrict products)
{
    const float *restrict mean = a->mean;
    const float *restrict rstd = a->rstd;
    const float *restrict gamma = mask == BN_MASK_X ? a->gamma : mean;
    const float *restrict beta = mask == BN_MASK_X ? a->beta : mean;
    for (int64_t i = 0; i < a->m; ++i) {
        const cell *gradient = (const cell *)a->dy + i * a->ld_dy;
        const cell *from = (const cell *)a->x + i * a->ld_x;
        const cell *second = shares ? (const cell *)a->share + i * a->ld_share : gradient;
        const cell *passed = mask == BN_MASK_Y ? (const cell *)a->y + i * a->ld_y : gradient;
        cell *to = writes ? (cell *)a->to + i * a->ld_to : NULL;
        CELL(fetch_ahead)(n, gradient, writes);
        CELL(fetch_ahead)(n, from, false);
        if (shares) {
            CELL(fetch_ahead)(n, second, false);
        }
        if (mask == BN_MASK_Y) {
            CELL(fetch_ahead)(n, passed, false);
        }
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            float xhat = CELL(bn_normalised)(LOAD(from[j]), mean[j], rstd[j]);
            float whole = shares ? LOAD(STORE(LOAD(gradient[j]) + LOAD(second[j]))) : LOAD(gradient[j]);
            float g = CELL(bn_counts)(whole, mask, xhat, gamma[j], beta[j], passed[j]);
            if (writes) {
                to[j] = STORE(g);
            }
            sum[j] += (double)g;
            products[j] += (double)g * (double)xhat;
        }
    }
}

BY_FORM void CELL(bn_backward_stats_form)(const cpu_bn_backward *a, bn_mask mask, bool shares, bool writes,
                                          double *stats)
{
    NORM_OF_WIDTH(a->n, CELL(bn_backward_stats_rows), a, mask, shares, writes, stats, stats + a->n);
}

BY_FORM void CELL(bn_backward_stats_of)(const cpu_bn_backward *a, bn_mask mask, double *stats)
{
    if (a->share != NULL) {
        CELL(bn_backward_stats_form)(a, mask, true, true, stats);
    } else if (a->to != NULL) {
        CELL(bn_backward_stats_form)(a, mask, false, true, stats);
    } else {
        CELL(bn_backward_stats_form)(a, mask, false, false, stats);
    }
}

static void CELL(bn_backward_stats)(const cpu_bn_backward *a, double *stats)
{
    if (!a->relu) {
        CELL(bn_backward_stats_of)(a, BN_MASK_NONE, stats);
    } else if (a->y != NULL) {
        CELL(bn_backward_stats_of)(a, BN_MASK_Y, stats);
    } else {
        CELL(bn_backward_stats_of)(a, BN_MASK_X, stats);
    }
}

BY_FORM void CELL(bn_backward_apply_rows)(int64_t n, const cpu_bn_backward *a, bn_mask mask, const float *coefficient)
{
    const float *restrict mean = a->mean;
    const float *restrict rstd = a->rstd;
    const float *restrict gamma = mask == BN_MASK_X ? a->gamma : mean;
    const float *restrict beta = mask == BN_MASK_X ? a->beta : mean;
    const float *restrict scale = coefficient;
    const float *restrict mean_g = scale + n;
    const float *restrict mean_product = mean_g + n;
    for (int64_t i = 0; i < a->m; ++i) {
        const cell *gradient = (const cell *)a->dy + i * a->ld_dy;
        const cell *from = (const cell *)a->x + i * a->ld_x;
        cell *to = (cell *)a->to + i * a->ld_to;
        CELL(fetch_ahead)(n, gradient, false);
        CELL(fetch_ahead)(n, from, false);
#pragma omp simd
        for (int64_t j = 0; j < n; ++j) {
            float xhat = CELL(bn_normalised)(LOAD(from[j]), mean[j], rstd[j]);
            float g = CELL(bn_counts)(LOAD(gradient[j]), mask, xhat, gamma[j], beta[j], gradient[j]);
            to[j] = STORE(scale[j] * (g - mean_g[j] - xhat * mean_product[j]));
        }
    }
}

BY_FORM void CELL(bn_backward_apply_of)(const cpu_bn_backward *a, bn_mask mask, const float *coefficient)
{
    NORM_OF_WIDTH(a->n, CELL(bn_backward_apply_rows), a, mask, coefficient);
}

static void CELL(bn_backward_apply)(const cpu_bn_backward *a, const float *coefficient)
{
    if (a->relu) {
        CELL(bn_backward_apply_of)(a, BN_MASK_X, coefficient);
    } else {
        CELL(bn_backward_apply_of)(a, BN_MASK_NONE, coefficient);
    }
}
