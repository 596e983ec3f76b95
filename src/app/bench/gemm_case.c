/*
 * app/bench/gemm_case.c: measuring one product of `weft bench gemm`, and the check without which no rate is printed.
 *
 * The result is compared with the reference backend's in double precision, on the first and last rows. A sum of k
 * float32 products may be off by TOLERANCE * sqrt(k + 4) roundings of the sum of magnitudes (see
 * app/gnn/bench/spmm_case.c). Memory: the three matrices on host and device, and twice the operands for the check.
 */
#include "app/bench/bench_gemm.h"

#include <math.h>

#include "base/alloc.h"

enum { WINDOW = 16, TOLERANCE = 4 };

/* One product: op(A) is [m, k], op(B) [k, n]. */
typedef struct gemm_case {
    weft_hal *hal;
    gemm_product product;
    int64_t rows, inputs, d; /* m, k and d of bench_gemm.h */
    hal_gemm_args gemm;
    float *host_a, *host_b, *host_c;
    double worst; /* largest error over its bound */
} gemm_case;

/* ---- one case ----------------------------------------------------------------------------------------------- */
static int64_t count(const hal_mat *matrix)
{
    return matrix->rows * matrix->cols;
}

/* Terms of one sum. */
static int64_t terms(const gemm_case *c)
{
    return c->gemm.trans_a ? c->rows : c->gemm.a.cols;
}

/* Values in [-1, 1), the same on every machine. */
static void fill(float *x, int64_t cells, uint64_t salt)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < cells; i++) {
        uint64_t bits = ((uint64_t)i + salt) * 0x9E3779B97F4A7C15U;
        bits ^= bits >> 29;
        x[i] = (float)(uint32_t)(bits * 0xBF58476D1CE4E5B9U >> 40) * 0x1p-23F - 1.0F;
    }
}

static hal_mat dense(int64_t rows, int64_t cols)
{
    return hal_mat_of(NULL, WEFT_DTYPE_F32, rows, cols, cols);
}

static weft_status operand(gemm_case *c, uint64_t salt, hal_mat *matrix, float **host)
{
    const size_t bytes = (size_t)count(matrix) * sizeof **host;
    WEFT_TRY(WEFT_NEW(host, count(matrix), WEFT_MEM_WORKSPACE));
    fill(*host, count(matrix), salt);
    WEFT_TRY(c->hal->mem.alloc(c->hal, bytes, WEFT_MEM_WORKSPACE, &matrix->data));
    return c->hal->mem.upload(c->hal, matrix->data, *host, bytes);
}

static weft_status open_case(gemm_case *c)
{
    const hal_mat x = dense(c->rows, c->inputs), w = dense(c->inputs, c->d), y = dense(c->rows, c->d);
    const bool atb = c->product == GEMM_ATB, abt = c->product == GEMM_ABT;
    c->gemm = (hal_gemm_args){.trans_a = atb,
                              .trans_b = abt,
                              .alpha = 1.0,
                              .a = abt ? y : x,
                              .b = atb ? y : w,
                              .c = atb   ? w
                                   : abt ? x
                                         : y};
    WEFT_TRY(operand(c, 1, &c->gemm.a, &c->host_a));
    WEFT_TRY(operand(c, 77, &c->gemm.b, &c->host_b));
    return operand(c, 5, &c->gemm.c, &c->host_c);
}

static void close_case(gemm_case *c)
{
    weft_free(c->host_a);
    weft_free(c->host_b);
    weft_free(c->host_c);
    c->hal->mem.free(c->hal, c->gemm.a.data);
    c->hal->mem.free(c->hal, c->gemm.b.data);
    c->hal->mem.free(c->hal, c->gemm.c.data);
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
    const int64_t ld = c->gemm.a.cols;
    const int64_t stride = c->gemm.trans_a ? w->count : ld; /* of a row of the copied piece of A */
    const int64_t lines = c->gemm.trans_a ? c->rows : w->count;
    for (int64_t i = 0; i < lines; i++) {
        const float *from = c->gemm.trans_a ? c->host_a + i * ld + w->first : c->host_a + (w->first + i) * ld;
        for (int64_t j = 0; j < stride; j++) {
            const double x = (double)from[j];
            w->a[i * stride + j] = magnitudes ? fabs(x) : x;
        }
    }
    for (int64_t i = 0; i < count(&c->gemm.b); i++) {
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
        const int64_t stride = gemm.trans_a ? w->count : gemm.a.cols;
        const int64_t right = gemm.b.cols, out = gemm.c.cols;
        gemm.a = hal_mat_of(w->a, WEFT_DTYPE_F64, lines, stride, stride);
        gemm.b = hal_mat_of(w->b, WEFT_DTYPE_F64, gemm.b.rows, right, right);
        gemm.c = hal_mat_of(magnitudes == 1 ? w->magnitude : w->exact, WEFT_DTYPE_F64, w->count, out, out);
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

static weft_status check_window(weft_hal *ref, gemm_case *c, int64_t first, int64_t rows)
{
    gemm_window w = {.first = first, .count = rows};
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(WEFT_NEW(&w.a, rows * terms(c), WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&w.b, count(&c->gemm.b), WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&w.exact, rows * c->gemm.c.cols, WEFT_MEM_WORKSPACE), status, done);
    WEFT_TRY_GOTO(WEFT_NEW(&w.magnitude, rows * c->gemm.c.cols, WEFT_MEM_WORKSPACE), status, done);
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
    const int64_t all = c->gemm.c.rows, rows = all < WINDOW ? all : WINDOW;
    weft_hal *ref = NULL;
    WEFT_TRY(weft_hal_open("ref", c->hal->threads, &ref));
    weft_status status =
        c->hal->mem.download(c->hal, c->host_c, c->gemm.c.data, (size_t)count(&c->gemm.c) * sizeof *c->host_c);
    status = status == WEFT_OK ? check_window(ref, c, 0, rows) : status;
    status = status == WEFT_OK ? check_window(ref, c, all - rows, rows) : status;
    weft_hal_close(ref);
    return status;
}

weft_status bench_gemm_case(weft_hal *hal, int repeats, gemm_result *result)
{
    gemm_case c = {
        .hal = hal, .product = result->product, .rows = result->rows, .inputs = result->inputs, .d = result->d};
    weft_status status = WEFT_OK;
    WEFT_TRY_GOTO(open_case(&c), status, done);
    WEFT_TRY_GOTO(bench_time(run_once, &c, repeats, &result->seconds), status, done);
    WEFT_TRY_GOTO(check(&c), status, done);
    result->flops = 2.0 * (double)c.rows * (double)c.inputs * (double)c.d;
    result->bytes = (double)sizeof(float) * (double)(count(&c.gemm.a) + count(&c.gemm.b) + count(&c.gemm.c));
    result->worst = c.worst;
    result->valid = c.worst <= 1.0;
done:
    close_case(&c);
    return status;
}
