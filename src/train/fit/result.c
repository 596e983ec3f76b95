/* train/fit/result.c: see train/fit/result.h. */
#include "train/fit/result.h"

#include <assert.h>
#include <math.h>

#include "base/alloc.h"
#include "base/integer/integers.h"
#include "base/sample.h"

enum { TIMES_KEPT = 1 << 20 };

static void mean_and_std(const train_run *runs, int count, double (*value)(const train_run *), double *mean,
                         double *std)
{
    double sum = 0;
    for (int r = 0; r < count; ++r) {
        sum += value(&runs[r]);
    }
    *mean = sum / count;
    double squares = 0;
    for (int r = 0; r < count; ++r) {
        double d = value(&runs[r]) - *mean;
        squares += d * d;
    }
    *std = count > 1 ? sqrt(squares / (count - 1)) : 0.0;
}

static double test_of(const train_run *run)
{
    return run->final_test;
}

static double valid_of(const train_run *run)
{
    return run->best_valid;
}

static double train_of(const train_run *run)
{
    return run->final_train;
}

void train_result_summarise(train_result *result)
{
    double unused;
    mean_and_std(result->run, result->runs, test_of, &result->test_mean, &result->test_std);
    mean_and_std(result->run, result->runs, valid_of, &result->valid_mean, &result->valid_std);
    mean_and_std(result->run, result->runs, train_of, &result->train_mean, &unused);
}

weft_status train_times_open(int64_t epochs, int64_t runs, train_times *times)
{
    times->count = 0;
    times->kept = larger(smaller(smaller(epochs, TIMES_KEPT) * runs, TIMES_KEPT), 1);
    return WEFT_NEW(&times->second, times->kept, WEFT_MEM_GENERAL);
}

void train_times_close(train_times *times)
{
    weft_free(times->second);
    times->second = NULL;
}

void train_times_add(train_times *times, double second)
{
    assert(times->second != NULL);
    times->second[times->count++ % times->kept] = second;
}

void train_times_summarise(train_times *times, train_result *result)
{
    const int64_t count = smaller(times->count, times->kept);
    if (count > 0) {
        const sample_quartiles q = sample_quartiles_of(times->second, count);
        result->epoch_s_median = q.median;
        result->epoch_s_q1 = q.q1;
        result->epoch_s_q3 = q.q3;
    }
}
