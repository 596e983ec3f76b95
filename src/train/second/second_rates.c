/* train/second/second_rates.c: rates of a backend for second order, each the best of a few short runs. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "train/second/second_cost.h"
#include "train/second/second_internal.h"

enum { LARGEST = SECOND_RATED_FIRST << (SECOND_RATED - 1), TRIES = 3, SMALL = 16 };
enum { CHUNK_COLUMNS = LARGEST * LARGEST / SECOND_CHUNK };

/* Matrices of the largest size. */
typedef struct probe {
    weft_hal *hal;
    weft_tensor a, b, c, packed, info;
} probe;

typedef weft_status probe_run(const probe *p, int64_t n);

static weft_status run_product(const probe *p, int64_t n)
{
    const weft_tensor a = second_view(&p->a, WEFT_DTYPE_F32, n, n), b = second_view(&p->b, WEFT_DTYPE_F32, n, n);
    weft_tensor c = second_view(&p->c, WEFT_DTYPE_F32, n, n);
    return tensor_gemm(&(tensor_product){.a = &a, .b = &b}, &c);
}

static weft_status run_copy(const probe *p, int64_t n)
{
    const weft_tensor a = second_view(&p->a, WEFT_DTYPE_F32, n, n);
    weft_tensor c = second_view(&p->c, WEFT_DTYPE_F32, n, n);
    return tensor_axpby(1.0, &a, 0.0, &c);
}

static weft_status run_gram(const probe *p, int64_t n)
{
    const weft_tensor a = second_view(&p->a, WEFT_DTYPE_F32, n, n);
    const weft_tensor packed = second_view(&p->packed, WEFT_DTYPE_F32, 1, second_packed(n));
    return hal_gram(p->hal, &(hal_gram_args){.x = tensor_mat(&a), .packed = tensor_mat(&packed), .alpha = 1.0});
}

/* A chunk of rows, as layers give them: SECOND_CHUNK rows. */
static weft_status run_chunk(const probe *p, int64_t n)
{
    const weft_tensor rows = second_view(&p->a, WEFT_DTYPE_F32, SECOND_CHUNK, n);
    const weft_tensor packed = second_view(&p->packed, WEFT_DTYPE_F32, 1, second_packed(n));
    return hal_gram(p->hal, &(hal_gram_args){.x = tensor_mat(&rows), .packed = tensor_mat(&packed), .alpha = 1.0});
}

/* a = packed + the mean of its diagonal: positive definite. */
static weft_status unpack(const probe *p, const weft_tensor *a)
{
    const weft_tensor packed = second_view(&p->packed, WEFT_DTYPE_F32, 1, second_packed(a->rows));
    return hal_unpack_triangle(
        p->hal, &(hal_unpack_triangle_args){.packed = tensor_mat(&packed), .a = tensor_mat(a), .relative = 1.0});
}

static weft_status run_cholesky(const probe *p, int64_t n)
{
    const weft_tensor a = second_view(&p->c, WEFT_DTYPE_F32, n, n);
    WEFT_TRY(unpack(p, &a));
    WEFT_TRY(hal_potrf(p->hal, &(hal_potrf_args){.a = tensor_mat(&a), .info = tensor_mat(&p->info)}));
    return hal_potri(p->hal, &(hal_potri_args){.a = tensor_mat(&a)});
}

static weft_status run_eigen(const probe *p, int64_t n)
{
    const weft_tensor a = second_view(&p->c, WEFT_DTYPE_F32, n, n), vectors = second_view(&p->b, WEFT_DTYPE_F32, n, n);
    const weft_tensor values = second_view(&p->packed, WEFT_DTYPE_F32, 1, n);
    WEFT_TRY(unpack(p, &a));
    return hal_syevd(p->hal, &(hal_syevd_args){.a = tensor_mat(&a),
                                               .vectors = tensor_mat(&vectors),
                                               .values = tensor_mat(&values),
                                               .info = tensor_mat(&p->info)});
}

static double seconds_now(const weft_hal *hal)
{
    return hal_host_visible(hal) ? clock_thread_seconds() : clock_seconds();
}

/* Seconds of the quickest of a few runs; `before` makes ready what the run reads. */
static weft_status measure(const probe *p, probe_run *before, probe_run *run, int64_t n, int tries, double *seconds)
{
    *seconds = INFINITY;
    for (int i = 0; i <= tries; ++i) { /* the first run is not counted */
        WEFT_TRY(before != NULL ? before(p, n) : WEFT_OK);
        WEFT_TRY(p->hal->stream.sync(p->hal));
        const double begun = seconds_now(p->hal);
        WEFT_TRY(run(p, n));
        WEFT_TRY(p->hal->stream.sync(p->hal));
        *seconds = i > 0 ? fmin(*seconds, seconds_now(p->hal) - begun) : *seconds;
    }
    return WEFT_OK;
}

static weft_status open_probe(probe *p)
{
    float *random = NULL;
    const int64_t elements = (int64_t)LARGEST * LARGEST;
    weft_tensor *const square[4] = {&p->a, &p->b, &p->c, &p->packed};
    for (int i = 0; i < 4; ++i) {
        WEFT_TRY(tensor_create(p->hal, WEFT_DTYPE_F32, 1, elements, WEFT_MEM_WORKSPACE, square[i]));
    }
    WEFT_TRY(tensor_create(p->hal, WEFT_DTYPE_I32, 1, 1, WEFT_MEM_WORKSPACE, &p->info));
    WEFT_TRY(WEFT_NEW(&random, elements, WEFT_MEM_WORKSPACE));
    for (int64_t i = 0; i < elements; ++i) {
        random[i] = (float)sin((double)(i * i % 10007));
    }
    const weft_status status = tensor_upload(&p->a, random);
    weft_free(random);
    return status == WEFT_OK ? tensor_axpby(1.0, &p->a, 0.0, &p->b) : status;
}

static weft_status measure_all(const probe *p, second_rates *rates)
{
    const double n = LARGEST;
    double seconds = 0.0;
    WEFT_TRY(measure(p, NULL, run_product, LARGEST, TRIES, &seconds));
    rates->product = 2.0 * n * n * n / seconds;
    WEFT_TRY(measure(p, NULL, run_chunk, CHUNK_COLUMNS, TRIES, &seconds));
    rates->gram = (double)SECOND_CHUNK * CHUNK_COLUMNS * CHUNK_COLUMNS / seconds;
    WEFT_TRY(measure(p, NULL, run_copy, LARGEST, TRIES, &seconds));
    rates->memory = 2.0 * sizeof(float) * n * n / seconds;
    WEFT_TRY(measure(p, NULL, run_copy, SMALL, TRIES, &rates->call));
    for (int i = 0; i < SECOND_RATED; ++i) {
        const int64_t m = (int64_t)SECOND_RATED_FIRST << i;
        const double cube = (double)m * (double)m * (double)m;
        WEFT_TRY(measure(p, run_gram, run_cholesky, m, TRIES, &seconds));
        rates->cholesky[i] = cube / seconds;
        WEFT_TRY(measure(p, run_gram, run_eigen, m, i + 1 < SECOND_RATED ? TRIES : 1, &seconds));
        rates->eigen[i] = cube / seconds;
    }
    return WEFT_OK;
}

weft_status second_rates_measure(weft_hal *hal, second_rates *rates)
{
    probe p = {.hal = hal};
    weft_status status = open_probe(&p);
    status = status == WEFT_OK ? measure_all(&p, rates) : status;
    TENSOR_DESTROY_ALL(&p.a, &p.b, &p.c, &p.packed, &p.info);
    return status;
}
