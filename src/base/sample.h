/* base/sample.h: order statistics of a few numbers. */
#pragma once

#include <stdint.h>

/* Ascending. No NaN. */
void sample_sort(double *value, int64_t count);
/* Returns a quantile of count >= 1 ascending numbers, interpolated between neighbours; share 0.5 is the median. */
double sample_quantile(const double *sorted, int64_t count, double share);

typedef struct sample_quartiles {
    int64_t count;
    double least, q1, median, q3; /* NaN if count is 0 */
} sample_quartiles;

/* Sorts `value`. */
sample_quartiles sample_quartiles_of(double *value, int64_t count);
