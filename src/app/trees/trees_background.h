/* app/trees/trees_background.h: the rows that answers of boosted trees are compared with. */
#pragma once

#include "app/trees/trees_job.h"

/* [out] value: [count, columns] of rows that the seed draws, NaN for missing values, the same on every rank; for
 * weft_free, also after a failure. WEFT_ERR_DATA, _NOINPUT: the background is no table that the model reads.
 * Collective. */
weft_status trees_background(const workload *work, const explain_request *how, float **value, int64_t *count);
