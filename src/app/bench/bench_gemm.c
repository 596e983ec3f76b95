/*
 * app/bench/bench_gemm.c: weft bench gemm: the rate of the three products of a linear layer, float32.
 *
 *      weft bench gemm --rows 16384,200000 --dims 64,256 --thread-counts 1,2
 *      weft bench gemm --rows 232965 --inputs 602 --dims 16
 *
 *      ab    Y [m, d] = X [m, k] W [k, d]         forward
 *      atb   D [k, d] = X^T [k, m] G [m, d]       gradient of the weights: long sums, small result
 *      abt   Z [m, k] = G [m, d] W^T [d, k]       gradient of the input
 *
 * A row for each number of threads, number of rows, inputs, width and product. Rates are shares of the machine limits:
 * a large square product, and the triad for the least traffic (each matrix once).
 */
#include <assert.h>
#include <inttypes.h>

#include "app/bench/bench.h"
#include "base/integer/integers.h"

enum { CHECKED_MOST = 4096, CHECKED_LEAST = 64, CHECKED_TERMS = 1 << 24 };
enum { ROWS, INPUTS, WIDTH, PRODUCT }; /* axes */
enum { AB, ATB, ABT, PRODUCTS };

/* clang-format off */
#define GEMM_ROW(C)                                                                                                    \
    C(TEXT, product, true) C(INT, threads, true) C(INT, rows, true) C(INT, inputs, true) C(INT, d, true)               \
    BENCH_SECONDS(C) C(REAL, gflop_per_s, true) C(REAL, gemm_flop_per_s, false) C(REAL, percent_of_gemm, true)         \
    C(REAL, percent_of_triad, true) C(REAL, error, false) C(VALID, valid, true)
/* clang-format on */
TABLE_ROW(gemm_row, GEMM_ROW);

/* One product: op(A) is [m, k], op(B) is [k, n]. */
typedef struct gemm_case {
    weft_hal *hal;
    int64_t inputs; /* of the layer */
    hal_gemm_args gemm;
    bench_array matrix[3]; /* a, b, c */
} gemm_case;

static weft_status operand(gemm_case *g, int i, int64_t rows, int64_t cols, hal_mat *matrix)
{
    assert(rows > 0 && cols > 0);
    WEFT_TRY(bench_array_create(g->hal, WEFT_DTYPE_F32, rows, cols, &g->matrix[i]));
    *matrix = tensor_mat(&g->matrix[i].on);
    bench_fill(i, g->matrix[i].host, rows * cols);
    return bench_array_upload(&g->matrix[i]);
}

static weft_status open_case(bench_run *run, void *self)
{
    gemm_case *g = self;
    const bool atb = run->at[PRODUCT] == ATB, abt = run->at[PRODUCT] == ABT;
    const int64_t m = run->at[ROWS], d = run->at[WIDTH], k = run->at[INPUTS] > 0 ? run->at[INPUTS] : d;
    g->hal = run->context->hal;
    g->gemm = (hal_gemm_args){.trans_a = atb, .trans_b = abt, .alpha = 1.0};
    g->inputs = k;
    WEFT_TRY(operand(g, 0, m, abt ? d : k, &g->gemm.a));
    WEFT_TRY(operand(g, 1, atb ? m : k, d, &g->gemm.b));
    return operand(g, 2, atb ? k : m, abt ? k : d, &g->gemm.c);
}

static void close_case(void *self)
{
    gemm_case *g = self;
    for (int i = 0; i < 3; i++) {
        bench_array_free(&g->matrix[i]);
    }
}

static weft_status run_once(void *self)
{
    const gemm_case *g = self;
    WEFT_TRY(hal_gemm(g->hal, &g->gemm));
    return g->hal->stream.sync(g->hal);
}

static bench_sum element(const void *self, int64_t at)
{
    const gemm_case *g = self;
    const hal_mat *a = &g->gemm.a, *b = &g->gemm.b;
    const float *left = g->matrix[0].host, *right = g->matrix[1].host;
    const int64_t row = at / g->gemm.c.cols, col = at % g->gemm.c.cols;
    bench_sum sum = {.found = (double)g->matrix[2].host[at]};
    for (int64_t i = 0; i < (g->gemm.trans_a ? a->rows : a->cols); i++) {
        const float x = g->gemm.trans_a ? left[i * a->cols + row] : left[row * a->cols + i];
        const float y = g->gemm.trans_b ? right[col * b->cols + i] : right[i * b->cols + col];
        bench_sum_add(&sum, (double)x, (double)y);
    }
    return sum;
}

static weft_status measure(bench_run *run, void *self)
{
    static const char *const products[PRODUCTS] = {"ab", "atb", "abt"};
    gemm_case *g = self;
    const machine_limits *limits = &run->limits;
    const char *product = products[run->at[PRODUCT]];
    const int64_t rows = run->at[ROWS], width = run->at[WIDTH];
    const double m = (double)rows, k = (double)g->inputs, d = (double)width;
    const int64_t some = CHECKED_TERMS / (g->gemm.trans_a ? g->gemm.a.rows : g->gemm.a.cols);
    bench_case c = {BENCH_KERNEL(g, &g->matrix[2], element, larger(CHECKED_LEAST, smaller(CHECKED_MOST, some))),
                    .elements = g->gemm.c.rows * g->gemm.c.cols, .flops = 2.0 * m * k * d,
                    .bytes = 4.0 * (m * k + k * d + m * d)};
    bench_result result;
    snprintf(c.what, sizeof c.what, "product %s of %" PRId64 " rows, %" PRId64 " inputs and width %" PRId64, product,
             rows, g->inputs, width);
    WEFT_TRY(bench_measure(run, &c, &result));
    const double seconds = result.time.seconds.median;
    return bench_add(
        run, &(gemm_row){BENCH_RESULT(&result), .product = product, .threads = run->context->placement.threads,
                         .rows = rows, .inputs = g->inputs, .d = width, .gflop_per_s = c.flops / seconds * 1e-9,
                         .gemm_flop_per_s = limits->gemm, .percent_of_gemm = 100.0 * c.flops / seconds / limits->gemm,
                         .percent_of_triad = 100.0 * c.bytes / seconds / limits->triad});
}

static weft_status begin(bench_run *run)
{
    run->axis[PRODUCT].count = PRODUCTS;
    bench_axis_numbers(run->options, OPT_ROWS, &run->axis[ROWS]);
    bench_axis_numbers(run->options, OPT_INPUTS, &run->axis[INPUTS]);
    bench_axis_numbers(run->options, OPT_DIMS, &run->axis[WIDTH]);
    return WEFT_OK;
}

const bench_kind bench_gemm = {BENCH_CASES(gemm_case, gemm_row), .bytes = sizeof(bench_run), .begin = begin};
