/*
 * app/record/record_curve.c: curves out of the epochs of a run folder (app/record/run_record.h).
 *
 * Several runs of one job (--runs) are merged by epoch: all (epoch, value) pairs are sorted and each epoch's median is
 * taken, so that runs which stopped at different epochs need no alignment. Epochs that fewer than half of the runs
 * reached are left out: the median of the few that are left would jump.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "app/record/run_record.h"
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

static bool has(const record_epoch *epoch, record_field field)
{
    return (epoch->present >> field & 1) != 0;
}

static int64_t count_of(const record_series *series, record_field field)
{
    int64_t count = 0;
    for (int64_t i = 0; i < series->count; ++i) {
        count += has(&series->epoch[i], field);
    }
    return count;
}

/* An empty curve with room for `count` points; without any if memory ran out. */
static record_curve curve_alloc(run_record *run, int64_t count)
{
    record_curve curve = {record_alloc(run, count, sizeof(double)), record_alloc(run, count, sizeof(double)), 0};
    return curve.x != NULL && curve.y != NULL ? curve : (record_curve){0};
}

record_curve record_series_curve(run_record *run, const record_series *series, record_field field)
{
    record_curve curve = curve_alloc(run, count_of(series, field));
    for (int64_t i = 0; i < series->count && curve.x != NULL; ++i) {
        if (has(&series->epoch[i], field)) {
            curve.x[curve.count] = (double)series->epoch[i].epoch;
            curve.y[curve.count++] = series->epoch[i].value[field];
        }
    }
    return curve;
}

/* Epochs of `count` sorted pairs, each with the median of its values. */
static void medians(const pair *pairs, int64_t count, int runs, record_curve *curve)
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

static record_curve curve_of_runs(run_record *run, record_field field)
{
    int64_t total = 0, count = 0;
    for (int s = 0; s < run->series_count; ++s) {
        total += count_of(&run->series[s], field);
    }
    pair *pairs = record_alloc(run, total, sizeof *pairs);
    record_curve curve = curve_alloc(run, total);
    if (pairs == NULL || curve.x == NULL) {
        return curve;
    }
    for (int s = 0; s < run->series_count; ++s) {
        const record_series *series = &run->series[s];
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

const record_curve *record_curve_of(run_record *run, record_field field)
{
    if (run->curve[field].x == NULL) {
        run->curve[field] =
            run->series_count == 1 ? record_series_curve(run, &run->series[0], field) : curve_of_runs(run, field);
    }
    return &run->curve[field];
}

int64_t record_epochs(const run_record *run)
{
    int64_t count = 0;
    for (int s = 0; s < run->series_count; ++s) {
        count += run->series[s].count;
    }
    return count;
}

record_curve record_sorted(run_record *run, record_field field)
{
    record_curve curve = {.y = record_alloc(run, record_epochs(run), sizeof *curve.y)};
    for (int s = 0; s < run->series_count && curve.y != NULL; ++s) {
        const record_series *series = &run->series[s];
        for (int64_t i = 0; i < series->count; ++i) {
            if (isfinite(series->epoch[i].value[field])) {
                curve.y[curve.count++] = series->epoch[i].value[field];
            }
        }
    }
    sample_sort(curve.y, curve.count);
    return curve;
}
