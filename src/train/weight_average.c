/* train/weight_average.c: see train/weight_average.h. */
#include "train/weight_average.h"

#include <assert.h>

static weft_status copy(const weft_tensor *from, weft_tensor *to)
{
    return from->cols == 0 ? WEFT_OK : tensor_axpby(1.0, from, 0.0, to);
}

weft_status weight_average_create(param_store *params, double decay, weight_average *a)
{
    assert(decay >= 0.0 && decay < 1.0);
    *a = (weight_average){.decay = decay};
    if (decay == 0.0) {
        return WEFT_OK;
    }
    a->params = params;
    WEFT_TRY(tensor_create(params->hal, params->dtype, 1, params->elements, WEFT_MEM_PARAMETER, &a->value));
    WEFT_TRY(tensor_create(params->hal, params->dtype, 1, params->own, WEFT_MEM_PARAMETER, &a->own));
    WEFT_TRY(tensor_create(params->hal, params->dtype, 1, params->elements, WEFT_MEM_PARAMETER, &a->trained_value));
    return tensor_create(params->hal, params->dtype, 1, params->own, WEFT_MEM_PARAMETER, &a->trained_own);
}

void weight_average_destroy(weight_average *a)
{
    TENSOR_DESTROY_ALL(&a->value, &a->own, &a->trained_value, &a->trained_own);
    *a = (weight_average){.params = NULL};
}

void weight_average_reset(weight_average *a)
{
    a->any = false;
    a->shown = false;
}

weft_status weight_average_add(weight_average *a, int64_t step)
{
    const double decay = step > 1 ? a->decay : 0.0;
    if (a->params == NULL) {
        return WEFT_OK;
    }
    assert(!a->shown);
    a->any = true;
    WEFT_TRY(tensor_axpby(1.0 - decay, &a->params->value, decay, &a->value));
    return a->own.cols == 0 ? WEFT_OK : tensor_axpby(1.0 - decay, &a->params->own_value, decay, &a->own);
}

weft_status weight_average_show(weight_average *a)
{
    if (!a->any || a->shown) {
        return WEFT_OK;
    }
    a->shown = true;
    WEFT_TRY(copy(&a->params->value, &a->trained_value));
    WEFT_TRY(copy(&a->params->own_value, &a->trained_own));
    WEFT_TRY(copy(&a->value, &a->params->value));
    return copy(&a->own, &a->params->own_value);
}

weft_status weight_average_hide(weight_average *a)
{
    if (!a->shown) {
        return WEFT_OK;
    }
    a->shown = false;
    WEFT_TRY(copy(&a->trained_value, &a->params->value));
    return copy(&a->trained_own, &a->params->own_value);
}
