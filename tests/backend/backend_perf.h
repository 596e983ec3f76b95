/*
 * backend/backend_perf.h: rates of operations at the sizes of full-batch training, as a Markdown table. Medians of
 * several runs after a warm-up; CPU time for one thread, so that a busy machine matters less. The validity of the
 * operations is the business of the tests that run before.
 */
#pragma once

#include "base/clock.h"
#include "hal/hal.h"
#include "support/random.h"
#include "support/test.h"

enum { PERF_REPEATS = 7 };

/* Operands of one measured operation; what they mean depends on it. */
typedef struct perf_case {
    int64_t m, n, k;
    float *a, *b, *c;
    float *row; /* a vector as long as a row or column */
    double *stats;
    int32_t *index;
    uint8_t *mask;
} perf_case;

typedef struct perf_row {
    const char *name;
    int64_t m, n, k;
    double flops; /* an element of m x n (x k when k > 0) */
    double bytes; /* an element of m x n; for k > 0: of all three matrices once */
    void (*run)(weft_hal *hal, perf_case *p);
} perf_row;

static void *perf_alloc(weft_hal *hal, int64_t count, size_t size)
{
    void *device = NULL;
    ASSERT_OK(hal->mem.alloc(hal, (size_t)count * size, WEFT_MEM_GENERAL, &device));
    ASSERT_OK(hal->mem.zero(hal, device, (size_t)count * size));
    return device;
}

static float *perf_floats(weft_hal *hal, int64_t count)
{
    float *device = perf_alloc(hal, count, sizeof(float));
    uint64_t seed = 1;
    for (int64_t i = 0; i < count; ++i) { /* cpu backends: device memory is the host's */
        device[i] = (float)(test_random_bits(&seed) >> 40) * 0x1.0p-24F - 0.5F;
    }
    return device;
}

static hal_mat perf_mat(float *x, int64_t rows, int64_t cols)
{
    return hal_mat_of(x, WEFT_DTYPE_F32, rows, cols, cols);
}

static hal_mat perf_row_of(float *x, int64_t cols)
{
    return hal_row_of(x, WEFT_DTYPE_F32, cols);
}

#define PERF(op, ...) ASSERT_OK(hal_##op(hal, &(hal_##op##_args){__VA_ARGS__}))

static void perf_nn(weft_hal *hal, perf_case *p)
{
    PERF(gemm, .alpha = 1.0, .a = perf_mat(p->a, p->m, p->k), .b = perf_mat(p->b, p->k, p->n),
         .c = perf_mat(p->c, p->m, p->n), .bias = perf_row_of(p->row, p->n));
}

static void perf_tn(weft_hal *hal, perf_case *p)
{
    PERF(gemm, .alpha = 1.0, .a = perf_mat(p->a, p->k, p->m), .b = perf_mat(p->b, p->k, p->n),
         .c = perf_mat(p->c, p->m, p->n), .trans_a = true, .beta = 1.0);
}

static void perf_nt(weft_hal *hal, perf_case *p)
{
    PERF(gemm, .alpha = 1.0, .a = perf_mat(p->a, p->m, p->k), .b = perf_mat(p->b, p->n, p->k),
         .c = perf_mat(p->c, p->m, p->n), .trans_b = true);
}

static void perf_axpby(weft_hal *hal, perf_case *p)
{
    PERF(axpby, .alpha = 2.0, .x = perf_mat(p->a, p->m, p->n), .beta = 0.5, .y = perf_mat(p->c, p->m, p->n));
}

static void perf_copy(weft_hal *hal, perf_case *p)
{
    ASSERT_OK(hal->mem.copy(hal, p->c, p->a, (size_t)(p->m * p->n) * sizeof(float)));
}

static void perf_col_sum(weft_hal *hal, perf_case *p)
{
    PERF(col_sum, .x = perf_mat(p->a, p->m, p->n), .out = perf_row_of(p->row, p->n));
}

static void perf_gather(weft_hal *hal, perf_case *p)
{
    PERF(gather_rows, .x = perf_mat(p->a, p->m, p->n), .index = hal_column_from(p->index, WEFT_DTYPE_I32, p->m),
         .y = perf_mat(p->c, p->m, p->n));
}

static void perf_reduce(weft_hal *hal, perf_case *p)
{
    PERF(reduce, .left = perf_mat(p->a, p->m, p->n), .right = perf_mat(p->c, p->m, p->n),
         .to = perf_mat(p->c, p->m, p->n));
}

static void perf_cast(weft_hal *hal, perf_case *p)
{
    PERF(cast, .x = perf_mat(p->a, p->m, p->n), .y = hal_mat_of(p->c, WEFT_DTYPE_BF16, p->m, p->n, p->n));
}

static void perf_relu(weft_hal *hal, perf_case *p)
{
    PERF(act_forward, .x = perf_mat(p->a, p->m, p->n), .relu = true, .y = perf_mat(p->c, p->m, p->n));
}

static const hal_dropout perf_mask = {.probability = 0.5F, .seed = 1, .purpose = 1024};

static void perf_dropout(weft_hal *hal, perf_case *p)
{
    PERF(act_forward, .x = perf_mat(p->a, p->m, p->n), .relu = true, .dropout = perf_mask,
         .y = perf_mat(p->c, p->m, p->n));
}

static void perf_act_backward(weft_hal *hal, perf_case *p)
{
    PERF(act_backward, .dy = perf_mat(p->a, p->m, p->n), .y = perf_mat(p->c, p->m, p->n), .relu = true,
         .dropout = perf_mask, .dx = perf_mat(p->c, p->m, p->n));
}

static void perf_bn_stats(weft_hal *hal, perf_case *p)
{
    PERF(bn_stats, .x = perf_mat(p->a, p->m, p->n), .stats = hal_mat_of(p->stats, WEFT_DTYPE_F64, 2, p->n, p->n));
}

static void perf_bn_apply(weft_hal *hal, perf_case *p)
{
    PERF(bn_apply, .x = perf_mat(p->a, p->m, p->n), .mean = perf_row_of(p->row, p->n),
         .rstd = perf_row_of(p->row, p->n), .gamma = perf_row_of(p->row, p->n), .beta = perf_row_of(p->row, p->n),
         .y = perf_mat(p->c, p->m, p->n));
}

static void perf_bn_backward(weft_hal *hal, perf_case *p)
{
    PERF(bn_backward_stats, .dy = perf_mat(p->a, p->m, p->n), .x = perf_mat(p->c, p->m, p->n),
         .mean = perf_row_of(p->row, p->n), .rstd = perf_row_of(p->row, p->n),
         .stats = hal_mat_of(p->stats, WEFT_DTYPE_F64, 2, p->n, p->n));
}

static void perf_softmax(weft_hal *hal, perf_case *p)
{
    PERF(softmax_xent, .x = perf_mat(p->a, p->m, p->n), .label = hal_column_from(p->index, WEFT_DTYPE_I32, p->m),
         .mask = hal_column_from(p->mask, WEFT_DTYPE_U8, p->m), .scale = 1.0,
         .loss = hal_mat_of(p->stats, WEFT_DTYPE_F64, 1, 1, 1), .dx = perf_mat(p->c, p->m, p->n));
}

static void perf_accuracy(weft_hal *hal, perf_case *p)
{
    int64_t counts[2] = {0};
    PERF(accuracy, .x = perf_mat(p->a, p->m, p->n), .label = hal_column_from(p->index, WEFT_DTYPE_I32, p->m),
         .mask = hal_column_from(p->mask, WEFT_DTYPE_U8, p->m), .counts = hal_mat_of(counts, WEFT_DTYPE_I64, 1, 2, 2));
}

static const perf_row perf_rows[] = {
    {"gemm nn", 232965, 16, 602, 2, 4, perf_nn},
    {"gemm nn", 232965, 32, 602, 2, 4, perf_nn},
    {"gemm nn", 232965, 41, 32, 2, 4, perf_nn},
    {"gemm nn", 232965, 64, 602, 2, 4, perf_nn},
    {"gemm nn", 232965, 256, 602, 2, 4, perf_nn},
    {"gemm nn", 232965, 256, 256, 2, 4, perf_nn},
    {"gemm nn", 2048, 2048, 2048, 2, 4, perf_nn},
    {"gemm tn", 602, 16, 232965, 2, 4, perf_tn},
    {"gemm tn", 602, 32, 232965, 2, 4, perf_tn},
    {"gemm tn", 32, 41, 232965, 2, 4, perf_tn},
    {"gemm tn", 602, 256, 232965, 2, 4, perf_tn},
    {"gemm tn", 256, 256, 232965, 2, 4, perf_tn},
    {"gemm nt", 232965, 602, 16, 2, 4, perf_nt},
    {"gemm nt", 232965, 602, 32, 2, 4, perf_nt},
    {"gemm nt", 232965, 32, 41, 2, 4, perf_nt},
    {"gemm nt", 232965, 256, 256, 2, 4, perf_nt},
    {"copy", 232965, 602, 0, 0, 8, perf_copy},
    {"axpby", 232965, 602, 0, 3, 12, perf_axpby},
    {"col_sum", 232965, 256, 0, 1, 4, perf_col_sum},
    {"gather_rows", 232965, 64, 0, 0, 8, perf_gather},
    {"reduce", 232965, 602, 0, 1, 12, perf_reduce},
    {"cast", 232965, 602, 0, 0, 6, perf_cast},
    {"relu", 232965, 602, 0, 1, 8, perf_relu},
    {"dropout", 232965, 602, 0, 1, 8, perf_dropout},
    {"dropout", 8765000, 16, 0, 1, 8, perf_dropout},
    {"act_backward", 232965, 602, 0, 1, 12, perf_act_backward},
    {"bn_stats", 232965, 256, 0, 3, 4, perf_bn_stats},
    {"bn_apply", 232965, 256, 0, 4, 8, perf_bn_apply},
    {"bn_backward_stats", 232965, 256, 0, 5, 8, perf_bn_backward},
    {"softmax_xent", 232965, 41, 0, 4, 8, perf_softmax},
    {"accuracy", 232965, 41, 0, 1, 4, perf_accuracy},
};

static int perf_by_time(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double perf_median(weft_hal *hal, const perf_row *row, perf_case *p)
{
    double seconds[PERF_REPEATS];
    row->run(hal, p);
    for (int i = 0; i < PERF_REPEATS; ++i) {
        double start = hal->threads == 1 ? clock_cpu_seconds() : clock_seconds();
        row->run(hal, p);
        seconds[i] = (hal->threads == 1 ? clock_cpu_seconds() : clock_seconds()) - start;
    }
    qsort(seconds, PERF_REPEATS, sizeof seconds[0], perf_by_time);
    return seconds[PERF_REPEATS / 2];
}

static void perf_measure(weft_hal *hal, const perf_row *row)
{
    int64_t longest = row->m > row->n ? row->m : row->n;
    perf_case p = {.m = row->m, .n = row->n, .k = row->k};
    p.a = perf_floats(hal, row->m * (row->k > 0 ? row->k : row->n));
    p.b = row->k > 0 ? perf_floats(hal, row->k * row->n) : NULL;
    p.c = perf_floats(hal, row->m * row->n);
    p.row = perf_floats(hal, longest);
    p.stats = perf_alloc(hal, 2 * row->n, sizeof(double));
    p.index = perf_alloc(hal, row->m, sizeof(int32_t));
    p.mask = perf_alloc(hal, row->m, 1);
    memset(p.mask, 1, (size_t)row->m); /* every row counts */
    bool gathers = row->run == perf_gather;
    for (int64_t i = 0; i < row->m; ++i) {
        p.index[i] = (int32_t)(i * 7919 % (gathers ? row->m : row->n));
    }
    double elements = (double)row->m * (double)row->n;
    double inner = row->k > 0 ? (double)row->k : 1.0;
    double bytes =
        row->k == 0 ? elements * row->bytes : row->bytes * (elements + (double)row->m * inner + inner * (double)row->n);
    double seconds = perf_median(hal, row, &p);
    printf("| %s | %ld x %ld x %ld | %.5f | %.1f | %.1f |\n", row->name, (long)row->m, (long)row->n, (long)row->k,
           seconds, bytes / seconds * 1e-9, elements * inner * row->flops / seconds * 1e-9);
    fflush(stdout);
    void *all[] = {p.a, p.b, p.c, p.row, p.stats, p.index, p.mask};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        hal->mem.free(hal, all[i]);
    }
}

/* Rates of the rows whose name holds `filter`. Returns the exit code. */
static int backend_perf(const char *resource, int threads, const char *filter)
{
    weft_hal *hal = NULL;
    if (weft_hal_open(resource, threads, &hal) != WEFT_OK) {
        fprintf(stderr, "%s\n", weft_error_message());
        return 1;
    }
    if (!hal_host_visible(hal)) {
        fprintf(stderr, "%s: rates of a backend without host-visible memory say nothing\n", resource);
        weft_hal_close(hal);
        return 1;
    }
    printf("backend %s, %d threads\n\n| op | m x n x k | seconds | GB/s | GFLOP/s |\n|---|---|---|---|---|\n", resource,
           threads);
    for (size_t i = 0; i < sizeof perf_rows / sizeof perf_rows[0]; ++i) {
        if (strstr(perf_rows[i].name, filter) != NULL) {
            perf_measure(hal, &perf_rows[i]);
        }
    }
    weft_hal_close(hal);
    return 0;
}
