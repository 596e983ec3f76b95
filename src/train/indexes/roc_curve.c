/* train/indexes/roc_curve.c: see train/indexes/roc_curve.h. */
#include "train/indexes/roc_curve.h"

#define LEAST_MOVE 0.01

static void keep_point(index_curve *curve, double x, double y)
{
    if (curve->points < CURVE_POINTS) {
        curve->x[curve->points] = x;
        curve->y[curve->points++] = y;
    }
}

/* A curve's length along both axes is 2, so the points fit. */
void roc_curve_of(const score_levels *levels, index_curve *curve)
{
    int64_t hits = 0, alarms = 0;
    curve->points = 0;
    if (levels->positives == 0 || levels->negatives == 0) {
        return;
    }
    keep_point(curve, 0.0, 0.0);
    for (int64_t k = levels->count - 1; k >= 0; --k) {
        hits += levels->level[k].positives;
        alarms += levels->level[k].negatives;
        const double x = (double)alarms / (double)levels->negatives, y = (double)hits / (double)levels->positives;
        const int last = curve->points - 1;
        if (k == 0 || x - curve->x[last] + y - curve->y[last] >= LEAST_MOVE) {
            keep_point(curve, x, y);
        }
    }
}

double precision_curve_of(const score_levels *levels, index_curve *curve)
{
    int64_t hits = 0, answered = 0;
    double area = 0.0;
    curve->points = 0;
    if (levels->positives == 0) {
        return NAN;
    }
    for (int64_t k = levels->count - 1; k >= 0; --k) {
        const score_level *l = &levels->level[k];
        hits += l->positives;
        answered += score_level_rows(l);
        const double recall = (double)hits / (double)levels->positives, precision = (double)hits / (double)answered;
        area += (double)l->positives / (double)levels->positives * precision;
        if (k == 0 || curve->points == 0 || recall - curve->x[curve->points - 1] >= LEAST_MOVE) {
            keep_point(curve, recall, precision);
        }
    }
    return area;
}
