/*
 * hal/cpu/factor/cpu_factor.c: factorisations: by LAPACK (library/lapack.h) where the machine has one that computes
 * right, else by forms of our own (own_forms.h). Matrices below LEAST rows, and small and large Cholesky factors of
 * float32, never ask for the library: it is not opened for them.
 *
 * Many small matrices share one parallel loop, each on one thread; large ones come one after the other, each on all
 * threads. A single small matrix has one thread too: threads that meet a thousand times in a millisecond gain nothing,
 * and wait for whole time slices where other processes use the processors. Which it is depends on the shape alone, and
 * so do bits for a given number of threads.
 */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "hal/cpu/cpu_backend.h"
#include "hal/cpu/factor/eigen_check.h"
#include "hal/cpu/factor/own_forms.h"
#include "hal/cpu/library/lapack.h"
#include "hal/ref/ref_backend.h"
#include "hal/table/op_table.h"

enum {
    LEAST = 32,         /* rows from which the library is asked */
    OWN_CHOLESKY = 128, /* rows of float32 up to which a Cholesky factor never asks it */
    LARGE = 512,        /* rows from which one matrix keeps all threads busy */
    /* The library's code and buffers, which a process holds once it has called it: 9 to 12 MB were measured of
     * OpenBLAS. */
    LIBRARY_BYTES = 10 << 20
};

/* One operation on `count` matrices. */
typedef struct factor_job factor_job;
struct factor_job {
    /* Matrix `i`, with `threads` threads and workspace of its own. */
    weft_status (*run)(const factor_job *job, int64_t i, int threads, void *work);
    weft_hal *hal;
    const void *args;
    const lapack *library; /* NULL: own forms */
    weft_dtype dtype;
    int64_t count, n;
    size_t work_bytes;
};

static const lapack *library_for(int64_t n)
{
    return n >= LEAST && n <= LAPACK_MOST ? lapack_get() : NULL;
}

/* The blocked forms of float32 are as quick as the library where a matrix is large, and small matrices take less than
 * the 20 ms in which the library is opened: a training that inverts only such ones does not open it. */
static const lapack *library_for_cholesky(weft_dtype dtype, int64_t n)
{
    return dtype == WEFT_DTYPE_F32 && (n <= OWN_CHOLESKY || n >= LARGE) ? NULL : library_for(n);
}

/* One after the other, large ones on all threads. The library takes the process's number of OpenMP threads. */
static weft_status run_in_turn(const factor_job *job, char *work)
{
    const int before = omp_get_max_threads(), threads = job->n >= LARGE ? job->hal->threads : 1;
    weft_status status = WEFT_OK;
    omp_set_num_threads(threads);
    for (int64_t i = 0; i < job->count && status == WEFT_OK; ++i) {
        status = job->run(job, i, threads, work);
    }
    omp_set_num_threads(before);
    return status;
}

/* Matrix by matrix in one parallel loop; in it the library has one thread, and nothing fails. */
static void run_side_by_side(const factor_job *job, int parts, size_t stride, char *work)
{
#pragma omp parallel for schedule(static) num_threads(parts)
    for (int part = 0; part < parts; ++part) {
        const hal_span own = hal_split_rows(job->count, parts, part);
        for (int64_t i = own.begin; i < own.end; ++i) {
            (void)job->run(job, i, 1, work + (size_t)part * stride);
        }
    }
}

static weft_status run_job(const factor_job *job)
{
    enum { LINE = 64 };
    const bool in_turn = job->n >= LARGE || job->count == 1;
    const int most = job->count < job->hal->threads ? (int)job->count : job->hal->threads;
    const size_t stride = (job->work_bytes + LINE - 1) / LINE * LINE;
    void *work = NULL;
    if (job->count == 0 || job->n == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(cpu_factor_workspace(job->hal, (in_turn ? 1 : (size_t)most) * stride + LINE, &work));
    if (in_turn) {
        return run_in_turn(job, work);
    }
    run_side_by_side(job, most, stride, work);
    return WEFT_OK;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static hal_mat matrix_at(const hal_mat *all, int64_t i, int64_t rows)
{
    return hal_mat_rows(all, i * rows, rows);
}

/* Element (i, i) is a positive number. */
static bool pivot_stands(const hal_mat *a, int64_t i)
{
    const double pivot = ref_load(a, i, i);
    return pivot > 0.0 && pivot < INFINITY;
}

/* The blocked forms run products of the backend, which has threads of its own. */
static bool takes_blocks(const factor_job *job)
{
    return job->library == NULL && job->dtype == WEFT_DTYPE_F32 && (job->n >= LARGE || job->count == 1) &&
           job->n > 2 * OWN_BLOCK;
}

/* ---- Cholesky ---------------------------------------------------------------------------------------------------- */

static weft_status potrf_one(const factor_job *job, int64_t i, int threads, void *work)
{
    const hal_potrf_args *args = job->args;
    const hal_mat a = matrix_at(&args->a, i, job->n);
    int32_t *info = (int32_t *)args->info.data + i;
    (void)threads;
    if (takes_blocks(job)) {
        return own_potrf(job->hal, &a, work, info);
    }
    if (job->library == NULL) {
        const hal_potrf_args one = {.a = a, .info = hal_mat_of(info, WEFT_DTYPE_I32, 1, 1, 1)};
        return job->dtype == WEFT_DTYPE_F64 ? ref_potrf_f64(&one) : ref_potrf_f32(&one);
    }
    *info = lapack_potrf(job->library, job->dtype, job->n, a.data, a.ld);
    for (int64_t row = 0; row < job->n && *info == 0; ++row) { /* it may not notice a NaN */
        *info = pivot_stands(&a, row) ? 0 : (int32_t)(row + 1);
    }
    return WEFT_OK;
}

static weft_status cpu_potrf(weft_hal *hal, const hal_potrf_args *args)
{
    factor_job job = {.run = potrf_one, .hal = hal, .args = args, .count = hal_squares(&args->a), .n = args->a.cols};
    WEFT_TRY(hal_op_type(HAL_OP_potrf, args, &job.dtype));
    job.library = library_for_cholesky(job.dtype, job.n);
    job.work_bytes = takes_blocks(&job) ? own_potrf_bytes(job.n) : 0;
    return run_job(&job);
}

static void mirror(const hal_mat *a)
{
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t j = 0; j < i; ++j) {
            ref_store(a, j, i, ref_load(a, i, j));
        }
    }
}

static weft_status potri_one(const factor_job *job, int64_t i, int threads, void *work)
{
    const hal_potri_args *args = job->args;
    const hal_mat a = matrix_at(&args->a, i, job->n);
    (void)threads;
    if (takes_blocks(job)) {
        return own_potri(job->hal, &a, work);
    }
    if (job->library == NULL) {
        const hal_potri_args one = {.a = a};
        return job->dtype == WEFT_DTYPE_F64 ? ref_potri_f64(&one) : ref_potri_f32(&one);
    }
    (void)lapack_potri(job->library, job->dtype, job->n, a.data,
                       a.ld); /* fails on a zero pivot alone, which potrf told */
    mirror(&a);
    return WEFT_OK;
}

static weft_status cpu_potri(weft_hal *hal, const hal_potri_args *args)
{
    factor_job job = {.run = potri_one, .hal = hal, .args = args, .count = hal_squares(&args->a), .n = args->a.cols};
    WEFT_TRY(hal_op_type(HAL_OP_potri, args, &job.dtype));
    job.library = library_for_cholesky(job.dtype, job.n);
    job.work_bytes = takes_blocks(&job) ? own_potri_bytes(job.n) : 0;
    return run_job(&job);
}

static weft_status potrs_by_reference(const factor_job *job, const hal_mat *a, const hal_mat *x, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int part = 0; part < threads; ++part) {
        const hal_span own = hal_split_rows(x->rows, threads, part);
        const hal_potrs_args some = {.a = *a, .x = hal_mat_rows(x, own.begin, own.end - own.begin)};
        (void)(job->dtype == WEFT_DTYPE_F64 ? ref_potrs_f64(&some) : ref_potrs_f32(&some));
    }
    return WEFT_OK;
}

static weft_status potrs_one(const factor_job *job, int64_t i, int threads, void *work)
{
    const hal_potrs_args *args = job->args;
    const hal_mat a = matrix_at(&args->a, i, job->n);
    const hal_mat x = matrix_at(&args->x, i, args->x.rows / job->count);
    (void)work;
    if (job->library == NULL) {
        return potrs_by_reference(job, &a, &x, threads);
    }
    (void)lapack_potrs(job->library, job->dtype, job->n, a.source, a.ld, x.rows, x.data, x.ld);
    return WEFT_OK;
}

static weft_status cpu_potrs(weft_hal *hal, const hal_potrs_args *args)
{
    factor_job job = {.run = potrs_one, .hal = hal, .args = args, .count = hal_squares(&args->a), .n = args->a.cols};
    WEFT_TRY(hal_op_type(HAL_OP_potrs, args, &job.dtype));
    assert(args->x.cols == job.n && (job.count == 0 || args->x.rows % job.count == 0));
    job.library = args->x.rows > 0 ? library_for(job.n) : NULL;
    return run_job(&job);
}

/* ---- eigenvalues ------------------------------------------------------------------------------------------------- */

/* Row + 1 of the first row of the lower triangle with a number that is not finite, or 0. to[n,n] = the triangle. */
static int32_t copy_triangle(const hal_mat *a, const hal_mat *to)
{
    const size_t size = weft_dtype_bytes(a->dtype);
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
            if (!isfinite(ref_load(a, i, j))) {
                return (int32_t)(i + 1);
            }
        }
        memcpy((char *)to->data + (size_t)(i * to->ld) * size, (const char *)a->source + (size_t)(i * a->ld) * size,
               (size_t)(i + 1) * size);
    }
    return 0;
}

static weft_status syevd_one(const factor_job *job, int64_t i, int threads, void *work)
{
    const hal_syevd_args *args = job->args;
    const hal_mat a = matrix_at(&args->a, i, job->n);
    const hal_mat vectors = matrix_at(&args->vectors, i, job->n);
    const hal_mat values = hal_mat_rows(&args->values, i, 1);
    int32_t *info = (int32_t *)args->info.data + i;
    *info = copy_triangle(&a, &vectors);
    if (*info == 0 && job->library != NULL &&
        lapack_syevd(job->library, job->dtype, job->n, vectors.data, vectors.ld, values.data, work) == 0 &&
        eigen_stands(&a, &vectors, &values, work)) {
        return WEFT_OK;
    }
    if (*info == 0) { /* also where the library's iteration does not converge, or its numbers are wrong */
        *info = own_syevd(threads, &a, &vectors, &values, work);
    }
    return WEFT_OK;
}

static weft_status cpu_syevd(weft_hal *hal, const hal_syevd_args *args)
{
    factor_job job = {.run = syevd_one, .hal = hal, .args = args, .count = hal_squares(&args->a), .n = args->a.cols};
    WEFT_TRY(hal_op_type(HAL_OP_syevd, args, &job.dtype));
    assert(args->vectors.rows == args->a.rows && args->vectors.cols == job.n && args->values.cols == job.n);
    job.library = library_for(job.n);
    job.work_bytes = larger(job.library != NULL ? lapack_work_bytes(job.dtype, job.n) : 0, own_syevd_bytes(job.n));
    return run_job(&job);
}

uint64_t cpu_factor_scratch(hal_op op, weft_dtype dtype, int64_t n)
{
    factor_job job = {.dtype = dtype, .count = 1, .n = n};
    const bool eigen = op == HAL_OP_syevd;
    job.library = eigen ? library_for(n) : library_for_cholesky(dtype, n);
    const size_t blocks = takes_blocks(&job) ? larger(own_potrf_bytes(n), own_potri_bytes(n)) : 0;
    const size_t own = eigen ? own_syevd_bytes(n) : blocks; /* behind the library's if that fails, and then untouched */
    return job.library != NULL ? LIBRARY_BYTES + (eigen ? lapack_work_bytes(dtype, n) : 0) : own;
}

/* ---- Q and R ----------------------------------------------------------------------------------------------------- */

/* The diagonal of R becomes positive, what is below it 0. Returns the info of geqrf. */
static int32_t finish_q_r(const hal_mat *a, const hal_mat *r)
{
    const double epsilon = a->dtype == WEFT_DTYPE_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    int32_t info = 0;
    for (int64_t j = 0; j < r->cols; ++j) {
        const double pivot = ref_load(r, j, j);
        double squares = 0.0;
        for (int64_t i = 0; i < r->cols; ++i) {
            const double above = i < j ? ref_load(r, i, j) : 0.0;
            squares += i < j ? above * above : 0.0;
            if (i > j) {
                ref_store(r, i, j, 0.0);
            }
        }
        const double before = sqrt(squares + pivot * pivot);
        const bool stands = fabs(pivot) > (double)(a->rows + a->cols) * epsilon * before && before < INFINITY;
        info = info == 0 && !stands ? (int32_t)(j + 1) : info;
        for (int64_t i = j; i < r->cols && pivot < 0.0; ++i) {
            ref_store(r, j, i, -ref_load(r, j, i));
        }
        for (int64_t i = 0; i < a->rows && pivot < 0.0; ++i) {
            ref_store(a, i, j, -ref_load(a, i, j));
        }
    }
    return info;
}

static weft_status geqrf_one(const factor_job *job, int64_t i, int threads, void *work)
{
    const hal_geqrf_args *args = job->args;
    const hal_mat a = matrix_at(&args->a, i, args->a.rows / job->count);
    const hal_mat r = matrix_at(&args->r, i, job->n);
    int32_t *info = (int32_t *)args->info.data + i;
    if (job->library == NULL) {
        *info = own_geqrf(threads, &a, &r, work);
        return WEFT_OK;
    }
    const int code = lapack_geqrf(job->library, job->dtype, a.rows, job->n, a.data, a.ld, r.data, r.ld, work);
    *info = code == 0 ? finish_q_r(&a, &r) : 1;
    return WEFT_OK;
}

static weft_status cpu_geqrf(weft_hal *hal, const hal_geqrf_args *args)
{
    factor_job job = {.run = geqrf_one, .hal = hal, .args = args, .count = hal_squares(&args->r), .n = args->r.cols};
    const int64_t m = job.count > 0 ? args->a.rows / job.count : 0;
    WEFT_TRY(hal_op_type(HAL_OP_geqrf, args, &job.dtype));
    assert(args->a.cols == job.n && m >= job.n && m * job.count == args->a.rows);
    job.library = m <= INT32_MAX ? library_for(job.n) : NULL;
    job.work_bytes = job.library != NULL ? lapack_work_bytes(job.dtype, job.n) : own_geqrf_bytes(m, job.n);
    return run_job(&job);
}

void cpu_factor_ops(hal_ops *ops)
{
    ops->potrf = cpu_potrf;
    ops->potri = cpu_potri;
    ops->potrs = cpu_potrs;
    ops->syevd = cpu_syevd;
    ops->geqrf = cpu_geqrf;
}
