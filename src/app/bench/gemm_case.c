/*
 * app/bench/gemm_case.c: measuring one product of `weft bench gemm`, and the check without which no rate is printed.
 *
 * The result is compared with the reference backend's in double precision, on the first and last rows. A sum of k
 * float32 products may be off by TOLERANCE * sqrt(k + 4) roundings of the sum of magnitudes (see
 * app/bench/spmm_case.c). Memory: the three matrices on host and device, and twice the operands for the check.
 */
#include "app/bench/bench_gemm.h"

#include <math.h>

#include "base/alloc.h"

enum { WINDOW = 16, TOLERANCE = 4 };

/* One product: op(A) is [m, k], op(B) [k, n]. */
typedef struct gemm_case {
    weft_hal *hal;
    gemm_product product;
    int64_t rows, d;
    hal_gemm_args gemm;
    float *host_a, *host_b, *host_c;
    void *a, *b, *c;
    double worst; /* largest error over its bound */
} gemm_case;

/* ---- one case ----------------------------------------------------------------------------------------------- */
static int64_t count_a(const gemm_case *c)
{
    return c->rows * c->d;
}

static int64_t count_b(const gemm_case *c)
{
    return c->product == GEMM_ATB ? c->rows * c->d : c->d * c->d;
}

static int64_t count_c(const gemm_case *c)
{
    return c->gemm.c.rows * c->gemm.c.cols;
}

/* Terms of one sum. */
static int64_t terms(const gemm_case *c)
{
    return c->gemm.trans_a ? c->rows : c->d;
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
    const bool atb = c->product == GEMM_ATB;
    const int64_t b_rows = c->product == GEMM_ATB ? c->rows : c->d;
    c->gemm = (hal_gemm_args){.trans_a = atb,
                              .trans_b = c->product == GEMM_ABT,
                              .alpha = 1.0,
                              .a = hal_mat_of(NULL, WEFT_DTYPE_F32, c->rows, c->d, c->d),
                              .b = hal_mat_of(NULL, WEFT_DTYPE_F32, b_rows, c->d, c->d),
                              .c = hal_mat_of(NULL, WEFT_DTYPE_F32, atb ? c->d : c->rows, c->d, c->d)};
    WEFT_TRY(operand(c, count_a(c), 1, &c->host_a, &c->a));
    WEFT_TRY(operand(c, count_b(c), 77, &c->host_b, &c->b));
    WEFT_TRY(operand(c, count_c(c), 5, &c->host_c, &c->c));
    c->gemm.a.data = c->a;
    c->gemm.b.data = c->b;
    c->gemm.c.data = c->c;
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
    WEFT_TRY(hal_gemm(c->hal, &c->gemm));
    return c->hal->stream.sync(c->hal);
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
        hal_gemm_args gemm = c->gemm;
        copy_window(c, w, magnitudes == 1);
        const int64_t lines = gemm.trans_a ? c->rows : w->count;
        const int64_t stride = gemm.trans_a ? w->count : c->d;
        gemm.a = hal_mat_of(w->a, WEFT_DTYPE_F64, lines, stride, stride);
        gemm.b = hal_mat_of(w->b, WEFT_DTYPE_F64, c->gemm.b.rows, c->d, c->d);
        gemm.c = hal_mat_of(magnitudes == 1 ? w->magnitude : w->exact, WEFT_DTYPE_F64, w->count, c->d, c->d);
        WEFT_TRY(hal_gemm(ref, &gemm));
    }
    return WEFT_OK;
}

static void compare(gemm_case *c, const gemm_window *w)
{
    const double unit = TOLERANCE * sqrt((double)terms(c) + 4.0) * 0x1p-24;
    for (int64_t i = 0; i < w->count * c->gemm.c.cols; i++) {
        const double found = (double)c->host_c[w->first * c->gemm.c.cols + i];
        const double error = fabs(found - w->exact[i]) / (unit * w->magnitude[i] + 0x1p-100);
        c->worst = isnan(error) ? (double)INFINITY : fmax(c->worst, error);
    }
}

static weft_status check_window(weft_hal *ref, gemm_case *c, int64_t first, int64_t count)
{
    gemm_window w = {.first = first, .count = count};
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(WEFT_NEW(&w.a, count * terms(c), WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&w.b, count_b(c), WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&w.exact, count * c->gemm.c.cols, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&w.magnitude, count * c->gemm.c.cols, WEFT_MEM_WORKSPACE), status, done);
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
    const int64_t count = c->gemm.c.rows < WINDOW ? c->gemm.c.rows : WINDOW;
    weft_hal *ref = NULL;
    WEFT_TRY(weft_hal_open("ref", c->hal->threads, &ref));
    weft_status status = c->hal->mem.download(c->hal, c->host_c, c->c, (size_t)count_c(c) * sizeof *c->host_c);
    status = status == WEFT_OK ? check_window(ref, c, 0, count) : status;
    status = status == WEFT_OK ? check_window(ref, c, c->gemm.c.rows - count, count) : status;
    weft_hal_close(ref);
    return status;
}

weft_status bench_gemm_case(weft_hal *hal, int repeats, gemm_result *result)
{
    gemm_case c = {.hal = hal, .product = result->product, .rows = result->rows, .d = result->d};
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(open_case(&c), status, done);
    WEFT_TRY_GOTO(bench_time(run_once, &c, repeats, &result->seconds), status, done);
    WEFT_TRY_GOTO(check(&c), status, done);
    result->flops = 2.0 * (double)c.rows * (double)c.d * (double)c.d;
    result->bytes = (double)sizeof(float) * (double)(count_a(&c) + count_b(&c) + count_c(&c));
    result->worst = c.worst;
    result->valid = c.worst <= 1.0;
done:
    close_case(&c);
    return status;
}
