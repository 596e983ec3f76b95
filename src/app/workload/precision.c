/* app/workload/precision.c: see app/workload/precision.h. */
#include "app/workload/precision.h"

#include "base/log.h"
#include "train/train_options.def"

weft_status precision_of(const app_context *context, weft_dtype *values)
{
    *values = WEFT_DTYPE_F32;
    if (option_choice(context->options, OPT_PRECISION) == TRAIN_PRECISION_F32) {
        return WEFT_OK;
    }
    int32_t native = context->hal->native_bf16;
    WEFT_TRY(comm_allreduce(context->comm, &native, 1, WEFT_DTYPE_I32, COMM_MIN));
    if (native == 0) {
        log_warn(FLAG_PRECISION " bf16: backend %s on this processor has no products of bf16; f32 is used",
                 context->hal->name);
        return WEFT_OK;
    }
    *values = WEFT_DTYPE_BF16;
    return WEFT_OK;
}
