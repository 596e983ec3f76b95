/* app/report/report_data.c: figures of ranks, and the headline of a run (app/report/report_run.h). */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "app/report/report_run.h"
#include "base/sample.h"

/* ---- ranks ---- */

const json_value *report_per_rank(const report_run *run)
{
    return json_find(run->summary, "per_rank");
}

int report_rank_count(const report_run *run)
{
    int count = 0;
    const json_value *v = report_first(json_find(report_per_rank(run), "wall_s"), JSON_ARRAY);
    for (; v != NULL && count < REPORT_NUMBERS_MAX; v = v->next) {
        count += 1;
    }
    return count;
}

int report_rank_choice(int ranks, const report_column *weight, int limit, int *chosen)
{
    int count = ranks < limit ? ranks : limit;
    int heaviest = 0;
    for (int r = 1; r < ranks; ++r) {
        heaviest = report_at(weight, r) > report_at(weight, heaviest) ? r : heaviest;
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

report_spread report_spread_of(const report_column *column)
{
    report_spread s = {INFINITY, 0, -INFINITY};
    int finite = 0;
    for (int i = 0; i < column->count; ++i) {
        double value = column->value[i];
        if (isfinite(value)) {
            s.min = fmin(s.min, value);
            s.max = fmax(s.max, value);
            s.mean += (value - s.mean) / ++finite;
        }
    }
    return finite > 0 ? s : (report_spread){NAN, NAN, NAN};
}

void report_spread_cells(report_text *out, const report_spread *spread, double per, report_unit unit)
{
    assert(!(per <= 0));
    TEXT_CELLS(out, quantity_of(spread->min / per, unit).text, quantity_of(spread->mean / per, unit).text,
               quantity_of(spread->max / per, unit).text);
}

/* ---- headline ---- */

/* Mean and unbiased standard deviation of a field over the runs, at their best epochs. */
static void at_best(const report_run *run, report_field field, double *mean, double *std)
{
    double squares = 0, average = 0;
    int count = 0;
    for (int s = 0; s < run->series_count; ++s) {
        const report_series *series = &run->series[s];
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

static const char *metric_of(const report_run *run)
{
    const char *name = report_string(run->summary, "metric", report_option(run, "metric"));
    bool rocauc = strcmp(name, "rocauc") == 0 || strcmp(report_option(run, "loss"), "bce") == 0;
    return rocauc ? "ROC-AUC" : "accuracy";
}

static double quantile(const report_curve *sorted, double q)
{
    return sorted->count > 0 ? sample_quantile(sorted->y, sorted->count, q) : NAN;
}

/* Every rank's bytes where the job ended well; else rank 0's, which writes metrics.jsonl. */
static void epoch_bytes(report_run *run, report_figures *f)
{
    report_column bytes = report_numbers(run, report_per_rank(run), "epoch_sent_bytes");
    double mean = report_spread_of(&bytes).mean;
    if (isfinite(mean) && f->job_epochs > 0) {
        f->epoch_bytes = mean / f->job_epochs;
        f->epoch_bytes_all = f->epoch_bytes * bytes.count;
        return;
    }
    report_curve sorted = report_sorted(run, REPORT_BYTES);
    f->epoch_bytes = quantile(&sorted, 0.5);
    f->epoch_bytes_all = NAN;
    f->bytes_of_rank_0 = sorted.count > 0;
}

static void take_baseline(const json_value *summary, report_figures *f)
{
    const json_value *baseline = json_find(json_find(summary, "outcome"), "baseline");
    f->baseline = report_number(baseline, "test");
    f->baseline_class = report_number(baseline, "class");
    f->baseline_split = isnan(f->baseline) ? "validation" : "test";
    f->baseline = isnan(f->baseline) ? report_number(baseline, "valid") : f->baseline;
}

static void take_best_epoch(const report_run *run, report_figures *f)
{
    const report_series *only = run->series_count == 1 ? run->series : NULL;
    bool known = only != NULL && only->best >= 0;
    f->best_epoch = known ? (double)only->epoch[only->best].epoch : NAN;
    f->last_epoch = known ? (double)only->epoch[only->count - 1].epoch : NAN;
}

static void take_summary(const json_value *summary, report_figures *f)
{
    f->runs = (int)fmin(fmax(report_number(summary, "runs"), 0), REPORT_SERIES_MAX);
    f->test = report_number(summary, "test_mean");
    f->test_std = f->runs > 1 ? report_number(summary, "test_std") : NAN;
    f->valid = report_number(summary, "valid_mean");
    f->valid_std = f->runs > 1 ? report_number(summary, "valid_std") : NAN;
    f->epochs = report_number(summary, "epochs");
    f->epoch_s = report_number(summary, "epoch_s_median");
    f->epoch_s_q1 = report_number(summary, "epoch_s_q1");
    f->epoch_s_q3 = report_number(summary, "epoch_s_q3");
}

static void take_epochs(report_run *run, report_figures *f)
{
    report_curve sorted = report_sorted(run, REPORT_EPOCH_S);
    f->runs = run->series_count;
    f->epochs = (double)report_run_epochs(run);
    at_best(run, REPORT_TEST, &f->test, &f->test_std);
    at_best(run, REPORT_VALID, &f->valid, &f->valid_std);
    f->epoch_s = quantile(&sorted, 0.5);
    f->epoch_s_q1 = quantile(&sorted, 0.25);
    f->epoch_s_q3 = quantile(&sorted, 0.75);
}

void report_figures_make(report_run *run)
{
    report_figures *f = &run->figures;
    *f = (report_figures){.metric = metric_of(run),
                          .peak_memory = report_number(run->summary, "peak_rss_bytes"),
                          .ranks = report_number(run->manifest, "ranks"),
                          .threads = report_number(run->manifest, "threads_per_rank"),
                          .nodes = report_number(run->manifest, "nodes"),
                          .parameters = report_number(run->summary, "parameters"),
                          .seconds = report_number(run->summary, "seconds")};
    take_baseline(run->summary, f);
    take_best_epoch(run, f);
    if (run->summary != NULL) {
        take_summary(run->summary, f);
    } else {
        take_epochs(run, f);
    }
    double job_epochs = report_number(report_per_rank(run), "epochs");
    f->job_epochs = isfinite(job_epochs) ? job_epochs : f->epochs;
    f->job_epochs = f->job_epochs >= 1 ? f->job_epochs : NAN; /* a divisor */
    epoch_bytes(run, f);
}
