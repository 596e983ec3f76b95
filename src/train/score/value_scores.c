/* train/score/value_scores.c: see train/score/value_scores.h. */
#include "train/score/value_scores.h"

#include <math.h>

#include "base/exact/fixed_sum.h"
#include "train/model.h"

/* The error of one row, at least 0. */
static double error_of(train_metric metric, double quantile, double answer, double target)
{
    const double over = answer - target;
    switch (metric) {
    case TRAIN_METRIC_RMSE:
    case TRAIN_METRIC_R2:
        return over * over;
    case TRAIN_METRIC_PINBALL:
        return over < 0.0 ? -quantile * over : (1.0 - quantile) * over;
    case TRAIN_METRIC_DEVIANCE:
        return 2.0 * fmax(0.0, (target > 0.0 ? target * log(target / answer) : 0.0) + over);
    default:
        return fabs(over);
    }
}

/* The sum of one split's errors, in two passes: the largest error sets the scale of the second. */
static weft_status sum_split(weft_comm *comm, train_metric metric, double quantile, const value_rows *rows, int split,
                             double *mean)
{
    double most[2] = {0.0, 0.0}; /* of the errors, and 1 where one is not finite */
    int64_t sum[2] = {0, 0};     /* rows, and their errors */
    for (int64_t i = 0; i < rows->rows; ++i) {
        if (rows->split[i] == split && !isnan(rows->target[i])) {
            const double error = error_of(metric, quantile, (double)rows->answer[i], (double)rows->target[i]);
            most[0] = fmax(most[0], error);
            most[1] = isfinite(error) ? most[1] : 1.0;
            sum[0] += 1;
        }
    }
    WEFT_TRY(comm_allreduce(comm, most, 2, WEFT_DTYPE_F64, COMM_MAX));
    WEFT_TRY(comm_allreduce(comm, &sum[0], 1, WEFT_DTYPE_I64, COMM_SUM));
    *mean = NAN;
    if (sum[0] == 0 || most[1] != 0.0) {
        return WEFT_OK;
    }
    const fixed_sum fixed = fixed_sum_of(most[0], sum[0]);
    for (int64_t i = 0; i < rows->rows; ++i) {
        if (rows->split[i] == split && !isnan(rows->target[i])) {
            sum[1] += fixed_of(&fixed, error_of(metric, quantile, (double)rows->answer[i], (double)rows->target[i]));
        }
    }
    WEFT_TRY(comm_allreduce(comm, &sum[1], 1, WEFT_DTYPE_I64, COMM_SUM));
    *mean = fixed_value(&fixed, sum[1]) / (double)sum[0];
    return WEFT_OK;
}

/* The variance of a split's targets: the mean square of their distance from their mean, each an error of its own. */
static weft_status variance_of(weft_comm *comm, const value_rows *rows, int split, double *variance)
{
    double sum[2] = {0.0, 0.0};
    for (int64_t i = 0; i < rows->rows; ++i) {
        if (rows->split[i] == split && !isnan(rows->target[i])) {
            sum[0] += (double)rows->target[i];
            sum[1] += 1.0;
        }
    }
    WEFT_TRY(comm_allreduce(comm, sum, 2, WEFT_DTYPE_F64, COMM_SUM));
    const double mean = sum[1] > 0.0 ? sum[0] / sum[1] : 0.0;
    double squares = 0.0;
    for (int64_t i = 0; i < rows->rows; ++i) {
        const double over = (double)rows->target[i] - mean;
        squares += rows->split[i] == split && !isnan(rows->target[i]) ? over * over : 0.0;
    }
    WEFT_TRY(comm_allreduce(comm, &squares, 1, WEFT_DTYPE_F64, COMM_SUM));
    *variance = squares / sum[1];
    return WEFT_OK;
}

weft_status value_scores(weft_comm *comm, train_metric metric, double quantile, const value_rows *rows, double *score)
{
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        WEFT_TRY(sum_split(comm, metric, quantile, rows, s, &score[s]));
        score[s] = metric == TRAIN_METRIC_RMSE ? sqrt(score[s]) : score[s];
        if (metric == TRAIN_METRIC_R2) {
            double variance = 0.0;
            WEFT_TRY(variance_of(comm, rows, s, &variance));
            score[s] = variance > 0.0 ? 1.0 - score[s] / variance : NAN;
        }
    }
    return WEFT_OK;
}
