/* app/bench/bench_check.c: see app/bench/bench.h. */
#include "app/bench/bench.h"

#include <assert.h>
#include <math.h>

#include "base/alloc.h"

float bench_input(int rank, int64_t i)
{
    uint64_t bits = ((uint64_t)i + 1) * 0x9E3779B97F4A7C15U + (uint64_t)rank * 0xD1B54A32D192ED03U;
    bits ^= bits >> 29;
    return (float)(uint32_t)(bits * 0xBF58476D1CE4E5B9U >> 40) * 0x1p-23F - 1.0F;
}

void bench_fill(int rank, float *x, int64_t count)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++) {
        x[i] = bench_input(rank, i);
    }
}

void bench_fill_gradient(int rank, float *x, int64_t count)
{
    bench_fill(rank, x, count);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++) {
        x[i] *= x[i] * x[i];
    }
}

double bench_sum_error(const float *sum, int64_t begin, int64_t count, int ranks, comm_wire wire)
{
    assert(ranks > 0 && begin >= 0);
    const double wired = wire == COMM_WIRE_BF16 ? 0x1p-8 : wire == COMM_WIRE_FP16 ? 0x1p-11 : 0.0;
    const double unit = ranks * 0x1p-24 + 2.0 * wired + wired * wired; /* relative to the sum of magnitudes */
    double worst = 0.0;
#pragma omp parallel for schedule(static) reduction(max : worst)
    for (int64_t i = begin; i < begin + count; i++) {
        double exact = 0.0, magnitude = 0.0;
        for (int r = 0; r < ranks; r++) {
            const double x = (double)bench_input(r, i);
            exact += x;
            magnitude += fabs(x);
        }
        worst = bench_worse(worst, fabs((double)sum[i] - exact) / (unit * magnitude + 0x1p-100));
    }
    return worst;
}

weft_status bench_array_create(weft_hal *hal, weft_dtype dtype, int64_t rows, int64_t cols, bench_array *a)
{
    WEFT_TRY(tensor_create(hal, dtype, rows, cols, WEFT_MEM_WORKSPACE, &a->on));
    return WEFT_NEW(&a->host, rows * cols, WEFT_MEM_WORKSPACE);
}

weft_status bench_array_input(weft_hal *hal, int rank, int64_t rows, int64_t cols, bench_array *a)
{
    WEFT_TRY(bench_array_create(hal, WEFT_DTYPE_F32, rows, cols, a));
    bench_fill(rank, a->host, rows * cols);
    return bench_array_copy(a, BENCH_UP);
}

weft_status bench_array_copy(bench_array *a, bench_way way)
{
    const bool up = way == BENCH_UP;
    weft_hal *hal = a->on.hal;
    weft_tensor wide = {.hal = NULL};
    weft_status status = WEFT_OK;
    if (a->on.dtype == WEFT_DTYPE_F32) {
        return up ? tensor_upload(&a->on, a->host) : tensor_download(&a->on, a->host);
    }
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, a->on.rows, a->on.cols, WEFT_MEM_WORKSPACE, &wide));
    const hal_mat on = tensor_mat(&a->on), crossing = tensor_mat(&wide);
    status = up ? tensor_upload(&wide, a->host) : WEFT_OK;
    status =
        status == WEFT_OK ? hal_cast(hal, &(hal_cast_args){.x = up ? crossing : on, .y = up ? on : crossing}) : status;
    status = status == WEFT_OK && !up ? tensor_download(&wide, a->host) : status;
    tensor_destroy(&wide);
    return status;
}

void bench_array_free(bench_array *a)
{
    tensor_destroy(&a->on);
    weft_free(a->host);
    a->host = NULL;
}
