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
 * Lists make a matrix: a row for each number of threads, number of rows, inputs, width and product. Elements of a
 * result, evenly over it, first and last among them, are computed again in double precision before its rate is
 * printed; a wrong result gets no rate. Rates are shares of the machine limits: a large square product, and the triad
 * for the least traffic (each matrix once). Memory: the three matrices on host and device.
 */
#include "app/bench/bench_gemm.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "app/bench/bench_check.h"
#include "base/alloc.h"
#include "tensor/tensor.h"

enum { PRODUCTS = 3, LISTED_MAX = 64, CHECKED_MOST = 4096, CHECKED_LEAST = 64, CHECKED_TERMS = 1 << 24 };

/* One product: op(A) is [m, k], op(B) is [k, n]. */
typedef struct gemm_case {
    weft_hal *hal;
    hal_gemm_args gemm;
    weft_tensor matrix[3]; /* a, b, c */
    float *host[3];
} gemm_case;

static int64_t count_of(const hal_mat *matrix)
{
    return matrix->rows * matrix->cols;
}

static weft_status operand(gemm_case *g, int i, int64_t rows, int64_t cols, hal_mat *matrix)
{
    WEFT_TRY(tensor_create(g->hal, WEFT_DTYPE_F32, rows, cols, WEFT_MEM_WORKSPACE, &g->matrix[i]));
    *matrix = tensor_mat(&g->matrix[i]);
    WEFT_TRY(WEFT_NEW(&g->host[i], rows * cols, WEFT_MEM_WORKSPACE));
    bench_fill(i, g->host[i], rows * cols);
    return tensor_upload(&g->matrix[i], g->host[i]);
}

static weft_status open_case(gemm_case *g, const gemm_row *row)
{
    const int64_t m = row->rows, k = row->inputs, d = row->d;
    const bool atb = strcmp(row->product, "atb") == 0, abt = strcmp(row->product, "abt") == 0;
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

/* ---- the check ---- */

static bench_sum element(const gemm_case *g, int64_t row, int64_t col)
{
    const hal_mat *a = &g->gemm.a, *b = &g->gemm.b;
    const int64_t terms = g->gemm.trans_a ? a->rows : a->cols;
    bench_sum sum = {.terms = 0};
    for (int64_t i = 0; i < terms; i++) {
        const float x = g->gemm.trans_a ? g->host[0][i * a->cols + row] : g->host[0][row * a->cols + i];
        const float y = g->gemm.trans_b ? g->host[1][col * b->cols + i] : g->host[1][i * b->cols + col];
        bench_sum_add(&sum, (double)x, (double)y);
    }
    return sum;
}

static weft_status check(void *self, double *error)
{
    const gemm_case *g = self;
    const hal_mat *c = &g->gemm.c;
    const int64_t terms = g->gemm.trans_a ? g->gemm.a.rows : g->gemm.a.cols, all = count_of(c);
    const int64_t some = CHECKED_TERMS / terms;
    const int64_t most = some < CHECKED_LEAST ? CHECKED_LEAST : some > CHECKED_MOST ? CHECKED_MOST : some;
    const int64_t count = most < all ? most : all;
    WEFT_TRY(tensor_download(&g->matrix[2], g->host[2]));
    double worst = 0.0;
#pragma omp parallel for schedule(static) reduction(max : worst)
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = count > 1 ? i * (all - 1) / (count - 1) : 0;
        const bench_sum sum = element(g, at / c->cols, at % c->cols);
        worst = bench_sum_worst(worst, &sum, (double)g->host[2][at], 0.0);
    }
    *error = worst;
    return WEFT_OK;
}

weft_status bench_gemm_case(bench_run *run, gemm_row *row)
{
    gemm_case g = {.hal = run->team->hal};
    bench_case c = {.side = {run_once, &g},
                    .check = check,
                    .flops = 2.0 * (double)row->rows * (double)row->inputs * (double)row->d};
    bench_result result;
    weft_status status = open_case(&g, row);
    c.bytes = (double)sizeof(float) * (double)(count_of(&g.gemm.a) + count_of(&g.gemm.b) + count_of(&g.gemm.c));
    snprintf(c.what, sizeof c.what, "product %s of %" PRId64 " rows, %" PRId64 " inputs and width %" PRId64,
             row->product, row->rows, row->inputs, row->d);
    status = status == WEFT_OK ? bench_measure(run, &c, &result) : status;
    if (status == WEFT_OK) {
        const double seconds = result.time.seconds.median;
        const machine_limits *limits = &run->team->limits;
        *row = (gemm_row){.product = row->product,
                          .threads = run->team->place.threads,
                          .rows = row->rows,
                          .inputs = row->inputs,
                          .d = row->d,
                          BENCH_TIMES(result.time.seconds),
                          .gflop_per_s = c.flops / seconds * 1e-9,
                          .gemm_flop_per_s = limits->gemm,
                          .percent_of_gemm = 100.0 * c.flops / seconds / limits->gemm,
                          .percent_of_triad = 100.0 * c.bytes / seconds / limits->triad,
                          .error = result.error,
                          .valid = result.valid};
    }
    close_case(&g);
    return status;
}

/* ---- the matrix ---- */

typedef struct gemm_bench {
    bench_run run;
    int64_t rows[LISTED_MAX], inputs[LISTED_MAX], widths[LISTED_MAX];
    int row_count, input_count, width_count;
} gemm_bench;

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

/* inputs 0: as many as outputs. */
static weft_status measure(bench_run *run)
{
    static const char *const products[PRODUCTS] = {"ab", "atb", "abt"};
    const gemm_bench *b = (const gemm_bench *)run;
    for (int i = 0; i < b->row_count * b->input_count * b->width_count * PRODUCTS; i++) {
        const int64_t d = b->widths[i / PRODUCTS % b->width_count];
        const int64_t inputs = b->inputs[i / PRODUCTS / b->width_count % b->input_count];
        gemm_row row = {.product = products[i % PRODUCTS],
                        .rows = b->rows[i / PRODUCTS / b->width_count / b->input_count],
                        .inputs = inputs > 0 ? inputs : d,
                        .d = d};
        WEFT_TRY(bench_gemm_case(run, &row));
        WEFT_TRY(bench_add(run, &row));
    }
    return WEFT_OK;
}

const bench_kind bench_gemm = {.bytes = sizeof(gemm_bench), .begin = begin, .measure = measure};
