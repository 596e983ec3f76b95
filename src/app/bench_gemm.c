/*
 * app/bench_gemm.c: weft bench gemm: the rate of the three products of a linear layer, float32.
 *
 *      weft bench gemm --rows 16384,200000 --dims 64,256 --thread-counts 1,2
 *
 *      ab    Y [m, d] = X [m, d] W [d, d]         forward
 *      atb   D [d, d] = X^T [d, m] G [m, d]       gradient of the weights: long sums, small result
 *      abt   Z [m, d] = G [m, d] W^T [d, d]       gradient of the input
 *
 * Each result is compared with the reference backend's in double precision on its first and last rows before a rate is
 * printed. A sum of k float32 products may be off by TOLERANCE * sqrt(k + 4) roundings of the sum of magnitudes (see
 * app/bench_spmm_case.c). Rates are shares of the machine limits: a large square product, and the triad for the least
 * traffic (each matrix once). Memory: 2 m d floats for each operand, and twice that for the check.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "app/bench_grid.h"
#include "app/bench_team.h"
#include "base/alloc.h"
#include "base/log.h"

enum { LISTED_MAX = 64, PRODUCTS = 3, WINDOW = 16, TOLERANCE = 4 };
static const char *const product_names[PRODUCTS] = {"ab", "atb", "abt"};

static const bench_column columns[] = {
    {"product", CELL_TEXT, true},
    {"threads", CELL_INT, true},
    {"rows", CELL_INT, true},
    {"d", CELL_INT, true},
    {"seconds_median", CELL_REAL, true},
    {"seconds_q1", CELL_REAL, true},
    {"seconds_q3", CELL_REAL, true},
    {"n", CELL_INT, true},
    {"gflop_per_s", CELL_REAL, true},
    {"gemm_flop_per_s", CELL_REAL, false},
    {"percent_of_gemm", CELL_REAL, true},
    {"percent_of_triad", CELL_REAL, true},
    {"error", CELL_REAL, false},
    {"valid", CELL_VALID, true},
};

typedef struct gemm_bench {
    const weft_options *options;
    int64_t threads[BENCH_TEAMS_MAX], rows[LISTED_MAX], widths[LISTED_MAX];
    int team_count, row_count, width_count;
    bench_team team;
    bench_grid head, grid;
    log_progress progress;
    int invalid;
    char first_invalid[160];
} gemm_bench;

/* One product: op(A) is [m, k], op(B) [k, n]. */
typedef struct gemm_case {
    weft_hal *hal;
    int product;
    int64_t rows, d;
    hal_gemm gemm;
    float *host_a, *host_b, *host_c;
    void *a, *b, *c;
    bench_quartiles seconds;
    double worst; /* largest error over its bound */
} gemm_case;

/* ---- one case ----------------------------------------------------------------------------------------------- */
static int64_t count_a(const gemm_case *c)
{
    return c->rows * c->d;
}

static int64_t count_b(const gemm_case *c)
{
    return c->product == 1 ? c->rows * c->d : c->d * c->d;
}

static int64_t count_c(const gemm_case *c)
{
    return c->gemm.m * c->gemm.n;
}

/* Values in [-1, 1), the same on every machine. */
static void fill(float *x, int64_t count, uint64_t salt)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = ((uint64_t)i + salt) * 0x9E3779B97F4A7C15U;
        bits ^= bits >> 29;
        x[i] = (float)(uint32_t)(bits * 0xBF58476D1CE4E5B9U >> 40) * 0x1p-23F - 1.0F;
    }
}

static weft_status operand(gemm_case *c, int64_t count, uint64_t salt, float **host, void **device)
{
    const size_t bytes = (size_t)count * sizeof **host;
    WEFT_TRY(WEFT_NEW(host, count, WEFT_MEM_WORKSPACE));
    fill(*host, count, salt);
    WEFT_TRY(c->hal->mem.alloc(c->hal, bytes, WEFT_MEM_WORKSPACE, device));
    return c->hal->mem.upload(c->hal, *device, *host, bytes);
}

static weft_status open_case(gemm_case *c)
{
    const bool atb = c->product == 1;
    c->gemm = (hal_gemm){.dtype = WEFT_DTYPE_F32,
                         .trans_a = atb,
                         .trans_b = c->product == 2,
                         .m = atb ? c->d : c->rows,
                         .n = c->d,
                         .k = atb ? c->rows : c->d,
                         .alpha = 1.0,
                         .lda = c->d,
                         .ldb = c->d,
                         .ldc = c->d};
    WEFT_TRY(operand(c, count_a(c), 1, &c->host_a, &c->a));
    WEFT_TRY(operand(c, count_b(c), 77, &c->host_b, &c->b));
    WEFT_TRY(operand(c, count_c(c), 5, &c->host_c, &c->c));
    c->gemm.a = c->a;
    c->gemm.b = c->b;
    c->gemm.c = c->c;
    return WEFT_OK;
}

static void close_case(gemm_case *c)
{
    weft_free(c->host_a);
    weft_free(c->host_b);
    weft_free(c->host_c);
    c->hal->mem.free(c->hal, c->a);
    c->hal->mem.free(c->hal, c->b);
    c->hal->mem.free(c->hal, c->c);
}

static weft_status run_once(void *argument)
{
    const gemm_case *c = argument;
    return c->hal->dense.gemm(c->hal, &c->gemm);
}

/* ---- the check ---------------------------------------------------------------------------------------------- */
/* Rows [first, first + count) of op(A), and all of B, in double precision, or their magnitudes. */
typedef struct gemm_window {
    int64_t first, count;
    double *a, *b, *exact, *magnitude; /* [count, k] or [k, count], B's size, [count, n] */
} gemm_window;

static void copy_window(const gemm_case *c, gemm_window *w, bool magnitudes)
{
    const int64_t stride = c->gemm.trans_a ? w->count : c->d; /* of a row of the copied piece of A */
    const int64_t lines = c->gemm.trans_a ? c->rows : w->count;
    for (int64_t i = 0; i < lines; i++) {
        const float *from = c->gemm.trans_a ? c->host_a + i * c->d + w->first : c->host_a + (w->first + i) * c->d;
        for (int64_t j = 0; j < stride; j++) {
            const double x = (double)from[j];
            w->a[i * stride + j] = magnitudes ? fabs(x) : x;
        }
    }
    for (int64_t i = 0; i < count_b(c); i++) {
        const double x = (double)c->host_b[i];
        w->b[i] = magnitudes ? fabs(x) : x;
    }
}

static weft_status reference(weft_hal *ref, const gemm_case *c, gemm_window *w)
{
    for (int magnitudes = 0; magnitudes < 2; magnitudes++) {
        hal_gemm gemm = c->gemm;
        copy_window(c, w, magnitudes == 1);
        gemm.dtype = WEFT_DTYPE_F64;
        gemm.m = w->count;
        gemm.a = w->a;
        gemm.lda = gemm.trans_a ? w->count : c->d;
        gemm.b = w->b;
        gemm.c = magnitudes == 1 ? w->magnitude : w->exact;
        WEFT_TRY(ref->dense.gemm(ref, &gemm));
    }
    return WEFT_OK;
}

static void compare(gemm_case *c, const gemm_window *w)
{
    const double unit = TOLERANCE * sqrt((double)c->gemm.k + 4.0) * 0x1p-24;
    for (int64_t i = 0; i < w->count * c->gemm.n; i++) {
        const double found = (double)c->host_c[w->first * c->gemm.n + i];
        const double error = fabs(found - w->exact[i]) / (unit * w->magnitude[i] + 0x1p-100);
        c->worst = isnan(error) ? (double)INFINITY : fmax(c->worst, error);
    }
}

static weft_status check_window(weft_hal *ref, gemm_case *c, int64_t first, int64_t count)
{
    gemm_window w = {.first = first, .count = count};
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(WEFT_NEW(&w.a, count * c->gemm.k, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&w.b, count_b(c), WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&w.exact, count * c->gemm.n, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&w.magnitude, count * c->gemm.n, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(reference(ref, c, &w), status, done);
    compare(c, &w);
done:
    weft_free(w.a);
    weft_free(w.b);
    weft_free(w.exact);
    weft_free(w.magnitude);
    return status;
}

static weft_status check(gemm_case *c)
{
    const int64_t count = c->gemm.m < WINDOW ? c->gemm.m : WINDOW;
    weft_hal *ref = NULL;
    WEFT_TRY(weft_hal_open("ref", c->hal->threads, &ref));
    weft_status status = c->hal->mem.download(c->hal, c->host_c, c->c, (size_t)count_c(c) * sizeof *c->host_c);
    status = status == WEFT_OK ? check_window(ref, c, 0, count) : status;
    status = status == WEFT_OK ? check_window(ref, c, c->gemm.m - count, count) : status;
    weft_hal_close(ref);
    return status;
}

/* ---- the matrix --------------------------------------------------------------------------------------------- */
static weft_status add_row(gemm_bench *b, const gemm_case *c)
{
    const bool valid = c->worst <= 1.0;
    const machine_limits *limits = &b->team.limits;
    const double flops = 2.0 * (double)c->rows * (double)c->d * (double)c->d;
    const double bytes = (double)sizeof(float) * (double)(count_a(c) + count_b(c) + count_c(c));
    const double seconds = valid ? c->seconds.median : (double)NAN;
    if (!valid && b->invalid++ == 0) {
        snprintf(b->first_invalid, sizeof b->first_invalid,
                 "product %s of %" PRId64 " rows and width %" PRId64 " is wrong: an error of %.3g times its bound",
                 product_names[c->product], c->rows, c->d, c->worst);
    }
    WEFT_TRY(bench_grid_add(
        &b->grid,
        (bench_cell[]){cell_text(product_names[c->product]), cell_int(c->hal->threads), cell_int(c->rows),
                       cell_int(c->d), cell_real(c->seconds.median), cell_real(c->seconds.q1), cell_real(c->seconds.q3),
                       cell_int(c->seconds.count), cell_real(flops / seconds * 1e-9), cell_real(limits->gemm),
                       cell_real(100.0 * flops / seconds / limits->gemm),
                       cell_real(100.0 * bytes / seconds / limits->triad), cell_real(c->worst), cell_flag(valid)}));
    log_progress_update(&b->progress, b->grid.rows);
    return WEFT_OK;
}

static weft_status run_case(gemm_bench *b, int product, int64_t rows, int64_t d)
{
    gemm_case c = {.hal = b->team.hal, .product = product, .rows = rows, .d = d};
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(open_case(&c), status, done);
    WEFT_TRY_GOTO(bench_time(run_once, &c, (int)option_int(b->options, OPT_REPEATS), &c.seconds), status, done);
    WEFT_TRY_GOTO(check(&c), status, done);
    status = add_row(b, &c);
done:
    close_case(&c);
    return status;
}

static weft_status run_team(gemm_bench *b)
{
    for (int r = 0; r < b->row_count; r++) {
        for (int w = 0; w < b->width_count; w++) {
            for (int product = 0; product < PRODUCTS; product++) {
                WEFT_TRY(run_case(b, product, b->rows[r], b->widths[w]));
            }
        }
    }
    return WEFT_OK;
}

static weft_status begin(gemm_bench *b)
{
    static const bench_column head_columns[] = {{"bench", CELL_TEXT, true},
                                                {"backend", CELL_TEXT, true},
                                                {"warmup", CELL_INT, true},
                                                {"repeats", CELL_INT, true}};
    const weft_options *o = b->options;
    b->team_count = bench_thread_counts(o, b->threads);
    b->row_count = option_list(o, OPT_ROWS, b->rows, LISTED_MAX);
    b->width_count = option_list(o, OPT_DIMS, b->widths, LISTED_MAX);
    WEFT_CHECK(b->row_count <= LISTED_MAX && b->width_count <= LISTED_MAX, WEFT_ERR_USAGE,
               "--rows and --dims take at most %d numbers", LISTED_MAX);
    b->head = (bench_grid){.column = head_columns, .columns = sizeof head_columns / sizeof *head_columns};
    b->grid = (bench_grid){.name = "rows", .column = columns, .columns = sizeof columns / sizeof *columns};
    WEFT_TRY(bench_grid_add(&b->head, (bench_cell[]){cell_text("gemm"), cell_text(option_text(o, OPT_BACKEND)),
                                                     cell_int(1), cell_int(option_int(o, OPT_REPEATS))}));
    bench_grid_stream(&b->grid, stdout, &b->head, (bench_format)option_choice(o, OPT_FORMAT_OUT));
    b->progress =
        log_progress_begin("bench gemm", "cases", (double)b->team_count * b->row_count * b->width_count * PRODUCTS);
    return WEFT_OK;
}

static weft_status run_gemm(gemm_bench *b)
{
    const bench_grid none = {.name = "unsupported"};
    cpu_set mask;
    WEFT_TRY(bench_one_process("gemm"));
    WEFT_TRY(placement_current_mask(&mask));
    WEFT_TRY(begin(b));
    for (int t = 0; t < b->team_count; t++) {
        weft_status status = bench_team_open(b->options, &mask, (int)b->threads[t], &b->team);
        status = status == WEFT_OK ? run_team(b) : status;
        bench_team_close(&b->team);
        WEFT_TRY(status);
    }
    log_progress_end(&b->progress);
    bench_grid_print(stdout, &b->head, &b->grid, &none, (bench_format)option_choice(b->options, OPT_FORMAT_OUT));
    WEFT_CHECK(b->invalid == 0, WEFT_ERR_INTERNAL, "%s", b->first_invalid);
    return WEFT_OK;
}

weft_status bench_gemm(const weft_options *options)
{
    gemm_bench b = {.options = options};
    const weft_status status = run_gemm(&b);
    bench_grid_free(&b.head);
    bench_grid_free(&b.grid);
    return status;
}
