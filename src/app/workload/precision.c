/* app/workload/precision.c: see app/workload/precision.h. */
#include "app/workload/precision.h"

#include "base/log.h"
#include "train/model.h"
#include "train/train_options.def"

weft_dtype precision_asked(const weft_options *options)
{
    static const weft_dtype types[] = {
        [TRAIN_PRECISION_F32] = WEFT_DTYPE_F32,
        [TRAIN_PRECISION_BF16] = WEFT_DTYPE_BF16,
        [TRAIN_PRECISION_F16] = WEFT_DTYPE_F16,
    };
    return types[option_choice(options, OPT_PRECISION)];
}

bool precision_is_native(const weft_hal *hal, weft_dtype values)
{
    return values == WEFT_DTYPE_BF16 ? hal->native_bf16 : values == WEFT_DTYPE_F16 ? hal->native_f16 : true;
}

weft_status precision_of(const app_context *context, weft_dtype *values)
{
    const weft_dtype asked = precision_asked(context->options);
    *values = WEFT_DTYPE_F32;
    if (asked == WEFT_DTYPE_F32) {
        return WEFT_OK;
    }
    const char *word = option_value_text(context->options, OPT_PRECISION);
    const int32_t ranks = comm_size(context->comm);
    int32_t without = precision_is_native(context->hal, asked) ? ranks : comm_rank(context->comm);
    WEFT_TRY(comm_allreduce(context->comm, &without, 1, WEFT_DTYPE_I32, COMM_MIN));
    if (without < ranks) {
        log_warn(FLAG_PRECISION " %s: the backend of rank %d (%s) has no products of %s there; f32 is used", word,
                 without, context->backends, word);
        return WEFT_OK;
    }
    *values = asked;
    return WEFT_OK;
}
