/* app/record/record_figures.c: figures of ranks, and the headline of a run (app/record/run_record.h). */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "app/record/run_record.h"
#include "base/sample.h"

/* ---- ranks ---- */

int record_rank_choice(int ranks, const record_column *weight, int limit, int *chosen)
{
    assert(ranks >= 0 && limit > 0);
    int count = ranks < limit ? ranks : limit;
    int heaviest = 0;
    for (int r = 1; r < ranks; ++r) {
        heaviest = record_at(weight, r) > record_at(weight, heaviest) ? r : heaviest;
    }
    for (int i = 0; i < count; ++i) {
        chosen[i] = (int)((int64_t)ranks * i / count);
    }
    for (int i = 0; i < count && count < ranks; ++i) {
        bool last_before = chosen[i] <= heaviest && (i + 1 == count || chosen[i + 1] > heaviest);
        if (last_before) {
            chosen[i] = heaviest;
        }
    }
    return count;
}

record_spread record_spread_of(const record_column *column)
{
    record_spread s = {INFINITY, 0, -INFINITY};
    int finite = 0;
    for (int i = 0; i < column->count; ++i) {
        double value = column->value[i];
        if (isfinite(value)) {
            s.min = fmin(s.min, value);
            s.max = fmax(s.max, value);
            s.mean += (value - s.mean) / ++finite;
        }
    }
    return finite > 0 ? s : (record_spread){NAN, NAN, NAN};
}

/* ---- headline ---- */

/* Mean and unbiased standard deviation of a field over the runs, at their best epochs. */
static void at_best(const run_record *run, record_field field, double *mean, double *std)
{
    double squares = 0, average = 0;
    int count = 0;
    for (int s = 0; s < run->series_count; ++s) {
        const record_series *series = &run->series[s];
        double value = series->best >= 0 ? series->epoch[series->best].value[field] : NAN;
        if (isfinite(value)) {
            double before = value - average;
            average += before / ++count;
            squares += before * (value - average);
        }
    }
    *mean = count > 0 ? average : NAN;
    *std = count > 1 ? sqrt(squares / (count - 1)) : NAN;
}

const metric_kind *record_metric(const run_record *run)
{
    const metric_kind *named = metric_kind_named(json_string(run->summary, "metric", record_option(run, "metric")));
    const bool tasks = strcmp(record_option(run, "loss"), "bce") == 0;
    return named != NULL ? named : metric_kind_of(tasks ? TRAIN_METRIC_ROCAUC : TRAIN_METRIC_ACCURACY);
}

static double quantile(const record_curve *sorted, double q)
{
    return sorted->count > 0 ? sample_quantile(sorted->y, sorted->count, q) : NAN;
}

/* Every rank's bytes where the job ended well; else rank 0's, which writes metrics.jsonl. */
static void epoch_bytes(run_record *run, record_figures *f)
{
    record_column bytes = record_numbers(run, run->per_rank, "epoch_sent_bytes");
    double mean = record_spread_of(&bytes).mean;
    if (isfinite(mean) && f->job_epochs > 0) {
        f->epoch_bytes = mean / f->job_epochs;
        f->epoch_bytes_all = f->epoch_bytes * bytes.count;
        return;
    }
    record_curve sorted = record_sorted(run, RECORD_BYTES);
    f->epoch_bytes = quantile(&sorted, 0.5);
    f->epoch_bytes_all = NAN;
    f->bytes_of_rank_0 = sorted.count > 0;
}

static void take_baseline(const json_value *summary, record_figures *f)
{
    const json_value *baseline = json_find(json_find(summary, "outcome"), "baseline");
    f->baseline = json_number(baseline, "test");
    f->baseline_class = json_number(baseline, "class");
    f->baseline_split = isnan(f->baseline) ? "validation" : "test";
    f->baseline = isnan(f->baseline) ? json_number(baseline, "valid") : f->baseline;
}

static void take_best_epoch(const run_record *run, record_figures *f)
{
    const record_series *only = run->series_count == 1 ? run->series : NULL;
    bool known = only != NULL && only->best >= 0;
    f->best_epoch = known ? (double)only->epoch[only->best].epoch : NAN;
    f->last_epoch = known ? (double)only->epoch[only->count - 1].epoch : NAN;
}

static void take_summary(const json_value *summary, record_figures *f)
{
    f->runs = (int)fmin(fmax(json_number(summary, "runs"), 0), RECORD_SERIES_MAX);
    f->test = json_number(summary, "test_mean");
    f->test_std = f->runs > 1 ? json_number(summary, "test_std") : NAN;
    f->valid = json_number(summary, "valid_mean");
    f->valid_std = f->runs > 1 ? json_number(summary, "valid_std") : NAN;
    f->epochs = json_number(summary, "epochs");
    f->epoch_s = json_number(summary, "epoch_s_median");
    f->epoch_s_q1 = json_number(summary, "epoch_s_q1");
    f->epoch_s_q3 = json_number(summary, "epoch_s_q3");
}

static void take_epochs(run_record *run, record_figures *f)
{
    record_curve sorted = record_sorted(run, RECORD_EPOCH_S);
    f->runs = run->series_count;
    f->epochs = (double)record_epochs(run);
    at_best(run, RECORD_TEST, &f->test, &f->test_std);
    at_best(run, RECORD_VALID, &f->valid, &f->valid_std);
    f->epoch_s = quantile(&sorted, 0.5);
    f->epoch_s_q1 = quantile(&sorted, 0.25);
    f->epoch_s_q3 = quantile(&sorted, 0.75);
}

void record_figures_make(run_record *run)
{
    record_figures *f = &run->figures;
    *f = (record_figures){.metric = record_metric(run)->text,
                          .score_unit = record_metric(run)->error ? UNIT_REAL : UNIT_PERCENT,
                          .peak_memory = json_number(run->summary, "peak_rss_bytes"),
                          .ranks = json_number(run->manifest, "ranks"),
                          .threads = json_number(run->manifest, "threads_per_rank"),
                          .nodes = json_number(run->manifest, "nodes"),
                          .parameters = json_number(run->summary, "parameters"),
                          .seconds = json_number(run->summary, "seconds")};
    take_baseline(run->summary, f);
    take_best_epoch(run, f);
    if (run->summary != NULL) {
        take_summary(run->summary, f);
    } else {
        take_epochs(run, f);
    }
    double job_epochs = json_number(run->per_rank, "epochs");
    f->job_epochs = isfinite(job_epochs) ? job_epochs : f->epochs;
    f->job_epochs = f->job_epochs >= 1 ? f->job_epochs : NAN; /* a divisor */
    epoch_bytes(run, f);
}
