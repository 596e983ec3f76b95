/* app/bench.c: weft bench KIND: finds the kind; and the statistics that all kinds print. */
#include "app/bench.h"

#include <math.h>
#include <string.h>

#include "app/command.h"
#include "base/sample.h"

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

bench_quartiles bench_quartiles_of(double *value, int count)
{
    if (count == 0) {
        return (bench_quartiles){0, (double)NAN, (double)NAN, (double)NAN, (double)NAN};
    }
    sample_sort(value, count);
    return (bench_quartiles){.count = count,
                             .least = value[0],
                             .q1 = sample_quantile(value, count, 0.25),
                             .median = sample_quantile(value, count, 0.5),
                             .q3 = sample_quantile(value, count, 0.75)};
}
