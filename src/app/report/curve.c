/*
 * app/report/curve.c: curves out of the epochs of a run folder (app/report/report_run.h).
 *
 * Several runs of one job (--runs) are merged by epoch: all (epoch, value) pairs are sorted and each epoch's median is
 * taken, so that runs which stopped at different epochs need no alignment. Epochs that fewer than half of the runs
 * reached are left out: the median of the few that are left would jump.
 */
#include <math.h>
#include <stdlib.h>

#include "app/report/report_run.h"
#include "base/alloc.h"
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

static weft_status curve_alloc(report_curve *curve, int64_t count)
{
    *curve = (report_curve){0};
    WEFT_TRY(WEFT_NEW(&curve->x, count, WEFT_MEM_GENERAL));
    weft_status status = WEFT_NEW(&curve->y, count, WEFT_MEM_GENERAL);
    if (status != WEFT_OK) {
        report_curve_free(curve);
    }
    return status;
}

void report_curve_free(report_curve *curve)
{
    weft_free(curve->x);
    weft_free(curve->y);
    *curve = (report_curve){0};
}

weft_status report_curve_of_series(const report_series *series, report_field field, report_curve *curve)
{
    WEFT_TRY(curve_alloc(curve, count_of(series, field)));
    for (int64_t i = 0; i < series->count; ++i) {
        if (has(&series->epoch[i], field)) {
            curve->x[curve->count] = (double)series->epoch[i].epoch;
            curve->y[curve->count++] = series->epoch[i].value[field];
        }
    }
    return WEFT_OK;
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

weft_status report_curve_of(const report_run *run, report_field field, report_curve *curve)
{
    pair *pairs = NULL;
    int64_t total = 0, count = 0;
    *curve = (report_curve){0};
    if (run->series_count == 1) {
        return report_curve_of_series(&run->series[0], field, curve);
    }
    for (int s = 0; s < run->series_count; ++s) {
        total += count_of(&run->series[s], field);
    }
    WEFT_TRY(WEFT_NEW(&pairs, total, WEFT_MEM_GENERAL));
    weft_status status = curve_alloc(curve, total);
    for (int s = 0; status == WEFT_OK && s < run->series_count; ++s) {
        const report_series *series = &run->series[s];
        for (int64_t i = 0; i < series->count; ++i) {
            double value = series->epoch[i].value[field];
            if (has(&series->epoch[i], field) && isfinite(value)) {
                pairs[count++] = (pair){series->epoch[i].epoch, value};
            }
        }
    }
    if (status == WEFT_OK && count > 0) {
        qsort(pairs, (size_t)count, sizeof *pairs, by_epoch);
        medians(pairs, count, run->series_count, curve);
    }
    weft_free(pairs);
    return status;
}

weft_status report_values(const report_run *run, report_field field, double **values, int64_t *count)
{
    *count = 0;
    WEFT_TRY(WEFT_NEW(values, report_run_epochs(run), WEFT_MEM_GENERAL));
    for (int s = 0; s < run->series_count; ++s) {
        const report_series *series = &run->series[s];
        for (int64_t i = 0; i < series->count; ++i) {
            if (isfinite(series->epoch[i].value[field])) {
                (*values)[(*count)++] = series->epoch[i].value[field];
            }
        }
    }
    sample_sort(*values, *count);
    return WEFT_OK;
}
