/* hal/ref/ref_fixed.h: elements of sums in fixed point (hal/ops.def), for the operation that reads the prepared
 * matrix. */
#pragma once

#include "hal/ref/ref_backend.h"

/* q of element (i, j): scale[i] * x[i,j] / quantum[j], rounded; 0 where that is no number. */
int32_t ref_fixed_round(const hal_mat *x, int64_t i, int64_t j, const hal_mat *scale, const hal_mat *quantum);
/* Element (i, j) of out; args->sum is not read. */
float ref_fixed_end(const hal_fixed_finish_args *args, int64_t i, int64_t j, int32_t sum);
