/* app/bench.c: weft bench KIND: finds the kind; and the statistics that all kinds print. */
#include "app/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/command.h"

weft_status app_bench(const weft_options *options)
{
    static const struct {
        const char *name;
        weft_status (*run)(const weft_options *options);
    } kinds[] = {{"spmm", bench_spmm}, {"comm", bench_comm}};
    const char *wanted = option_argument(options, 0);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, wanted) == 0) {
            return kinds[i].run(options);
        }
    }
    return weft_fail(WEFT_ERR_USAGE, "weft bench %s: the kinds are spmm (aggregation) and comm (communication)",
                     wanted);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, int count, double share)
{
    double at = share * (double)(count - 1);
    int low = (int)at;
    int high = low + 1 < count ? low + 1 : low;
    return sorted[low] + (at - (double)low) * (sorted[high] - sorted[low]);
}

bench_quartiles bench_quartiles_of(double *value, int count)
{
    if (count == 0) {
        return (bench_quartiles){0, (double)NAN, (double)NAN, (double)NAN, (double)NAN};
    }
    qsort(value, (size_t)count, sizeof *value, ascending);
    return (bench_quartiles){.count = count,
                             .least = value[0],
                             .q1 = quantile(value, count, 0.25),
                             .median = quantile(value, count, 0.5),
                             .q3 = quantile(value, count, 0.75)};
}
