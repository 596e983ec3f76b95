/*
 * hal/cpu/kernels_norm_body.h: batch norm. A body over cells (kernels_cells.h), after
 *   CELL(lanes_in), CELL(lanes_out), CELL(lanes_put), CELL(add_lanes)    as in kernels_lanes.h
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

/* Calls `function`, whose first arguments are a number of columns and the first of them, for all n columns. */
#define BY_LANES(n, function, ...)                                                                                     \
    do {                                                                                                               \
        int64_t at = 0;                                                                                                \
        for (; at + LANES <= (n); at += LANES) {                                                                       \
            function((int64_t)LANES, at, __VA_ARGS__);                                                                 \
        }                                                                                                              \
        if (at < (n)) {                                                                                                \
            function((n)-at, at, __VA_ARGS__);                                                                         \
        }                                                                                                              \
    } while (0)

/* Asks for the lines of a row that comes 2 KB later, to read or to write it. The hardware does so too, but begins anew
 * at each page: matrices larger than the caches go 1.1 times as fast. An address, not a pointer: behind the last row is
 * nothing. */
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

/* What batch norm makes of columns j .. j + lanes - 1 of a row. */
BY_FORM void CELL(bn_apply_lanes)(int64_t lanes, int64_t j, const cpu_bn_forward *a, const cell *from,
                                  const cell *other, cell *to, bool adds, bool relu)
{
    const float *restrict mean = a->mean + j;
    const float *restrict rstd = a->rstd + j;
    const float *restrict gamma = a->gamma + j;
    const float *restrict beta = a->beta + j;
    float own[3][LANES];
    const float *x = CELL(lanes_in)(lanes, from + j, own[0]);
    const float *residual = adds ? CELL(lanes_in)(lanes, other + j, own[1]) : x;
    float *y = CELL(lanes_out)(to + j, own[2]);
#pragma omp simd
    for (int64_t k = 0; k < lanes; ++k) {
        float value = gamma[k] * CELL(bn_normalised)(x[k], mean[k], rstd[k]) + beta[k];
        value = adds ? value + residual[k] : value;
        y[k] = relu && value < 0.0F ? 0.0F : value;
    }
    CELL(lanes_put)(lanes, y, to + j);
}

BY_FORM void CELL(bn_apply_rows)(int64_t n, const cpu_bn_forward *rows, bool adds, bool relu)
{
    const cpu_bn_forward a = *rows; /* nothing that is stored changes it */
    for (int64_t i = 0; i < a.m; ++i) {
        const cell *from = (const cell *)a.x + i * a.ld_x;
        const cell *other = adds ? (const cell *)a.residual + i * a.ld_residual : from;
        cell *to = (cell *)a.y + i * a.ld_y;
        CELL(fetch_ahead)(n, from, false);
        if (adds) {
            CELL(fetch_ahead)(n, other, false);
        }
        CELL(fetch_ahead)(n, to, true);
        BY_LANES(n, CELL(bn_apply_lanes), &a, from, other, to, adds, relu);
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

/* The gradient as it counts: masked by what bn_apply makes of xhat again, to the bit, or by its output y. */
static inline float CELL(bn_counts)(float gradient, bn_mask mask, float xhat, float gamma, float beta, float y)
{
    switch (mask) {
    case BN_MASK_X:
        return PASSES(gamma * xhat + beta) ? gradient : 0.0F;
    case BN_MASK_Y:
        return y > 0.0F ? gradient : 0.0F;
    default:
        return gradient;
    }
}

/* A row's operands: gradient, another to add to it, input and output of batch norm, and where what counts goes. */
typedef struct CELL(bn_row) {
    const cell *gradient, *second, *from, *passed;
    cell *to;
} CELL(bn_row);

BY_FORM void CELL(bn_backward_stats_lanes)(int64_t lanes, int64_t j, const cpu_bn_backward *a, const CELL(bn_row) * row,
                                           bn_mask mask, bool shares, bool writes, double *restrict sum,
                                           double *restrict products)
{
    const float *restrict mean = a->mean + j;
    const float *restrict rstd = a->rstd + j;
    const float *restrict gamma = mask == BN_MASK_X ? a->gamma + j : mean;
    const float *restrict beta = mask == BN_MASK_X ? a->beta + j : mean;
    float own[4][LANES];
    const float *x = CELL(lanes_in)(lanes, row->from + j, own[0]);
    const float *gradient = CELL(lanes_in)(lanes, row->gradient + j, own[1]);
    const float *y = mask == BN_MASK_Y ? CELL(lanes_in)(lanes, row->passed + j, own[2]) : x;
    float *counted = writes ? CELL(lanes_out)(row->to + j, own[3]) : own[3];
    if (shares) {
        float second[LANES];
        CELL(add_lanes)(lanes, gradient, CELL(lanes_in)(lanes, row->second + j, second), counted);
        gradient = counted;
    }
#pragma omp simd
    for (int64_t k = 0; k < lanes; ++k) {
        float xhat = CELL(bn_normalised)(x[k], mean[k], rstd[k]);
        float g = CELL(bn_counts)(gradient[k], mask, xhat, gamma[k], beta[k], y[k]);
        sum[j + k] += (double)g;
        products[j + k] += (double)g * (double)xhat;
        counted[k] = g;
    }
    if (writes) {
        CELL(lanes_put)(lanes, counted, row->to + j);
    }
}

BY_FORM void CELL(bn_backward_stats_rows)(int64_t n, const cpu_bn_backward *rows, bn_mask mask, bool shares,
                                          bool writes, double *restrict sum, double *restrict products)
{
    const cpu_bn_backward a = *rows;
    for (int64_t i = 0; i < a.m; ++i) {
        const CELL(bn_row) row = {.gradient = (const cell *)a.dy + i * a.ld_dy,
                                  .second = shares ? (const cell *)a.share + i * a.ld_share : NULL,
                                  .from = (const cell *)a.x + i * a.ld_x,
                                  .passed = mask == BN_MASK_Y ? (const cell *)a.y + i * a.ld_y : NULL,
                                  .to = writes ? (cell *)a.to + i * a.ld_to : NULL};
        CELL(fetch_ahead)(n, row.gradient, writes);
        CELL(fetch_ahead)(n, row.from, false);
        if (shares) {
            CELL(fetch_ahead)(n, row.second, false);
        }
        if (mask == BN_MASK_Y) {
            CELL(fetch_ahead)(n, row.passed, false);
        }
        BY_LANES(n, CELL(bn_backward_stats_lanes), &a, &row, mask, shares, writes, sum, products);
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

BY_FORM void CELL(bn_backward_apply_lanes)(int64_t lanes, int64_t j, const cpu_bn_backward *a, const CELL(bn_row) * row,
                                           bn_mask mask, const float *scales, const float *means_g,
                                           const float *means_product)
{
    const float *restrict mean = a->mean + j;
    const float *restrict rstd = a->rstd + j;
    const float *restrict gamma = mask == BN_MASK_X ? a->gamma + j : mean;
    const float *restrict beta = mask == BN_MASK_X ? a->beta + j : mean;
    const float *restrict scale = scales + j;
    const float *restrict mean_g = means_g + j;
    const float *restrict mean_product = means_product + j;
    float own[3][LANES];
    const float *x = CELL(lanes_in)(lanes, row->from + j, own[0]);
    const float *gradient = CELL(lanes_in)(lanes, row->gradient + j, own[1]);
    float *dx = CELL(lanes_out)(row->to + j, own[2]);
#pragma omp simd
    for (int64_t k = 0; k < lanes; ++k) {
        float xhat = CELL(bn_normalised)(x[k], mean[k], rstd[k]);
        float g = CELL(bn_counts)(gradient[k], mask, xhat, gamma[k], beta[k], 0.0F);
        dx[k] = scale[k] * (g - mean_g[k] - xhat * mean_product[k]);
    }
    CELL(lanes_put)(lanes, dx, row->to + j);
}

BY_FORM void CELL(bn_backward_apply_rows)(int64_t n, const cpu_bn_backward *rows, bn_mask mask,
                                          const float *coefficient)
{
    const cpu_bn_backward a = *rows;
    for (int64_t i = 0; i < a.m; ++i) {
        const CELL(bn_row) row = {.gradient = (const cell *)a.dy + i * a.ld_dy,
                                  .from = (const cell *)a.x + i * a.ld_x,
                                  .to = (cell *)a.to + i * a.ld_to};
        CELL(fetch_ahead)(n, row.gradient, false);
        CELL(fetch_ahead)(n, row.from, false);
        BY_LANES(n, CELL(bn_backward_apply_lanes), &a, &row, mask, coefficient, coefficient + n, coefficient + 2 * n);
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
