/* base/sample.c: see base/sample.h. */
#include "base/sample.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

void sample_sort(double *value, int64_t count)
{
    if (count > 1) { /* none may be NULL, which qsort does not take */
        qsort(value, (size_t)count, sizeof *value, ascending);
    }
}

double sample_quantile(const double *sorted, int64_t count, double share)
{
    double place = share * (double)(count - 1);
    int64_t low = (int64_t)place;
    int64_t high = low + 1 < count ? low + 1 : low;
    return sorted[low] + (place - (double)low) * (sorted[high] - sorted[low]);
}

sample_quartiles sample_quartiles_of(double *value, int64_t count)
{
    if (count == 0) {
        return (sample_quartiles){0, (double)NAN, (double)NAN, (double)NAN, (double)NAN};
    }
    sample_sort(value, count);
    return (sample_quartiles){count, value[0], sample_quantile(value, count, 0.25), sample_quantile(value, count, 0.5),
                              sample_quantile(value, count, 0.75)};
}
