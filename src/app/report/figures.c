/* app/report/figures.c: see app/report/figures.h. */
#include "app/report/figures.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/sample.h"

/* ---- ranks ---- */

const json_value *report_per_rank(const report_run *run)
{
    return json_find(run->summary, "per_rank");
}

int report_rank_count(const report_run *run)
{
    const json_value *column = json_find(report_per_rank(run), "wall_s");
    int count = 0;
    if (column != NULL && column->kind == JSON_ARRAY) {
        for (const json_value *v = column->child; v != NULL && count < REPORT_RANKS_MAX; v = v->next) {
            count += 1;
        }
    }
    return count;
}

weft_status report_rank_column(const json_value *object, const char *key, int ranks, double **values)
{
    const json_value *column = json_find(object, key);
    *values = NULL;
    if (column == NULL || column->kind != JSON_ARRAY || ranks == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(WEFT_NEW(values, ranks, WEFT_MEM_GENERAL));
    const json_value *v = column->child;
    for (int r = 0; r < ranks; ++r) {
        (*values)[r] = v != NULL && v->kind == JSON_NUMBER ? v->number : NAN;
        v = v != NULL ? v->next : NULL;
    }
    return WEFT_OK;
}

int report_rank_choice(int ranks, const double *weight, int limit, int *chosen)
{
    int count = ranks < limit ? ranks : limit;
    int heaviest = 0;
    for (int r = 1; r < ranks && weight != NULL; ++r) {
        heaviest = weight[r] > weight[heaviest] ? r : heaviest;
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

report_spread report_spread_of(const double *values, int count)
{
    report_spread s = {INFINITY, 0, -INFINITY};
    int finite = 0;
    for (int i = 0; i < count && values != NULL; ++i) {
        if (isfinite(values[i])) {
            s.min = fmin(s.min, values[i]);
            s.max = fmax(s.max, values[i]);
            s.mean += (values[i] - s.mean) / ++finite;
        }
    }
    return finite > 0 ? s : (report_spread){NAN, NAN, NAN};
}

/* ---- headline ---- */

typedef struct moments {
    double mean, std;
    int count;
} moments;

/* Over the runs, of a field at their best epochs; unbiased. */
static moments at_best(const report_run *run, report_field field)
{
    moments m = {0, NAN, 0};
    double squares = 0;
    for (int s = 0; s < run->series_count; ++s) {
        const report_series *series = &run->series[s];
        double value = series->best >= 0 ? series->epoch[series->best].value[field] : NAN;
        if (isfinite(value)) {
            double before = value - m.mean;
            m.count += 1;
            m.mean += before / m.count;
            squares += before * (value - m.mean);
        }
    }
    m.mean = m.count > 0 ? m.mean : NAN;
    m.std = m.count > 1 ? sqrt(squares / (m.count - 1)) : NAN;
    return m;
}

static const char *metric_of(const report_run *run)
{
    const char *name = report_string(run->summary, "metric", report_option(run, "metric"));
    bool rocauc = strcmp(name, "rocauc") == 0 || strcmp(report_option(run, "loss"), "bce") == 0;
    return rocauc ? "ROC-AUC" : "accuracy";
}

static weft_status epoch_times(const report_run *run, report_figures *f)
{
    double *seconds = NULL;
    int64_t count = 0;
    f->epoch_s = f->epoch_s_q1 = f->epoch_s_q3 = NAN;
    WEFT_TRY(report_values(run, REPORT_EPOCH_S, &seconds, &count));
    if (count > 0) {
        f->epoch_s = sample_quantile(seconds, count, 0.5);
        f->epoch_s_q1 = sample_quantile(seconds, count, 0.25);
        f->epoch_s_q3 = sample_quantile(seconds, count, 0.75);
    }
    weft_free(seconds);
    return WEFT_OK;
}

/* Every rank's, where the job ended well; else rank 0's, which writes metrics.jsonl. */
static weft_status epoch_bytes(const report_run *run, report_figures *f)
{
    int ranks = report_rank_count(run);
    double *bytes = NULL;
    int64_t count = 0;
    WEFT_TRY(report_rank_column(report_per_rank(run), "epoch_sent_bytes", ranks, &bytes));
    double mean = report_spread_of(bytes, ranks).mean;
    weft_free(bytes);
    if (isfinite(mean) && f->job_epochs > 0) {
        f->epoch_bytes = mean / f->job_epochs;
        f->epoch_bytes_all = f->epoch_bytes * ranks;
        return WEFT_OK;
    }
    f->epoch_bytes = f->epoch_bytes_all = NAN;
    WEFT_TRY(report_values(run, REPORT_BYTES, &bytes, &count));
    if (count > 0) {
        f->epoch_bytes = sample_quantile(bytes, count, 0.5);
        f->bytes_of_rank_0 = true;
    }
    weft_free(bytes);
    return WEFT_OK;
}

static void take_baseline(const json_value *summary, report_figures *f)
{
    const json_value *baseline = json_find(json_find(summary, "outcome"), "baseline");
    f->baseline = report_number(baseline, "test");
    f->baseline_split = "test";
    f->baseline_class = report_number(baseline, "class");
    if (isnan(f->baseline)) {
        f->baseline = report_number(baseline, "valid");
        f->baseline_split = "validation";
    }
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
    f->from_summary = true;
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

weft_status report_figures_of(const report_run *run, report_figures *f)
{
    moments test = at_best(run, REPORT_TEST), valid = at_best(run, REPORT_VALID);
    *f = (report_figures){.metric = metric_of(run),
                          .runs = run->series_count,
                          .test = test.mean,
                          .test_std = test.std,
                          .valid = valid.mean,
                          .valid_std = valid.std,
                          .epochs = (double)report_run_epochs(run),
                          .peak_memory = report_number(run->summary, "peak_rss_bytes"),
                          .ranks = report_number(run->manifest, "ranks"),
                          .threads = report_number(run->manifest, "threads_per_rank"),
                          .nodes = report_number(run->manifest, "nodes"),
                          .parameters = report_number(run->summary, "parameters"),
                          .seconds = report_number(run->summary, "seconds")};
    take_baseline(run->summary, f);
    take_best_epoch(run, f);
    WEFT_TRY(epoch_times(run, f));
    if (run->summary != NULL) {
        take_summary(run->summary, f);
    }
    double job_epochs = report_number(report_per_rank(run), "epochs");
    f->job_epochs = isfinite(job_epochs) ? job_epochs : f->epochs;
    f->job_epochs = f->job_epochs >= 1 ? f->job_epochs : NAN; /* a divisor */
    return epoch_bytes(run, f);
}
