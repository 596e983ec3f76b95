/* hal/cpu/factor/eigen_check.c: see hal/cpu/factor/eigen_check.h. */
#include "hal/cpu/factor/eigen_check.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "hal/ref/ref_backend.h"

/* Errors of a sound decomposition are a few roundings times the root of its size. */
#define ROUNDINGS 16.0

/* Element i of the vector of signs: one bit of a mixed number, so that no pattern of a matrix cancels in the sums. */
static double sign_of(int64_t i)
{
    uint32_t h = (uint32_t)i * 2654435761U + 40503U;
    h ^= h >> 15;
    h *= 0x846CA68BU;
    return (h >> 31) != 0 ? 1.0 : -1.0;
}

/* ax[n] = A x from the lower triangle. Returns the Frobenius norm of A. */
static double multiply(const hal_mat *a, double *ax)
{
    double squares = 0.0;
    for (int64_t i = 0; i < a->rows; ++i) {
        ax[i] = 0.0;
    }
    for (int64_t i = 0; i < a->rows; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
            const double x = ref_load(a, i, j);
            ax[i] += x * sign_of(j);
            ax[j] += j < i ? x * sign_of(i) : 0.0;
            squares += (j < i ? 2.0 : 1.0) * x * x;
        }
    }
    return sqrt(squares);
}

bool eigen_stands(const hal_mat *a, const hal_mat *vectors, const hal_mat *values, double *work)
{
    const int64_t n = a->rows;
    double *ax = work, *same = work + n, *turned = work + 2 * n;
    const double rounding = a->dtype == WEFT_DTYPE_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    const double most = ROUNDINGS * rounding * sqrt((double)n);
    const double norm = multiply(a, ax);
    for (int64_t j = 0; j < n; ++j) {
        same[j] = turned[j] = 0.0;
    }
    for (int64_t i = 0; i < n; ++i) {
        const double value = ref_load(values, 0, i);
        double part = 0.0;
        for (int64_t j = 0; j < n; ++j) {
            part += ref_load(vectors, i, j) * sign_of(j);
        }
        for (int64_t j = 0; j < n; ++j) {
            same[j] += part * ref_load(vectors, i, j);
            turned[j] += value * part * ref_load(vectors, i, j);
        }
    }
    double far_a = 0.0, far_x = 0.0; /* squares */
    for (int64_t j = 0; j < n; ++j) {
        far_a += (turned[j] - ax[j]) * (turned[j] - ax[j]);
        far_x += (same[j] - sign_of(j)) * (same[j] - sign_of(j));
    }
    const double length = sqrt((double)n);
    return sqrt(far_a) <= most * norm * length && sqrt(far_x) <= most * length; /* false for a NaN */
}
