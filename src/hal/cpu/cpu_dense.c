/*
 * hal/cpu/cpu_dense.c: drivers of the element-wise dense operations: rows are cut evenly over the threads. f64 runs on
 * the reference operations.
 */
#include <string.h>

#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/kernels.h"

static weft_status cpu_axpby(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, double alpha, const void *x,
                             int64_t ldx, double beta, void *y, int64_t ldy)
{
    const cpu_state *state = cpu_state_of(hal);
    if (dtype != WEFT_DTYPE_F32) {
        return state->ref.dense.axpby(hal, dtype, m, n, alpha, x, ldx, beta, y, ldy);
    }
    const float *from = x;
    float *to = y;
    int parts = cpu_parts(hal, m * n);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(m, parts, part, &begin, &end);
        state->kernels->axpby(end - begin, n, (float)alpha, from + begin * ldx, ldx, (float)beta, to + begin * ldy,
                              ldy);
    }
    return WEFT_OK;
}

static weft_status cpu_scale_rows(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *scale,
                                  const void *x, int64_t ldx, void *y, int64_t ldy)
{
    const cpu_state *state = cpu_state_of(hal);
    if (dtype != WEFT_DTYPE_F32) {
        return state->ref.dense.scale_rows(hal, dtype, m, n, scale, x, ldx, y, ldy);
    }
    const float *factor = scale;
    const float *from = x;
    float *to = y;
    int parts = cpu_parts(hal, m * n);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(m, parts, part, &begin, &end);
        state->kernels->scale_rows(end - begin, n, factor + begin, from + begin * ldx, ldx, to + begin * ldy, ldy);
    }
    return WEFT_OK;
}

static weft_status cpu_gather_rows(weft_hal *hal, weft_dtype dtype, int64_t count, int64_t n, const int32_t *index,
                                   const void *x, int64_t ldx, void *y, int64_t ldy)
{
    const cpu_state *state = cpu_state_of(hal);
    if (dtype != WEFT_DTYPE_F32) {
        return state->ref.dense.gather_rows(hal, dtype, count, n, index, x, ldx, y, ldy);
    }
    const float *from = x;
    float *to = y;
    int parts = cpu_parts(hal, count * n);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(count, parts, part, &begin, &end);
        state->kernels->gather_rows(end - begin, n, index + begin, from, ldx, to + begin * ldy, ldy);
    }
    return WEFT_OK;
}

/* Indices are distinct: threads never write the same row. */
static weft_status cpu_scatter_rows(weft_hal *hal, weft_dtype dtype, int64_t count, int64_t n, const int32_t *index,
                                    bool add, const void *x, int64_t ldx, void *y, int64_t ldy)
{
    const cpu_state *state = cpu_state_of(hal);
    if (dtype != WEFT_DTYPE_F32) {
        return state->ref.dense.scatter_rows(hal, dtype, count, n, index, add, x, ldx, y, ldy);
    }
    const float *from = x;
    float *to = y;
    int parts = cpu_parts(hal, count * n);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(count, parts, part, &begin, &end);
        state->kernels->scatter_rows(end - begin, n, index + begin, add, from + begin * ldx, ldx, to, ldy);
    }
    return WEFT_OK;
}

static weft_status cpu_col_sum(weft_hal *hal, weft_dtype dtype, int64_t m, int64_t n, const void *a, int64_t lda,
                               double beta, void *out)
{
    const cpu_state *state = cpu_state_of(hal);
    if (dtype != WEFT_DTYPE_F32) {
        return state->ref.dense.col_sum(hal, dtype, m, n, a, lda, beta, out);
    }
    const float *from = a;
    float *to = out;
    double *partial = NULL;
    int parts = cpu_parts(hal, m * n);
    WEFT_TRY(cpu_partials(hal, parts, n, &partial));
    int64_t stride = cpu_partial_stride(n);
#pragma omp parallel for schedule(static) num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
        int64_t begin = 0;
        int64_t end = 0;
        hal_split_rows(m, parts, part, &begin, &end);
        double *sum = partial + part * stride;
        memset(sum, 0, (size_t)n * sizeof *sum);
        state->kernels->col_sum(end - begin, n, from + begin * lda, lda, sum);
    }
    for (int64_t j = 0; j < n; ++j) {
        double sum = beta == 0.0 ? 0.0 : beta * (double)to[j];
        for (int part = 0; part < parts; ++part) {
            sum += partial[part * stride + j];
        }
        to[j] = (float)sum;
    }
    return WEFT_OK;
}

void cpu_dense_ops(hal_dense_ops *ops)
{
    *ops = (hal_dense_ops){.gemm = cpu_gemm,
                           .col_sum = cpu_col_sum,
                           .axpby = cpu_axpby,
                           .scale_rows = cpu_scale_rows,
                           .gather_rows = cpu_gather_rows,
                           .scatter_rows = cpu_scatter_rows};
}
