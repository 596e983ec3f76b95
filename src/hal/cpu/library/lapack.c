/*
 * hal/cpu/library/lapack.c: the calls of lapack.h. LAPACK's matrices lie by columns: to it a row-major matrix is the
 * transposed one, so our lower triangle is its upper one, and Q R of ours is L Q of its own.
 */
#include "hal/cpu/library/lapack.h"

#include <assert.h>
#include <string.h>

#include "hal/cpu/library/lapack_library.h"

enum { BLOCK = 64 /* columns that LAPACK takes at once, at most */ };

/* Of dgelqf, dorglq: n * BLOCK and n; of dsyevd: 1 + 6 n + 2 n^2 and 3 + 5 n integers. */
size_t lapack_work_bytes(weft_dtype dtype, int64_t n)
{
    const size_t rows = (size_t)n;
    const size_t numbers = 1 + 6 * rows + 2 * rows * rows;
    const size_t block = (BLOCK + 1) * rows;
    return (numbers > block ? numbers : block) * weft_dtype_bytes(dtype) + (3 + 5 * rows) * sizeof(int32_t);
}

/* The call for the type. */
#define CALL(name, ...) (dtype == WEFT_DTYPE_F64 ? library->d##name(__VA_ARGS__) : library->s##name(__VA_ARGS__))

int lapack_potrf(const lapack *library, weft_dtype dtype, int64_t n, void *a, int64_t ld)
{
    assert(n > 0 && n <= LAPACK_MOST);
    return CALL(potrf, LAPACK_BY_COLUMNS, 'U', (int)n, a, (int)ld);
}

int lapack_potri(const lapack *library, weft_dtype dtype, int64_t n, void *a, int64_t ld)
{
    assert(n > 0 && n <= LAPACK_MOST);
    return CALL(potri, LAPACK_BY_COLUMNS, 'U', (int)n, a, (int)ld);
}

int lapack_potrs(const lapack *library, weft_dtype dtype, int64_t n, const void *a, int64_t ld, int64_t k, void *x,
                 int64_t ldx)
{
    assert(n > 0 && n <= LAPACK_MOST && k <= INT32_MAX);
    return CALL(potrs, LAPACK_BY_COLUMNS, 'U', (int)n, (int)k, a, (int)ld, x, (int)ldx);
}

int lapack_syevd(const lapack *library, weft_dtype dtype, int64_t n, void *a, int64_t ld, void *values, void *work)
{
    assert(n > 0 && n <= LAPACK_MOST);
    const int64_t numbers = 1 + 6 * n + 2 * n * n;
    int32_t *integers = (int32_t *)(void *)((char *)work + (size_t)numbers * weft_dtype_bytes(dtype));
    return CALL(syevd, LAPACK_BY_COLUMNS, 'V', 'U', (int)n, a, (int)ld, values, work, (int)numbers, integers,
                (int)(3 + 5 * n));
}

/* r = the lower triangle by columns of a[n, m] by columns, which is our upper one. */
static void copy_upper(weft_dtype dtype, int64_t n, const void *a, int64_t ld, void *r, int64_t ldr)
{
    const size_t size = weft_dtype_bytes(dtype);
    for (int64_t i = 0; i < n; ++i) {
        memcpy((char *)r + (size_t)(i * ldr + i) * size, (const char *)a + (size_t)(i * ld + i) * size,
               (size_t)(n - i) * size);
    }
}

int lapack_geqrf(const lapack *library, weft_dtype dtype, int64_t m, int64_t n, void *a, int64_t ld, void *r,
                 int64_t ldr, void *work)
{
    assert(n > 0 && m >= n && m <= INT32_MAX && n <= LAPACK_MOST);
    char *behind = (char *)work + (size_t)n * weft_dtype_bytes(dtype);
    const int numbers = (int)(n * BLOCK);
    int info = CALL(gelqf, LAPACK_BY_COLUMNS, (int)n, (int)m, a, (int)ld, work, (void *)behind, numbers);
    if (info == 0) {
        copy_upper(dtype, n, a, ld, r, ldr);
        info = CALL(orglq, LAPACK_BY_COLUMNS, (int)n, (int)m, (int)n, a, (int)ld, work, (void *)behind, numbers);
    }
    return info;
}
