/*
 * hal/cuda/device/device_runtime_solver.c: the calls of cuda_solver.h, of the cuSOLVER that belongs to the toolkit that
 * this program was built with. The part of its interface that is needed is written down here, as it has stood since
 * cuSOLVER 10: no header, nothing to link. Its results are the same bits every time on one kind of card, which is what
 * its handles begin with (CUSOLVER_DETERMINISTIC_RESULTS).
 */
#include <assert.h>
#include <cuda_runtime_api.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/log.h"
#include "hal/cuda/device/cuda_solver.h"
#include "hal/cuda/device/device_library.h"

enum { SOLVER_DONE = 0, SOLVER_NO_MEMORY = 2 }; /* cusolverStatus_t */
enum { SOLVER_UPPER = 1 };                      /* cublasFillMode_t */
enum { SOLVER_VECTORS = 1 };                    /* cusolverEigMode_t */
enum {
    SOLVER_LEAST = 65, /* columns from which a matrix is the library's: smaller ones are a block of threads each */
    CUDA_MAJOR = CUDART_VERSION / 1000,
    SOLVER_MAJOR = CUDA_MAJOR < 13 ? 11 : CUDA_MAJOR - 1 /* CUDA 11 and 12 have libcusolver.so.11, CUDA 13 .so.12 */
};

typedef int solver_create(void **handle);
typedef int solver_destroy(void *handle);
typedef int solver_set_stream(void *handle, cudaStream_t stream);
typedef int potr_bytes(void *handle, int uplo, int n, void *a, int lda, int *count);
typedef int potr_run(void *handle, int uplo, int n, void *a, int lda, void *work, int count, int *info);
typedef int potrs_run(void *handle, int uplo, int n, int sides, const void *a, int lda, void *x, int ldx, int *info);
typedef int syevd_bytes(void *handle, int vectors, int uplo, int n, const void *a, int lda, const void *values,
                        int *count);
typedef int syevd_run(void *handle, int vectors, int uplo, int n, void *a, int lda, void *values, void *work, int count,
                      int *info);
typedef int geqrf_bytes(void *handle, int m, int n, void *a, int lda, int *count);
typedef int geqrf_run(void *handle, int m, int n, void *a, int lda, void *tau, void *work, int count, int *info);
typedef int orgqr_bytes(void *handle, int m, int n, int k, const void *a, int lda, const void *tau, int *count);
typedef int orgqr_run(void *handle, int m, int n, int k, void *a, int lda, const void *tau, void *work, int count,
                      int *info);

/* The library's functions for one type. */
#define SOLVER_CALLS(X)                                                                                                \
    X(potr_bytes, potrf_bufferSize)                                                                                    \
    X(potr_run, potrf)                                                                                                 \
    X(potr_bytes, potri_bufferSize)                                                                                    \
    X(potr_run, potri)                                                                                                 \
    X(potrs_run, potrs)                                                                                                \
    X(syevd_bytes, syevd_bufferSize)                                                                                   \
    X(syevd_run, syevd)                                                                                                \
    X(geqrf_bytes, geqrf_bufferSize)                                                                                   \
    X(geqrf_run, geqrf)                                                                                                \
    X(orgqr_bytes, orgqr_bufferSize)                                                                                   \
    X(orgqr_run, orgqr)
#define MEMBER(type, name) type *name;
typedef struct solver_calls {
    SOLVER_CALLS(MEMBER)
} solver_calls;

struct cuda_solver {
    void *handle; /* NULL: there is no library */
    solver_destroy *destroy;
    solver_calls of[2]; /* float32, float64 */
};

static void *open_library(void)
{
    char name[32];
    snprintf(name, sizeof name, "libcusolver.so.%d", SOLVER_MAJOR);
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static bool find_calls(void *library, char letter, solver_calls *calls)
{
    bool whole = true;
    char name[48];
#define FIND(type, call)                                                                                               \
    snprintf(name, sizeof name, "cusolverDn%c" #call, letter);                                                         \
    whole = whole && device_library_find(library, name, &calls->call);
    SOLVER_CALLS(FIND)
    return whole;
}

/* Opens a handle on the stream. If anything fails, handle stays NULL. */
static void open_handle(cuda_solver *solver, cuda_stream *stream)
{
    solver_create *create = NULL;
    solver_set_stream *set_stream = NULL;
    void *library = open_library();
    const bool whole = library != NULL && device_library_find(library, "cusolverDnCreate", &create) &&
                       device_library_find(library, "cusolverDnDestroy", &solver->destroy) &&
                       device_library_find(library, "cusolverDnSetStream", &set_stream) &&
                       find_calls(library, 'S', &solver->of[0]) && find_calls(library, 'D', &solver->of[1]);
    if (!whole || create(&solver->handle) != SOLVER_DONE) {
        solver->handle = NULL;
    } else if (set_stream(solver->handle, (cudaStream_t)(void *)stream) != SOLVER_DONE) {
        (void)solver->destroy(solver->handle);
        solver->handle = NULL;
    }
}

bool cuda_solver_takes(cuda_solver **solver, cuda_stream *stream, weft_dtype dtype, int64_t m, int64_t n)
{
    if (n < SOLVER_LEAST || n > INT32_MAX || m > INT32_MAX || (dtype != WEFT_DTYPE_F32 && dtype != WEFT_DTYPE_F64)) {
        return false;
    }
    if (*solver == NULL) {
        if (WEFT_NEW_ZERO(solver, 1, WEFT_MEM_GENERAL) != WEFT_OK) {
            return false;
        }
        open_handle(*solver, stream);
    }
    return (*solver)->handle != NULL;
}

static int code_of(const char *call, int status)
{
    if (status != SOLVER_DONE) {
        log_debug("cuSOLVER: %s says %d", call, status);
    }
    return status == SOLVER_DONE ? CUDA_DONE : status == SOLVER_NO_MEMORY ? CUDA_ERROR_MEMORY : CUDA_ERROR_UNKNOWN;
}

static const solver_calls *calls_of(const cuda_solver *solver, const cuda_solver_job *job)
{
    assert(solver->handle != NULL && job->m <= INT32_MAX && job->n <= INT32_MAX);
    return &solver->of[job->dtype == WEFT_DTYPE_F64 ? 1 : 0];
}

int cuda_solver_workspace(cuda_solver *solver, cuda_solver_job *job, size_t *bytes)
{
    const solver_calls *of = calls_of(solver, job);
    const int n = (int)job->n;
    const int m = (int)job->m;
    const int lda = (int)job->lda;
    int count = 0;
    int status = SOLVER_DONE;
    switch (job->call) {
    case CUDA_SOLVER_POTRF:
        status = of->potrf_bufferSize(solver->handle, SOLVER_UPPER, n, job->a, lda, &count);
        break;
    case CUDA_SOLVER_POTRI:
        status = of->potri_bufferSize(solver->handle, SOLVER_UPPER, n, job->a, lda, &count);
        break;
    case CUDA_SOLVER_SYEVD:
        status = of->syevd_bufferSize(solver->handle, SOLVER_VECTORS, SOLVER_UPPER, n, job->a, lda, job->x, &count);
        break;
    case CUDA_SOLVER_GEQRF:
        status = of->geqrf_bufferSize(solver->handle, m, n, job->a, lda, &count);
        break;
    case CUDA_SOLVER_ORGQR:
        status = of->orgqr_bufferSize(solver->handle, m, n, n, job->a, lda, job->x, &count);
        break;
    default: /* potrs has none */
        break;
    }
    job->elements = count > 0 ? (size_t)count : 0;
    *bytes = job->elements * (job->dtype == WEFT_DTYPE_F64 ? sizeof(double) : sizeof(float));
    return code_of("a question for workspace", status);
}

int cuda_solver_run(cuda_solver *solver, const cuda_solver_job *job)
{
    const solver_calls *of = calls_of(solver, job);
    const int n = (int)job->n;
    const int m = (int)job->m;
    const int lda = (int)job->lda;
    const int count = (int)job->elements;
    void *a = job->a;
    void *x = job->x;
    switch (job->call) {
    case CUDA_SOLVER_POTRF:
        return code_of("potrf", of->potrf(solver->handle, SOLVER_UPPER, n, a, lda, job->work, count, job->info));
    case CUDA_SOLVER_POTRI:
        return code_of("potri", of->potri(solver->handle, SOLVER_UPPER, n, a, lda, job->work, count, job->info));
    case CUDA_SOLVER_POTRS:
        return code_of("potrs", of->potrs(solver->handle, SOLVER_UPPER, n, m, a, lda, x, (int)job->ldx, job->info));
    case CUDA_SOLVER_SYEVD:
        return code_of("syevd", of->syevd(solver->handle, SOLVER_VECTORS, SOLVER_UPPER, n, a, lda, x, job->work, count,
                                          job->info));
    case CUDA_SOLVER_GEQRF:
        return code_of("geqrf", of->geqrf(solver->handle, m, n, a, lda, x, job->work, count, job->info));
    default:
        assert(job->call == CUDA_SOLVER_ORGQR);
        return code_of("orgqr", of->orgqr(solver->handle, m, n, n, a, lda, x, job->work, count, job->info));
    }
}

void cuda_solver_close(cuda_solver *solver)
{
    if (solver != NULL && solver->handle != NULL) {
        (void)solver->destroy(solver->handle);
    }
    weft_free(solver); /* the library stays: its threads outlive handles */
}

void cuda_solver_library(char *text, size_t bytes)
{
    device_library_version(open_library(), "cuSOLVER", "cusolverGetProperty", text, bytes);
}
