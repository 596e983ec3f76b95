/* app/workload/precision.h: the type of values between layers, by --precision and the processors. */
#pragma once

#include "app/setup/context.h"

/* Returns the type that --precision names. */
weft_dtype precision_asked(const weft_options *options);
/* Returns true if the backend multiplies values of this type without converting them to float32. */
bool precision_is_native(const weft_hal *hal, weft_dtype values);
/* [out] values WEFT_DTYPE_F32, or WEFT_DTYPE_BF16 or WEFT_DTYPE_F16 where the backends of all ranks multiply that:
 * elsewhere it is computed by way of float32, and a warning says that float32 is used. The same on every rank.
 * Collective. */
weft_status precision_of(const app_context *context, weft_dtype *values);
