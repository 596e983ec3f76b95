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

enum { LISTED_MAX = 64, CHECKED_MOST = 4096, CHECKED_LEAST = 64, CHECKED_TERMS = 1 << 24 };

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

static weft_status run_once(void *argument)
{
    const gemm_case *g = argument;
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

static weft_status check(gemm_case *g, double *worst)
{
    const hal_mat *c = &g->gemm.c;
    const int64_t terms = g->gemm.trans_a ? g->gemm.a.rows : g->gemm.a.cols, all = count_of(c);
    int64_t count = CHECKED_TERMS / terms;
    count = count < CHECKED_LEAST ? CHECKED_LEAST : count > CHECKED_MOST ? CHECKED_MOST : count;
    count = count < all ? count : all;
    WEFT_TRY(tensor_download(&g->matrix[2], g->host[2]));
    double most = 0.0;
#pragma omp parallel for schedule(static) reduction(max : most)
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = count > 1 ? i * (all - 1) / (count - 1) : 0;
        const bench_sum sum = element(g, at / c->cols, at % c->cols);
        most = bench_sum_worst(most, &sum, (double)g->host[2][at], 0.0);
    }
    *worst = most;
    return WEFT_OK;
}

weft_status bench_gemm_case(weft_hal *hal, int repeats, gemm_row *row, double *bytes)
{
    gemm_case g = {.hal = hal};
    bench_quartiles seconds;
    weft_status status = open_case(&g, row);
    status = status == WEFT_OK ? bench_time(run_once, &g, repeats, &seconds) : status;
    status = status == WEFT_OK ? check(&g, &row->error) : status;
    if (status == WEFT_OK) {
        BENCH_SET_SECONDS(row, seconds);
        row->valid = row->error <= 1.0;
        *bytes = (double)sizeof(float) * (double)(count_of(&g.gemm.a) + count_of(&g.gemm.b) + count_of(&g.gemm.c));
    }
    close_case(&g);
    return status;
}

/* ---- the matrix ---- */

typedef struct gemm_bench {
    const weft_options *options;
    int64_t rows[LISTED_MAX], inputs[LISTED_MAX], widths[LISTED_MAX];
    int row_count, input_count, width_count;
    bench_grid grid;
} gemm_bench;

static weft_status run_product(gemm_bench *b, bench_team *team, gemm_row row)
{
    double bytes = 0.0;
    const double flops = 2.0 * (double)row.rows * (double)row.inputs * (double)row.d;
    WEFT_TRY(bench_gemm_case(team->hal, (int)option_int(b->options, OPT_REPEATS), &row, &bytes));
    const double seconds = row.valid ? row.seconds_median : (double)NAN;
    if (row.valid) {
        WEFT_TRY(bench_team_saw(team, flops / seconds, bytes / seconds, bytes));
    } else {
        bench_grid_reject(&b->grid,
                          "product %s of %" PRId64 " rows, %" PRId64 " inputs and width %" PRId64
                          " is wrong: an error of %.3g times its bound",
                          row.product, row.rows, row.inputs, row.d, row.error);
    }
    row.threads = team->place.threads;
    row.gflop_per_s = flops / seconds * 1e-9;
    row.gemm_flop_per_s = team->limits.gemm;
    row.percent_of_gemm = 100.0 * flops / seconds / team->limits.gemm;
    row.percent_of_triad = 100.0 * bytes / seconds / team->limits.triad;
    return bench_grid_add(&b->grid, &row);
}

/* inputs 0: as many as outputs. */
static weft_status run_team(bench_team *team, void *self)
{
    static const char *const products[] = {"ab", "atb", "abt"};
    gemm_bench *b = self;
    const int count = b->row_count * b->input_count * b->width_count * 3;
    for (int i = 0; i < count; i++) {
        const int64_t d = b->widths[i / 3 % b->width_count];
        const int64_t inputs = b->inputs[i / 3 / b->width_count % b->input_count];
        WEFT_TRY(run_product(b, team,
                             (gemm_row){.product = products[i % 3],
                                        .rows = b->rows[i / 3 / b->width_count / b->input_count],
                                        .inputs = inputs > 0 ? inputs : d,
                                        .d = d}));
    }
    return WEFT_OK;
}

static weft_status run_gemm(gemm_bench *b)
{
    const weft_options *o = b->options;
    const bench_kernel_head head = bench_kernel_head_of(o, "gemm");
    int64_t threads[BENCH_TEAMS_MAX];
    binding start;
    WEFT_TRY(bench_one_process("gemm"));
    WEFT_TRY(bench_team_start(&start));
    b->row_count = option_list(o, OPT_ROWS, b->rows, LISTED_MAX);
    b->input_count = option_list(o, OPT_INPUTS, b->inputs, LISTED_MAX);
    b->width_count = option_list(o, OPT_DIMS, b->widths, LISTED_MAX);
    WEFT_CHECK(b->row_count <= LISTED_MAX && b->input_count <= LISTED_MAX && b->width_count <= LISTED_MAX,
               WEFT_ERR_USAGE, "--rows, --inputs and --dims take at most %d numbers", LISTED_MAX);
    WEFT_TRY(bench_grid_begin(&b->grid, &(bench_start){.options = o,
                                                       .title = "bench gemm",
                                                       .speaks = true,
                                                       .cases = 3.0 * bench_thread_counts(o, threads) * b->row_count *
                                                                b->input_count * b->width_count,
                                                       BENCH_COLUMNS(bench_kernel_head, gemm_row),
                                                       .head = &head}));
    WEFT_TRY(bench_each_team(o, &start, run_team, b));
    return bench_grid_end(&b->grid);
}

weft_status bench_gemm(const weft_options *options)
{
    gemm_bench b = {.options = options};
    const weft_status status = run_gemm(&b);
    bench_grid_free(&b.grid);
    return status;
}
