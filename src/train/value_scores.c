/* train/value_scores.c: see train/value_scores.h. */
#include "train/value_scores.h"

#include <math.h>

#include "base/exact/fixed_sum.h"
#include "train/model.h"

/* The error of one row, at least 0. */
static double error_of(train_metric metric, double quantile, double answer, double target)
{
    const double over = answer - target;
    switch (metric) {
    case TRAIN_METRIC_RMSE:
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

weft_status value_scores(weft_comm *comm, train_metric metric, double quantile, const value_rows *rows, double *score)
{
    for (int s = 0; s < TRAIN_SPLITS; ++s) {
        WEFT_TRY(sum_split(comm, metric, quantile, rows, s, &score[s]));
        score[s] = metric == TRAIN_METRIC_RMSE ? sqrt(score[s]) : score[s];
    }
    return WEFT_OK;
}
