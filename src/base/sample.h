/* base/sample.h: order statistics of a few numbers. */
#pragma once

#include <stdint.h>

/* Ascending. No NaN. */
void sample_sort(double *value, int64_t count);
/* Returns a quantile of count >= 1 ascending numbers, interpolated between neighbours; share 0.5 is the median. */
double sample_quantile(const double *sorted, int64_t count, double share);
