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

typedef struct gemm_case {
    weft_hal *hal;
    int64_t inputs; /* of the layer */
    hal_gemm_args gemm;
    bench_array a, b, c; /* its matrices */
} gemm_case;

static weft_status open_case(bench_run *run, void *self)
{
    gemm_case *g = self;
    weft_hal *hal = g->hal = run->context->hal;
    const bool atb = run->at[PRODUCT] == ATB, abt = run->at[PRODUCT] == ABT;
    const int64_t m = run->at[ROWS], d = run->at[WIDTH], k = run->at[INPUTS] > 0 ? run->at[INPUTS] : d;
    g->inputs = k;
    WEFT_TRY(bench_array_input(hal, 0, m, abt ? d : k, &g->a));
    WEFT_TRY(bench_array_input(hal, 1, atb ? m : k, d, &g->b));
    WEFT_TRY(bench_array_input(hal, 2, atb ? k : m, abt ? k : d, &g->c));
    const hal_mat a = tensor_mat(&g->a.on), b = tensor_mat(&g->b.on), c = tensor_mat(&g->c.on);
    g->gemm = (hal_gemm_args){.a = a, .b = b, .c = c, .trans_a = atb, .trans_b = abt, .alpha = 1.0};
    return WEFT_OK;
}

static void close_case(void *self)
{
    gemm_case *g = self;
    bench_array_free(&g->a);
    bench_array_free(&g->b);
    bench_array_free(&g->c);
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
    const weft_tensor *a = &g->a.on, *b = &g->b.on;
    const int64_t row = at / g->c.on.cols, col = at % g->c.on.cols;
    bench_sum sum = {.found = (double)g->c.host[at]};
    for (int64_t i = 0; i < (g->gemm.trans_a ? a->rows : a->cols); i++) {
        const float x = g->a.host[g->gemm.trans_a ? i * a->cols + row : row * a->cols + i];
        const float y = g->b.host[g->gemm.trans_b ? col * b->cols + i : i * b->cols + col];
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
    const int64_t some = CHECKED_TERMS / (g->gemm.trans_a ? g->a.on.rows : g->a.on.cols);
    bench_case c = {BENCH_KERNEL(g, &g->c, element, larger(CHECKED_LEAST, smaller(CHECKED_MOST, some))),
                    .elements = g->c.on.rows * g->c.on.cols, .flops = 2.0 * m * k * d,
                    .bytes = 4.0 * (m * k + k * d + m * d)};
    bench_result result;
    snprintf(run->what, sizeof run->what, "product %s of %" PRId64 " rows, %" PRId64 " inputs and width %" PRId64,
             product, rows, g->inputs, width);
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
