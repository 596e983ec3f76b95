/* hal/ref/ref_fixed.c: sums in fixed point as they are defined, element by element. fixed_run, which reads the prepared
 * matrix, is in ref_sparse.c. Products and sums of float32 are rounded one by one: this file is compiled without fused
 * operations. */
#include <math.h>

#include "hal/ref/ref_fixed.h"

static float number_or(const hal_mat *vector, int64_t i, float otherwise)
{
    return vector->source != NULL ? ((const float *)vector->source)[i] : otherwise;
}

weft_status ref_fixed_largest_mixed(const hal_fixed_largest_args *args)
{
    const float *x = args->x.source;
    float *out = args->out.data;
    for (int64_t j = 0; j < args->out.cols; ++j) {
        out[j] = 0.0f;
        for (int64_t i = 0; i < args->x.rows; ++i) {
            const float own = fabsf(AT(x, i, j) * number_or(&args->scale, i, 1.0f));
            out[j] = isnan(out[j]) || own <= out[j] ? out[j] : own;
        }
    }
    return WEFT_OK;
}

int32_t ref_fixed_round(const hal_mat *x, int64_t i, int64_t j, const hal_mat *scale, const hal_mat *quantum)
{
    const float quanta =
        ((const float *)x->source)[i * x->ld + j] * number_or(scale, i, 1.0f) / ((const float *)quantum->source)[j];
    return isfinite(quanta) ? (int32_t)nearbyintf(quanta) : 0;
}

weft_status ref_fixed_rows_mixed(const hal_fixed_rows_args *args)
{
    int16_t *q = args->q.data;
    EACH_ELEMENT(q) {
        AT(q, i, j) = (int16_t)ref_fixed_round(&args->x, i, j, &args->scale, &args->quantum);
    }
    return WEFT_OK;
}

float ref_fixed_end(const hal_fixed_finish_args *args, int64_t i, int64_t j, int32_t sum)
{
    float y = number_or(&args->post, i, 1.0f) * (((const float *)args->quantum.source)[j] * (float)sum);
    y = args->beta != 0.0 ? y + ((const float *)args->out.source)[i * args->out.ld + j] : y;
    return args->diag.source != NULL
               ? y + number_or(&args->diag, i, 0.0f) * ((const float *)args->x.source)[i * args->x.ld + j]
               : y;
}

weft_status ref_fixed_finish_mixed(const hal_fixed_finish_args *args)
{
    const int32_t *sum = args->sum.source;
    float *out = args->out.data;
    EACH_ELEMENT(out) {
        AT(out, i, j) = ref_fixed_end(args, i, j, AT(sum, i, j));
    }
    return WEFT_OK;
}

weft_status ref_fixed_add_mixed(const hal_fixed_add_args *args)
{
    const int32_t *x = args->x.source, *index = args->index.source;
    int32_t *y = args->y.data;
    EACH_ELEMENT(x) {
        AT(y, index[i], j) += AT(x, i, j);
    }
    return WEFT_OK;
}
