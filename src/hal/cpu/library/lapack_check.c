/*
 * hal/cpu/library/lapack_check.c: whether the library computes right on this processor: matrices of two sizes, one
 * below and one above what its kernels for small matrices take, in both types, against plain loops in double. The check
 * runs on one thread, as factorisations of this size do.
 */
#include "hal/cpu/library/lapack.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/alloc.h"
#include "hal/cpu/library/lapack_library.h"

enum { SMALL = 37, LARGE = 150, MATRICES = 4 };

/* A trial in one type: what was put in, as doubles, and what came out. */
typedef struct check_trial {
    const lapack *library;
    weft_dtype dtype;
    int64_t n;
    double *matrix;          /* [n, n] symmetric, diagonally dominant: eigenvalues from 1 to 3 */
    void *in, *out, *values; /* of the type: [n, n], [n, n], [n] */
    void *work;
} check_trial;

static double number_at(const check_trial *t, const void *from, int64_t i)
{
    return t->dtype == WEFT_DTYPE_F64 ? ((const double *)from)[i] : (double)((const float *)from)[i];
}

static void put_number(const check_trial *t, void *to, int64_t i, double x)
{
    if (t->dtype == WEFT_DTYPE_F64) {
        ((double *)to)[i] = x;
    } else {
        ((float *)to)[i] = (float)x;
    }
}

/* Returns true if |sum over k of (left times right)(i, j) - wanted(i, j)| is rounding alone, for all i and j: the rows
 * of `left` times the columns of `right`, or its rows. */
static bool is_product(const check_trial *t, const void *left, const void *right, bool by_rows, const double *wanted)
{
    const double epsilon = t->dtype == WEFT_DTYPE_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    double worst = 0.0;
    for (int64_t i = 0; i < t->n; ++i) {
        for (int64_t j = 0; j < t->n; ++j) {
            double sum = 0.0;
            for (int64_t k = 0; k < t->n; ++k) {
                sum += number_at(t, left, i * t->n + k) * number_at(t, right, by_rows ? j * t->n + k : k * t->n + j);
            }
            const double error = fabs(sum - wanted[i * t->n + j]);
            worst = error > worst || isnan(error) ? error : worst; /* a NaN stays */
        }
    }
    return worst <= 16.0 * (double)t->n * epsilon;
}

static void fill(const check_trial *t)
{
    for (int64_t i = 0; i < t->n; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
            const double u = (double)((i * 7919 + j * 104729 + i * j * 31) % 1009) / 1009.0 - 0.5;
            const double x = i == j ? 2.0 : u / (double)t->n;
            put_number(t, t->in, i * t->n + j, x);
            put_number(t, t->in, j * t->n + i, x);
        }
    }
    for (int64_t i = 0; i < t->n * t->n; ++i) {
        t->matrix[i] = number_at(t, t->in, i);
    }
}

static bool multiplies(const check_trial *t)
{
    const int n = (int)t->n;
    enum { PLAIN = 111, TRANSPOSED = 112 };
    double *product = t->work;
    for (int64_t i = 0; i < t->n * t->n; ++i) {
        put_number(t, t->out, i, NAN);
    }
    if (t->dtype == WEFT_DTYPE_F64) {
        t->library->dgemm(LAPACK_BY_COLUMNS, PLAIN, TRANSPOSED, n, n, n, 1.0, t->in, n, t->in, n, 0.0, t->out, n);
    } else {
        t->library->sgemm(LAPACK_BY_COLUMNS, PLAIN, TRANSPOSED, n, n, n, 1.0F, t->in, n, t->in, n, 0.0F, t->out, n);
    }
    for (int64_t i = 0; i < t->n * t->n; ++i) {
        product[i] = number_at(t, t->out, i);
    }
    return is_product(t, t->in, t->in, true, product);
}

static bool factorises(const check_trial *t)
{
    memcpy(t->out, t->in, (size_t)(t->n * t->n) * weft_dtype_bytes(t->dtype));
    if (lapack_potrf(t->library, t->dtype, t->n, t->out, t->n) != 0) {
        return false;
    }
    for (int64_t i = 0; i < t->n; ++i) {
        for (int64_t j = i + 1; j < t->n; ++j) {
            put_number(t, t->out, i * t->n + j, 0.0);
        }
    }
    return is_product(t, t->out, t->out, true, t->matrix);
}

/* A = V^T diag(values) V with the vectors in the rows of V. */
static bool finds_eigenvalues(const check_trial *t)
{
    memcpy(t->out, t->in, (size_t)(t->n * t->n) * weft_dtype_bytes(t->dtype));
    if (lapack_syevd(t->library, t->dtype, t->n, t->out, t->n, t->values, t->work) != 0) {
        return false;
    }
    double *scaled = t->work; /* V^T with its columns times the values */
    for (int64_t i = 0; i < t->n; ++i) {
        for (int64_t j = 0; j < t->n; ++j) {
            scaled[j * t->n + i] = number_at(t, t->out, i * t->n + j) * number_at(t, t->values, i);
        }
    }
    for (int64_t i = 0; i < t->n * t->n; ++i) {
        put_number(t, t->in, i, scaled[i]);
    }
    return is_product(t, t->in, t->out, false, t->matrix);
}

static const char *check_type(check_trial *t)
{
    static const char *const words[2][3] = {
        {"products of float32", "Cholesky factors of float32", "eigenvalues of float32"},
        {"products of float64", "Cholesky factors of float64", "eigenvalues of float64"}};
    const int wide = t->dtype == WEFT_DTYPE_F64 ? 1 : 0;
    static const int64_t sizes[] = {SMALL, LARGE};
    for (int i = 0; i < 2; ++i) {
        t->n = sizes[i];
        fill(t);
        if (!multiplies(t)) {
            return words[wide][0];
        }
        if (!factorises(t)) {
            return words[wide][1];
        }
        if (!finds_eigenvalues(t)) {
            return words[wide][2];
        }
    }
    return NULL;
}

const char *lapack_check(const lapack *library)
{
    const size_t matrix = (size_t)LARGE * LARGE * sizeof(double);
    const size_t work = lapack_work_bytes(WEFT_DTYPE_F64, LARGE);
    char *block = NULL;
    if (weft_malloc(MATRICES * matrix + work, 1, WEFT_MEM_WORKSPACE, (void **)&block) != WEFT_OK) {
        weft_error_clear();
        return "what there is no memory to check";
    }
    check_trial t = {.library = library,
                     .dtype = WEFT_DTYPE_F32,
                     .matrix = (double *)(void *)block,
                     .in = block + matrix,
                     .out = block + 2 * matrix,
                     .values = block + 3 * matrix,
                     .work = block + MATRICES * matrix};
    const int before = omp_get_max_threads();
    omp_set_num_threads(1);
    const char *wrong = check_type(&t);
    if (wrong == NULL) {
        t.dtype = WEFT_DTYPE_F64;
        wrong = check_type(&t);
    }
    omp_set_num_threads(before);
    weft_free(block);
    return wrong;
}
