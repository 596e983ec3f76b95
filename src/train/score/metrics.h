/*
 * train/score/metrics.h: accuracy, area under the ROC curve, and errors of numbers, exact over any number of ranks.
 *
 * Accuracy counts each row once, batch by batch, and sums the counts. ROC-AUC has no such sums: it keeps the logits of
 * all batches, and ranks sort one 8-byte record a row by score among them (train/score/area_over_ranks.h), ties at
 * half (J. Hanley, B. McNeil, Radiology 143(1), 1982, doi:10.1148/radiology.143.1.7063747). With several tasks it is
 * the mean over the tasks that have both classes, as OGB does; with more than two classes it is the mean over the
 * classes of each against all others, by probability, as scikit-learn's roc_auc_score with multi_class="ovr" has it.
 *
 *      metrics_begin, metrics_add for each batch, metrics_end
 *
 * Logits that are not finite have no order, and so no score that means anything: their sums over rows tell.
 */
#pragma once

#include "comm/comm.h"
#include "train/model.h"
#include "train/score/class_scores.h"
#include "train/score/metric_kinds.h"

/* The metric, and the shape of the answers that are scored. */
typedef struct metrics_desc {
    train_metric metric;
    train_loss loss;  /* of the targets that will be added */
    int64_t outputs;  /* of the targets that will be added */
    int64_t rows;     /* of this rank, over the batches of an evaluation */
    weft_dtype dtype; /* of the logits; float32 where targets are numbers */
} metrics_desc;

typedef struct train_metrics {
    weft_comm *comm;
    weft_hal *hal;
    metrics_desc desc;
    int64_t added;         /* rows so far */
    bool finite;           /* by metrics_end: all logits were, on all ranks */
    weft_tensor sums;      /* [1, outputs] of logits over rows */
    void *sums_host;       /* copy of `sums` on the host */
    class_scores by_class; /* macro-F1, top-5 accuracy */
    int64_t room;          /* rows that `logits` has room for */
    weft_tensor counts;    /* accuracy: [TRAIN_SPLITS, 2] int64, right rows and all */
    uint64_t *record;      /* ROC-AUC: [rows] of one task */
    void *logits;          /* ROC-AUC and errors: [rows, outputs] on the host, in the model's type; by class: a batch */
    float *target;         /* errors: [rows] */
    double quantile;       /* errors: of the targets */
    const uint64_t *group; /* NDCG, MRR and hits: of the targets; an evaluation is one batch */
    int ndcg_at, hits_at;
    /* ROC-AUC, MRR and hits: [rows, tasks] label in bit 0, split in bits 1 and 2; errors: [rows] split */
    uint8_t *mark;
} train_metrics;

/* Collective. WEFT_ERR_USAGE when the metric is not one of such targets: an error of classes, accuracy of tasks. */
weft_status metrics_create(weft_comm *comm, weft_hal *hal, const metrics_desc *desc, train_metrics *metrics);
/* Forget what was added. Local. */
weft_status metrics_begin(train_metrics *metrics);
/* logits: [targets->rows, outputs]. WEFT_ERR_INTERNAL with more rows than desc->rows. Local. */
weft_status metrics_add(train_metrics *metrics, const weft_tensor *logits, const train_targets *targets);
/* [out] score [TRAIN_SPLITS] in [0, 1], or an error of at least 0; NaN for a split without rows; and metrics->finite;
 * the same on all ranks. Collective. */
weft_status metrics_end(train_metrics *metrics, double *score);
/* ROC-AUC of one task (0 with two classes), for metrics made for it: NaN without both labels; the same on all ranks.
 * Any number of tasks after the rows were added. Collective. */
weft_status metrics_end_task(train_metrics *metrics, int64_t task, double *score);
void metrics_destroy(train_metrics *metrics);
