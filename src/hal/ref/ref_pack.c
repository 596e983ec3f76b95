/* hal/ref/ref_pack.c: the pack operations as they are defined; see hal/ops.def. */
#include <assert.h>
#include <math.h>

#include "hal/pack.h"
#include "hal/ref/ref_backend.h"

/* ---- reduce ------------------------------------------------------------------------------------------------------ */

#define REDUCE(type, sum_type, is_nan)                                                                                 \
    static type reduce_##type(hal_reduction reduction, type left, type right)                                          \
    {                                                                                                                  \
        switch (reduction) {                                                                                           \
        case HAL_SUM:                                                                                                  \
            return (type)((sum_type)left + (sum_type)right);                                                           \
        case HAL_MAX:                                                                                                  \
            return left > right || is_nan(left) ? left : right;                                                        \
        case HAL_MIN:                                                                                                  \
            return left < right || is_nan(left) ? left : right;                                                        \
        }                                                                                                              \
        return left;                                                                                                   \
    }                                                                                                                  \
    static void reduce_all_##type(const hal_reduce_args *args)                                                         \
    {                                                                                                                  \
        const type *left = args->left.source;                                                                          \
        const type *right = args->right.source;                                                                        \
        type *to = args->to.data;                                                                                      \
        for (int64_t i = 0; i < args->to.rows; ++i) {                                                                  \
            for (int64_t j = 0; j < args->to.cols; ++j) {                                                              \
                to[i * args->to.ld + j] =                                                                              \
                    reduce_##type(args->reduction, left[i * args->left.ld + j], right[i * args->right.ld + j]);        \
            }                                                                                                          \
        }                                                                                                              \
    }
#define NEVER(x) false
REDUCE(float, float, isnan)
REDUCE(double, double, isnan)
REDUCE(int32_t, uint32_t, NEVER) /* integers wrap */
REDUCE(int64_t, uint64_t, NEVER)
REDUCE(uint8_t, uint8_t, NEVER)

weft_status ref_reduce_mixed(const hal_reduce_args *args)
{
    assert(args->left.rows == args->to.rows && args->left.cols == args->to.cols);
    assert(args->right.rows == args->to.rows && args->right.cols == args->to.cols);
    switch (args->to.dtype) {
    case WEFT_DTYPE_F32:
        reduce_all_float(args);
        break;
    case WEFT_DTYPE_F64:
        reduce_all_double(args);
        break;
    case WEFT_DTYPE_I32:
        reduce_all_int32_t(args);
        break;
    case WEFT_DTYPE_I64:
        reduce_all_int64_t(args);
        break;
    default: /* of hal_reduces bytes are left */
        reduce_all_uint8_t(args);
        break;
    }
    return WEFT_OK;
}

/* ---- cast -------------------------------------------------------------------------------------------------------- */

weft_status ref_cast_mixed(const hal_cast_args *args)
{
    assert(args->x.rows == args->y.rows && args->x.cols == args->y.cols);
    EACH_ELEMENT(y) {
        const double x = ref_load(&args->x, i, j);
        ref_store(&args->y, i, j, args->add ? ref_load(&args->y, i, j) + x : x);
    }
    return WEFT_OK;
}

/* ---- selection --------------------------------------------------------------------------------------------------- */

static int64_t count_reaching(const float *x, int64_t n, uint32_t magnitude)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) {
        count += hal_magnitude(x[i]) >= magnitude ? 1 : 0;
    }
    return count;
}

weft_status ref_select_largest_mixed(const hal_select_largest_args *args)
{
    const float *x = args->x.source;
    const int64_t n = args->x.rows * args->x.cols;
    const int64_t k = args->index.rows * args->index.cols;
    int32_t *index = args->index.data;
    float *value = args->value.data;
    uint32_t kth = 0; /* the largest magnitude that k elements reach, bit by bit from the top */
    int64_t to = 0;
    assert(args->x.rows <= 1 && n <= INT32_MAX && k <= n && args->value.cols == args->index.cols);
    for (uint32_t bit = 1u << 30; bit > 0; bit >>= 1) {
        kth |= count_reaching(x, n, kth | bit) >= k ? bit : 0;
    }
    int64_t ties = k - count_reaching(x, n, kth + 1); /* that are taken */
    for (int64_t i = 0; i < n; ++i) {
        const bool ties_with = hal_magnitude(x[i]) == kth && ties > 0;
        if (hal_magnitude(x[i]) > kth || ties_with) {
            index[to] = (int32_t)i;
            value[to++] = x[i];
            ties -= ties_with ? 1 : 0;
        }
    }
    return WEFT_OK;
}

weft_status ref_sum_magnitudes_mixed(const hal_sum_magnitudes_args *args)
{
    const float *x = args->x.source;
    double *out = args->out.data;
    double sum = 0.0;
    double top = 0.0;
    assert(args->x.rows <= 1 && args->out.cols == 2);
    for (int64_t i = 0; i < args->x.rows * args->x.cols; ++i) {
        double magnitude = fabs((double)x[i]);
        sum += magnitude;
        top = magnitude > top || isnan(magnitude) ? magnitude : top;
    }
    out[0] = sum;
    out[1] = top;
    return WEFT_OK;
}

weft_status ref_zero_unless_finite_mixed(const hal_zero_unless_finite_args *args)
{
    float *x = args->x.data;
    int64_t *place = args->place.data;
    const int64_t n = args->x.rows * args->x.cols;
    assert(args->x.rows <= 1);
    *place = 0;
    while (*place < n && isfinite(x[*place])) {
        ++*place;
    }
    if (*place == n) {
        *place = -1;
        return WEFT_OK;
    }
    for (int64_t i = 0; i < n; ++i) {
        x[i] = 0.0f;
    }
    return WEFT_OK;
}
