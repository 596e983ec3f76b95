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
#include "base/alloc.h"

enum { PRODUCTS = 3, LISTED_MAX = 64, CHECKED_MOST = 4096, CHECKED_LEAST = 64, CHECKED_TERMS = 1 << 24 };

/* clang-format off */
#define GEMM_ROW(C)                                                                                                    \
    C(TEXT, product, true) C(INT, threads, true) C(INT, rows, true) C(INT, inputs, true) C(INT, d, true)               \
    BENCH_SECONDS(C) C(REAL, gflop_per_s, true) C(REAL, gemm_flop_per_s, false) C(REAL, percent_of_gemm, true)         \
    C(REAL, percent_of_triad, true) C(REAL, error, false) C(VALID, valid, true)
/* clang-format on */
TABLE_ROW(gemm_row, GEMM_ROW);

typedef struct gemm_bench {
    bench_run run;
    int64_t rows[LISTED_MAX], inputs[LISTED_MAX], widths[LISTED_MAX];
    int row_count, input_count, width_count;
} gemm_bench;

/* One product: op(A) is [m, k], op(B) is [k, n]. */
typedef struct gemm_case {
    weft_hal *hal;
    hal_gemm_args gemm;
    weft_tensor matrix[3]; /* a, b, c */
    float *host[3];
} gemm_case;

static weft_status operand(gemm_case *g, int i, int64_t rows, int64_t cols, hal_mat *matrix)
{
    WEFT_TRY(tensor_create(g->hal, WEFT_DTYPE_F32, rows, cols, WEFT_MEM_WORKSPACE, &g->matrix[i]));
    *matrix = tensor_mat(&g->matrix[i]);
    WEFT_TRY(WEFT_NEW(&g->host[i], rows * cols, WEFT_MEM_WORKSPACE));
    bench_fill(i, g->host[i], rows * cols);
    return tensor_upload(&g->matrix[i], g->host[i]);
}

static weft_status open_case(gemm_case *g, int product, int64_t m, int64_t k, int64_t d)
{
    const bool atb = product == 1, abt = product == 2;
    assert(m > 0 && k > 0 && d > 0);
    g->gemm = (hal_gemm_args){.trans_a = atb, .trans_b = abt, .alpha = 1.0};
    WEFT_TRY(operand(g, 0, m, abt ? d : k, &g->gemm.a));
    WEFT_TRY(operand(g, 1, atb ? m : k, d, &g->gemm.b));
    return operand(g, 2, atb ? k : m, abt ? k : d, &g->gemm.c);
}

static void close_case(gemm_case *g)
{
    for (int i = 0; i < 3; i++) {
        tensor_destroy(&g->matrix[i]);
        weft_free(g->host[i]);
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
    const int64_t row = at / g->gemm.c.cols, col = at % g->gemm.c.cols;
    bench_sum sum = {.found = (double)g->host[2][at]};
    for (int64_t i = 0; i < (g->gemm.trans_a ? a->rows : a->cols); i++) {
        const float x = g->gemm.trans_a ? g->host[0][i * a->cols + row] : g->host[0][row * a->cols + i];
        const float y = g->gemm.trans_b ? g->host[1][col * b->cols + i] : g->host[1][i * b->cols + col];
        bench_sum_add(&sum, (double)x, (double)y);
    }
    return sum;
}

static weft_status add_case(bench_run *run, gemm_case *g, int product, int64_t m, int64_t k, int64_t d)
{
    static const char *const products[PRODUCTS] = {"ab", "atb", "abt"};
    const machine_limits *limits = &run->team->limits;
    const int64_t some = CHECKED_TERMS / (product == 1 ? m : product == 2 ? d : k);
    const int64_t checked = some < CHECKED_LEAST ? CHECKED_LEAST : some > CHECKED_MOST ? CHECKED_MOST : some;
    bench_case c = {.side = {run_once, g, NULL},
                    .result = &g->matrix[2],
                    .host = g->host[2],
                    .elements = g->gemm.c.rows * g->gemm.c.cols,
                    .element = element,
                    .flops = 2.0 * (double)m * (double)k * (double)d,
                    .bytes = 4.0 * ((double)m * (double)k + (double)k * (double)d + (double)m * (double)d)};
    bench_result result;
    c.samples = checked < c.elements ? checked : c.elements;
    snprintf(c.what, sizeof c.what, "product %s of %" PRId64 " rows, %" PRId64 " inputs and width %" PRId64,
             products[product], m, k, d);
    WEFT_TRY(bench_measure(run, &c, &result));
    const double seconds = result.time.seconds.median;
    return bench_add(run, &(gemm_row){BENCH_RESULT(&result), .product = products[product],
                                      .threads = run->team->place.threads, .rows = m, .inputs = k, .d = d,
                                      .gflop_per_s = c.flops / seconds * 1e-9, .gemm_flop_per_s = limits->gemm,
                                      .percent_of_gemm = 100.0 * c.flops / seconds / limits->gemm,
                                      .percent_of_triad = 100.0 * c.bytes / seconds / limits->triad});
}

static weft_status begin(bench_run *run)
{
    gemm_bench *b = (gemm_bench *)run;
    b->row_count = option_list(run->options, OPT_ROWS, b->rows, LISTED_MAX);
    b->input_count = option_list(run->options, OPT_INPUTS, b->inputs, LISTED_MAX);
    b->width_count = option_list(run->options, OPT_DIMS, b->widths, LISTED_MAX);
    WEFT_CHECK(b->row_count <= LISTED_MAX && b->input_count <= LISTED_MAX && b->width_count <= LISTED_MAX,
               WEFT_ERR_USAGE, "--rows, --inputs and --dims take at most %d numbers", LISTED_MAX);
    return bench_begin(
        run, &(bench_table){BENCH_ROWS(gemm_row), .cases = PRODUCTS * b->row_count * b->input_count * b->width_count});
}

static weft_status measure(bench_run *run)
{
    const gemm_bench *b = (const gemm_bench *)run;
    for (int i = 0; i < b->row_count * b->input_count * b->width_count * PRODUCTS; i++) {
        const int64_t m = b->rows[i / PRODUCTS / b->width_count / b->input_count];
        const int64_t k = b->inputs[i / PRODUCTS / b->width_count % b->input_count];
        const int64_t d = b->widths[i / PRODUCTS % b->width_count], inputs = k > 0 ? k : d;
        gemm_case g = {.hal = run->team->hal};
        weft_status status = open_case(&g, i % PRODUCTS, m, inputs, d);
        status = status == WEFT_OK ? add_case(run, &g, i % PRODUCTS, m, inputs, d) : status;
        close_case(&g);
        WEFT_TRY(status);
    }
    return WEFT_OK;
}

const bench_kind bench_gemm = {.bytes = sizeof(gemm_bench), .begin = begin, .measure = measure};
