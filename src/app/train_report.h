/*
 * app/train_report.h: what a training run tells: a line now and then, the closing block and table, the result files.
 */
#ifndef WEFT_APP_TRAIN_REPORT_H
#define WEFT_APP_TRAIN_REPORT_H

#include "app/run_dir.h"
#include "gnn/model.h"
#include "train/loop.h"

typedef struct train_report {
    const app_context *context;
    run_dir *dir;
    const train_options *options;
    const char *metric; /* "accuracy" or "ROC-AUC" */
    double started, last_line;
    int64_t done, lines;       /* epochs, lines so far */
    bool evaluated;            /* at least once */
    uint64_t late_allocations; /* in epochs after the first, and after the first evaluation */
} train_report;

train_observer train_report_observer(train_report *report);

/* The final block (as OGB prints it) and the table of activities, on stdout of rank 0; summary.json. Collective. */
weft_status train_report_close(train_report *report, const train_result *result, const gnn_model *model,
                               const partition_report *partition, uint64_t predicted_bytes);

/* predictions.npy: int32 [n, 1] classes, or float32 [n, tasks] logits, by global vertex id. Collective. */
weft_status train_write_predictions(const app_context *context, const run_dir *dir, gnn_model *model,
                                    const train_targets *targets, const weft_part *part, int64_t seed);

#endif
