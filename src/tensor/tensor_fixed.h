/*
 * tensor/tensor_fixed.h: sums over neighbours in fixed point (hal/ops.def): rows of float32 rounded to 16-bit integers
 * with a quantum a column, and their exact sums.
 *
 *     WEFT_TRY(tensor_quanta_measure(&quanta, &x, pre));      the largest of each column, in quanta.host
 *     ... the larger of all ranks' ...
 *     WEFT_TRY(tensor_quanta_set(&quanta, most, x.cols));
 *     WEFT_TRY(tensor_fixed_run(&a, &x, &terms, &out));
 */
#pragma once

#include "tensor/tensor.h"

/* The quanta of the columns of one matrix at a time. */
typedef struct tensor_quanta {
    weft_tensor on; /* [1, width]: the quanta */
    float *host;    /* [width]: the largest magnitudes, then the quanta */
} tensor_quanta;

/* Free with tensor_quanta_destroy, also after a failure. */
weft_status tensor_quanta_create(weft_hal *hal, int64_t width, tensor_quanta *quanta);
void tensor_quanta_destroy(tensor_quanta *quanta);
/* quanta->host[x.cols] = the largest |scale * x| of each column; scale: [x.rows, 1] or NULL. Waits for the backend. */
weft_status tensor_quanta_measure(tensor_quanta *quanta, const weft_tensor *x, const weft_tensor *scale);
/* Makes the quanta of `cols` columns of quanta->host; most: of hal_fixed_most. */
weft_status tensor_quanta_set(tensor_quanta *quanta, int32_t most, int64_t cols);

/* q = scale * x / quanta, int16. */
weft_status tensor_fixed_rows(const weft_tensor *x, const weft_tensor *scale, const tensor_quanta *quanta,
                              weft_tensor *q);
/* out = beta * out + A x of integers: x int16, out int32, and no terms but beta and slices; or of float32 by quanta, as
 * tensor_spmm; the matrix was prepared as HAL_SPMM_I16. quanta: NULL with integers. */
weft_status tensor_fixed_run(const tensor_sparse *a, const weft_tensor *x, const tensor_quanta *quanta,
                             const tensor_spmm_terms *terms, weft_tensor *out);
/* out = post * quanta * sum + beta * out + diag * x, of terms that have no `pre`. */
weft_status tensor_fixed_finish(const weft_tensor *sum, const tensor_quanta *quanta, const tensor_spmm_terms *terms,
                                const weft_tensor *x, weft_tensor *out);
