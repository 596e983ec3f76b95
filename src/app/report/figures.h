/*
 * app/report/figures.h: the headline of a run: what summary.json says or, where a job left none, what its epochs say.
 */
#ifndef WEFT_APP_REPORT_FIGURES_H
#define WEFT_APP_REPORT_FIGURES_H

#include "app/report/report_run.h"

typedef struct report_figures {
    bool from_summary;
    const char *metric;                      /* "accuracy" or "ROC-AUC" */
    int runs;                                /* that the figures stand for */
    double test, test_std, valid, valid_std; /* means over runs at the best validation epoch; std of 1 run: NaN */
    double baseline;                         /* of the test score, else of the validation score; NaN: unknown */
    const char *baseline_split;              /* of which it is: "test" or "validation" */
    double baseline_class;                   /* that is answered; NaN: a guess */
    double best_epoch, last_epoch;           /* of one run; of several: NaN */
    double epochs;                           /* over all runs */
    double job_epochs;                       /* that the figures of per_rank cover: without those before a resumption */
    double epoch_s, epoch_s_q1, epoch_s_q3;  /* median and quartiles */
    double epoch_bytes, epoch_bytes_all;     /* sent by a rank (mean), by all; NaN: unknown */
    bool bytes_of_rank_0;                    /* only rank 0's are known */
    double peak_memory;                      /* largest rank, bytes */
    double ranks, threads, nodes, parameters;
    double seconds; /* of the job */
} report_figures;

weft_status report_figures_of(const report_run *run, report_figures *figures);

/* Columns of "per_rank" in summary.json. */
int report_rank_count(const report_run *run); /* 0: not there */
/* [out] values  [ranks], NaN where there is no number; NULL when the column is not there. Free with weft_free. */
weft_status report_rank_column(const json_value *object, const char *key, int ranks, double **values);
const json_value *report_per_rank(const report_run *run);
/* At most `limit` of the ranks, ascending: evenly spread, the one with the largest `weight` (may be NULL) among them.
 */
int report_rank_choice(int ranks, const double *weight, int limit, int *chosen);

typedef struct report_spread {
    double min, mean, max; /* NaN: no values */
} report_spread;

report_spread report_spread_of(const double *values, int count);

#endif
