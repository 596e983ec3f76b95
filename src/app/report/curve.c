/*
 * app/report/curve.c: curves out of the epochs of a run folder (app/report/report_run.h).
 *
 * Several runs of one job (--runs) are merged by epoch: all (epoch, value) pairs are sorted and each epoch's median is
 * taken, so that runs which stopped at different epochs need no alignment. Epochs that fewer than half of the runs
 * reached are left out: the median of the few that are left would jump.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "app/report/report_run.h"
#include "base/sample.h"

typedef struct pair {
    int64_t epoch;
    double value;
} pair;

static int by_epoch(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    if (x->epoch != y->epoch) {
        return x->epoch < y->epoch ? -1 : 1;
    }
    return (x->value > y->value) - (x->value < y->value);
}

static bool has(const report_epoch *epoch, report_field field)
{
    return (epoch->present >> field & 1) != 0;
}

static int64_t count_of(const report_series *series, report_field field)
{
    int64_t count = 0;
    for (int64_t i = 0; i < series->count; ++i) {
        count += has(&series->epoch[i], field);
    }
    return count;
}

/* An empty curve with room for `count` points; without any if memory ran out. */
static report_curve curve_alloc(report_run *run, int64_t count)
{
    report_curve curve = {report_alloc(run, count, sizeof(double)), report_alloc(run, count, sizeof(double)), 0};
    return curve.x != NULL && curve.y != NULL ? curve : (report_curve){0};
}

report_curve report_series_curve(report_run *run, const report_series *series, report_field field)
{
    report_curve curve = curve_alloc(run, count_of(series, field));
    for (int64_t i = 0; i < series->count && curve.x != NULL; ++i) {
        if (has(&series->epoch[i], field)) {
            curve.x[curve.count] = (double)series->epoch[i].epoch;
            curve.y[curve.count++] = series->epoch[i].value[field];
        }
    }
    return curve;
}

/* Epochs of `count` sorted pairs, each with the median of its values. */
static void medians(const pair *pairs, int64_t count, int runs, report_curve *curve)
{
    for (int64_t i = 0, end; i < count; i = end) {
        end = i + 1;
        while (end < count && pairs[end].epoch == pairs[i].epoch) {
            end += 1;
        }
        int64_t values = end - i;
        if (2 * values >= runs) {
            curve->x[curve->count] = (double)pairs[i].epoch;
            curve->y[curve->count++] = 0.5 * pairs[i + (values - 1) / 2].value + 0.5 * pairs[i + values / 2].value;
        }
    }
}

static report_curve curve_of_runs(report_run *run, report_field field)
{
    int64_t total = 0, count = 0;
    for (int s = 0; s < run->series_count; ++s) {
        total += count_of(&run->series[s], field);
    }
    pair *pairs = report_alloc(run, total, sizeof *pairs);
    report_curve curve = curve_alloc(run, total);
    if (pairs == NULL || curve.x == NULL) {
        return curve;
    }
    for (int s = 0; s < run->series_count; ++s) {
        const report_series *series = &run->series[s];
        for (int64_t i = 0; i < series->count; ++i) {
            double value = series->epoch[i].value[field];
            if (has(&series->epoch[i], field) && isfinite(value)) {
                pairs[count++] = (pair){series->epoch[i].epoch, value};
            }
        }
    }
    assert(count <= total);
    qsort(pairs, (size_t)count, sizeof *pairs, by_epoch);
    medians(pairs, count, run->series_count, &curve);
    return curve;
}

const report_curve *report_curve_of(report_run *run, report_field field)
{
    if (!run->curve_made[field]) {
        run->curve_made[field] = true;
        run->curve[field] =
            run->series_count == 1 ? report_series_curve(run, &run->series[0], field) : curve_of_runs(run, field);
    }
    return &run->curve[field];
}

int64_t report_run_epochs(const report_run *run)
{
    int64_t count = 0;
    for (int s = 0; s < run->series_count; ++s) {
        count += run->series[s].count;
    }
    return count;
}

report_curve report_sorted(report_run *run, report_field field)
{
    report_curve curve = {.y = report_alloc(run, report_run_epochs(run), sizeof *curve.y)};
    for (int s = 0; s < run->series_count && curve.y != NULL; ++s) {
        const report_series *series = &run->series[s];
        for (int64_t i = 0; i < series->count; ++i) {
            if (isfinite(series->epoch[i].value[field])) {
                curve.y[curve.count++] = series->epoch[i].value[field];
            }
        }
    }
    sample_sort(curve.y, curve.count);
    return curve;
}
