/* train/indexes/roc_area.c: see train/indexes/roc_area.h. */
#include "train/indexes/roc_area.h"

#include <stdlib.h>

#include "base/alloc.h"

static index_value normal_interval(double value, double se, double least, double most)
{
    return (index_value){value, fmax(least, value - INDEX_NORMAL_QUANTILE * se),
                         fmin(most, value + INDEX_NORMAL_QUANTILE * se)};
}

index_value roc_area(const score_levels *levels, double *se)
{
    const double positives = (double)levels->positives, negatives = (double)levels->negatives;
    double area = 0.0, s10 = 0.0, s01 = 0.0;
    *se = NAN;
    if (levels->positives == 0 || levels->negatives == 0) {
        return (index_value){NAN, NAN, NAN};
    }
    int64_t below = 0; /* negative rows of lower levels */
    for (int64_t k = 0; k < levels->count; ++k) {
        const score_level *l = &levels->level[k];
        area += (double)l->positives * ((double)below + 0.5 * (double)l->negatives);
        below += l->negatives;
    }
    area /= positives * negatives;
    if (levels->positives < 2 || levels->negatives < 2) {
        return (index_value){area, NAN, NAN};
    }
    int64_t above = levels->positives;
    below = 0;
    for (int64_t k = 0; k < levels->count; ++k) {
        const score_level *l = &levels->level[k];
        above -= l->positives;
        const double v10 = ((double)below + 0.5 * (double)l->negatives) / negatives - area;
        const double v01 = ((double)above + 0.5 * (double)l->positives) / positives - area;
        s10 += (double)l->positives * v10 * v10;
        s01 += (double)l->negatives * v01 * v01;
        below += l->negatives;
    }
    *se = sqrt(s10 / (positives - 1.0) / positives + s01 / (negatives - 1.0) / negatives);
    return normal_interval(area, *se, 0.0, 1.0);
}

/* ---- two models -------------------------------------------------------------------------------------------------- */

typedef struct placed_score {
    float score;
    int32_t positive;
    int64_t row;
} placed_score;

static int by_score(const void *a, const void *b)
{
    const placed_score *x = a, *y = b;
    return (x->score > y->score) - (x->score < y->score);
}

/* [out] place [count]: V10 of the positive rows and V01 of the negative ones. */
static void place_rows(placed_score *sorted, int64_t count, int64_t positives, double *place)
{
    const int64_t negatives = count - positives;
    int64_t below[2] = {0, 0}; /* rows of lower scores by class */
    qsort(sorted, (size_t)count, sizeof *sorted, by_score);
    for (int64_t begin = 0, end; begin < count; begin = end) {
        int64_t tied[2] = {0, 0};
        for (end = begin; end < count && sorted[end].score == sorted[begin].score; ++end) {
            tied[sorted[end].positive] += 1;
        }
        const double v10 = ((double)below[0] + 0.5 * (double)tied[0]) / (double)negatives;
        const double v01 = ((double)(positives - below[1] - tied[1]) + 0.5 * (double)tied[1]) / (double)positives;
        for (int64_t i = begin; i < end; ++i) {
            place[sorted[i].row] = sorted[i].positive != 0 ? v10 : v01;
        }
        below[0] += tied[0];
        below[1] += tied[1];
    }
}

static double mean_of_positives(const paired_score *row, int64_t count, const double *place, int64_t positives)
{
    double sum = 0.0;
    for (int64_t i = 0; i < count; ++i) {
        sum += row[i].positive != 0 ? place[i] : 0.0;
    }
    return sum / (double)positives;
}

/* The standard error of the mean of places, or with `other` of the mean of their differences from other places. */
static double error_of(const paired_score *row, int64_t count, const double *place, const double *other,
                       int64_t positives, double mean)
{
    double square[2] = {0.0, 0.0};
    const double n[2] = {(double)(count - positives), (double)positives};
    for (int64_t i = 0; i < count; ++i) {
        const double off = place[i] - (other != NULL ? other[i] : 0.0) - mean;
        square[row[i].positive] += off * off;
    }
    return sqrt(square[0] / (n[0] - 1.0) / n[0] + square[1] / (n[1] - 1.0) / n[1]);
}

static void compare(const paired_score *row, int64_t count, double *const *place, int64_t positives,
                    roc_difference *result)
{
    const bool judged = positives >= 2 && count - positives >= 2;
    for (int m = 0; m < 2; ++m) {
        const double area = mean_of_positives(row, count, place[m], positives);
        const double se = judged ? error_of(row, count, place[m], NULL, positives, area) : NAN;
        result->area[m] = judged ? normal_interval(area, se, 0.0, 1.0) : (index_value){area, NAN, NAN};
    }
    const double difference = result->area[0].value - result->area[1].value;
    result->difference.value = difference;
    if (!judged) {
        return;
    }
    result->se = error_of(row, count, place[0], place[1], positives, difference);
    result->difference = normal_interval(difference, result->se, -1.0, 1.0);
    if (result->se > 0.0) {
        result->z = difference / result->se;
        result->p = erfc(fabs(result->z) / sqrt(2.0));
    } else if (difference == 0.0) {
        result->z = 0.0;
        result->p = 1.0;
    }
}

weft_status roc_difference_of(const paired_score *row, int64_t count, roc_difference *result)
{
    placed_score *sorted = NULL;
    double *place[2] = {NULL, NULL};
    int64_t positives = 0;
    weft_status status;
    const index_value none = {NAN, NAN, NAN};
    *result = (roc_difference){{none, none}, none, NAN, NAN, NAN};
    for (int64_t i = 0; i < count; ++i) {
        positives += row[i].positive;
    }
    if (positives == 0 || positives == count) {
        return WEFT_OK;
    }
    WEFT_TRY_GOTO(WEFT_NEW(&sorted, count, WEFT_MEM_WORKSPACE), status, done);
    for (int m = 0; m < 2; ++m) {
        WEFT_TRY_GOTO(WEFT_NEW(&place[m], count, WEFT_MEM_WORKSPACE), status, done);
        for (int64_t i = 0; i < count; ++i) {
            sorted[i] = (placed_score){row[i].score[m], row[i].positive, i};
        }
        place_rows(sorted, count, positives, place[m]);
    }
    compare(row, count, place, positives, result);
done:
    WEFT_FREE_ALL(sorted, place[0], place[1]);
    return status;
}
