/* train/fit/result.h: what a training came to: statistics over its runs, and over the seconds of its epochs. */
#pragma once

#include "comm/sync/sync.h"
#include "train/checkpoint/checkpoint.h"

typedef struct train_result {
    int runs;
    train_run *run; /* [runs] */
    double test_mean, test_std, valid_mean, valid_std, train_mean;
    double epoch_s_median, epoch_s_q1, epoch_s_q3;
    int64_t epochs;  /* over all runs, those before a resumed start included */
    int64_t resumed; /* epochs that earlier starts trained, one that an earlier start had begun included */
    double seconds;
    sync_mode sync;         /* the mode that ran */
    sync_tracking tracking; /* what travelled beside the parameters */
    sync_figures figures;
    train_scaling scaling; /* at the end */
    double
        drift; /* of the parameters at the end of a run, the largest over the runs (replica_drift); 0: the same bits */
} train_result;

/* Means and unbiased standard deviations over the runs of a training that ended. */
void train_result_summarise(train_result *result);

/* Seconds of the newest epochs, up to a million. */
typedef struct train_times {
    double *second;      /* [kept] */
    int64_t kept, count; /* count: epochs timed so far, those that were forgotten included */
} train_times;

/* epochs: of each of the runs. */
weft_status train_times_open(int64_t epochs, int64_t runs, train_times *times);
void train_times_close(train_times *times); /* zeroed ones are fine */
void train_times_add(train_times *times, double second);
/* Median and quartiles into the result; the order of the times is lost. */
void train_times_summarise(train_times *times, train_result *result);
