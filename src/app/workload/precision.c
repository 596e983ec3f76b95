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
    const int32_t ranks = comm_size(context->comm);
    int32_t without = context->hal->native_bf16 ? ranks : comm_rank(context->comm);
    WEFT_TRY(comm_allreduce(context->comm, &without, 1, WEFT_DTYPE_I32, COMM_MIN));
    if (without < ranks) {
        log_warn(FLAG_PRECISION " bf16: the backend of rank %d (%s) has no products of bf16 there; f32 is used",
                 without, context->backends);
        return WEFT_OK;
    }
    *values = WEFT_DTYPE_BF16;
    return WEFT_OK;
}
