/* Gradients of operations against central finite differences, in f64 on ref. The scalar that is differentiated is
 * sum(w * y) with random weights w, or the loss itself. */
#pragma once

#include <math.h>

#include "hal/hal.h"
#include "support/random.h"
#include "support/test.h"

enum { M = 6, N = 5, K = 4 };
static const double STEP = 1e-5;
static const double TOLERANCE = 1e-8; /* of a second-order formula in double: rounding dominates, 1e-16 / 1e-5 a term */

static weft_hal *hal; /* ref: device memory is the host's */

/* Arrays without gaps as operands. */
static inline hal_mat mat(double *x, int64_t rows, int64_t cols)
{
    return hal_mat_of(x, WEFT_DTYPE_F64, rows, cols, cols);
}

/* hal_<op> with its arguments named. */
#define OP(op, ...) ASSERT_OK(hal_##op(hal, &(hal_##op##_args){__VA_ARGS__}))

static uint64_t random_state;

static inline void fill_random(double *x, int count)
{
    for (int i = 0; i < count; ++i) {
        x[i] = 2 * test_uniform(&random_state) - 1;
    }
}

static inline double dot(const double *a, const double *b, int count)
{
    double sum = 0.0;
    for (int i = 0; i < count; ++i) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* Each element of x is moved both ways; f is evaluated anew from the context. */
static inline void check_gradient(const char *what, double (*f)(void *context), void *context, double *x,
                                  const double *gradient, int count)
{
    for (int i = 0; i < count; ++i) {
        double kept = x[i];
        x[i] = kept + STEP;
        double above = f(context);
        x[i] = kept - STEP;
        double below = f(context);
        x[i] = kept;
        double slope = (above - below) / (2.0 * STEP);
        if (!(fabs(slope - gradient[i]) <= TOLERANCE * (1.0 + fabs(slope)))) {
            fail_msg("%s: derivative %d is %.12g, finite differences say %.12g", what, i, gradient[i], slope);
        }
    }
}

static inline int open_ref(void **state)
{
    (void)state;
    return weft_hal_open("ref", 1, &hal) == WEFT_OK ? 0 : -1;
}

static inline int close_ref(void **state)
{
    (void)state;
    weft_hal_close(hal);
    return 0;
}
