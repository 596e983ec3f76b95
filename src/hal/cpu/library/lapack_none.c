/* hal/cpu/library/lapack_none.c: a build without LAPACK, where lapack_get returns NULL and nothing else is called. */
#include "hal/cpu/library/lapack.h"

#ifndef WEFT_HAVE_LAPACK

#include <assert.h>
#include <stdio.h>

const lapack *lapack_get(void)
{
    return NULL;
}

bool lapack_has_threads(const lapack *library)
{
    (void)library;
    return false;
}

void lapack_describe(bool open, char *text, size_t bytes)
{
    (void)open;
    snprintf(text, bytes, "none");
}

size_t lapack_work_bytes(weft_dtype dtype, int64_t n)
{
    (void)dtype, (void)n;
    return 0;
}

static int never(void)
{
    assert(false);
    return -1;
}

int lapack_potrf(const lapack *library, weft_dtype dtype, int64_t n, void *a, int64_t ld)
{
    (void)library, (void)dtype, (void)n, (void)a, (void)ld;
    return never();
}

int lapack_potri(const lapack *library, weft_dtype dtype, int64_t n, void *a, int64_t ld)
{
    (void)library, (void)dtype, (void)n, (void)a, (void)ld;
    return never();
}

int lapack_potrs(const lapack *library, weft_dtype dtype, int64_t n, const void *a, int64_t ld, int64_t k, void *x,
                 int64_t ldx)
{
    (void)library, (void)dtype, (void)n, (void)a, (void)ld, (void)k, (void)x, (void)ldx;
    return never();
}

int lapack_syevd(const lapack *library, weft_dtype dtype, int64_t n, void *a, int64_t ld, void *values, void *work)
{
    (void)library, (void)dtype, (void)n, (void)a, (void)ld, (void)values, (void)work;
    return never();
}

int lapack_geqrf(const lapack *library, weft_dtype dtype, int64_t m, int64_t n, void *a, int64_t ld, void *r,
                 int64_t ldr, void *work)
{
    (void)library, (void)dtype, (void)m, (void)n, (void)a, (void)ld, (void)r, (void)ldr, (void)work;
    return never();
}
#endif
