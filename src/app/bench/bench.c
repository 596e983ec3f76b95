/* app/bench/bench.c: weft bench KIND: finds the kind; and the statistics that all kinds print. */
#include "app/bench/bench.h"

#include <math.h>
#include <string.h>

#include "app/cli/command.h"
#include "app/dense/dense_options.h"
#include "app/gnn/gnn_options.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/sample.h"

enum { MAX_SECONDS = 60, LEAST_REPEATS = 3, MAX_INNER = 10000 };
#define SAMPLE_SECONDS 50e-6
#define LONG_SECONDS   0.05

/* An option of other kinds would be taken for something that was measured. What a file or the environment says is for all. */
static weft_status check_kind(const weft_options *options, const char *kind)
{
    static const struct {
        option_id id;
        const char *kinds;
    } rows[] = {
        {OPT_DATA, "spmm"},
        {OPT_FORMS, "spmm"},
        {OPT_DIMS, "spmm|gemm"},
        {OPT_ROWS, "gemm"},
        {OPT_INPUTS, "gemm"},
        {OPT_MODEL, "dense"},
        {OPT_BATCH_SIZE, "dense"},
        {OPT_PRECISION, "dense"},
        {OPT_CONVOLUTION, "dense"},
        {OPT_OP, "comm"},
        {OPT_SIZES, "comm"},
        {OPT_ALGORITHMS, "comm"},
        {OPT_THREAD_COUNTS, "spmm|gemm|dense"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        WEFT_CHECK(option_source_of(options, rows[i].id) != OPTION_COMMAND_LINE ||
                       option_list_has(rows[i].kinds, '|', kind),
                   WEFT_ERR_USAGE, "--%s %s: weft bench %s does not use it (weft bench %s does)%s",
                   option_row_in(options, rows[i].id)->name, option_value_text(options, rows[i].id), kind,
                   rows[i].kinds, rows[i].id == OPT_PRECISION ? "; it measures float32" : "");
    }
    return WEFT_OK;
}

weft_status app_bench(const weft_options *options)
{
    static const struct {
        const char *name;
        weft_status (*run)(const weft_options *options);
    } kinds[] = {{"spmm", bench_spmm}, {"gemm", bench_gemm}, {"dense", bench_dense}, {"comm", bench_comm}};
    const char *wanted = option_argument(options, 0);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, wanted) == 0) {
            WEFT_TRY(check_kind(options, wanted));
            return kinds[i].run(options);
        }
    }
    return weft_fail(
        WEFT_ERR_USAGE,
        "weft bench %s: the kinds are spmm (aggregation), gemm (dense products), dense (networks on images) and "
        "comm (communication)",
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

/* Runs in a sample, so that it lasts long enough for the clock; the second run to warm up counts. */
static weft_status warm_up(weft_status (*run)(void *argument), void *argument, int *inner)
{
    double seconds = 0.0;
    for (int i = 0; i < 2; i++) {
        const double begin = clock_seconds();
        WEFT_TRY(run(argument));
        seconds = clock_seconds() - begin;
        if (seconds > LONG_SECONDS) {
            break; /* warm enough */
        }
    }
    const double wanted = ceil(SAMPLE_SECONDS / fmax(seconds, 1e-9));
    *inner = wanted < MAX_INNER ? (int)wanted : MAX_INNER;
    return WEFT_OK;
}

weft_status bench_time(weft_status (*run)(void *argument), void *argument, int repeats, bench_quartiles *seconds)
{
    double *sample = NULL;
    weft_status status = WEFT_OK;
    int count = 0;
    int inner = 1;
    WEFT_TRY(WEFT_NEW(&sample, repeats, WEFT_MEM_GENERAL));
    const double started = clock_seconds();
    WEFT_TRY_GOTO(warm_up(run, argument, &inner), status, done);
    while (count < repeats && (count < LEAST_REPEATS || clock_seconds() - started < MAX_SECONDS)) {
        const double begin = clock_seconds();
        for (int i = 0; i < inner; i++) {
            WEFT_TRY_GOTO(run(argument), status, done);
        }
        sample[count++] = (clock_seconds() - begin) / inner;
    }
    *seconds = bench_quartiles_of(sample, count);
done:
    weft_free(sample);
    return status;
}
