/*
 * train/loop/loop.h: training by gradients, the same for every kind of model that has some.
 *
 * Runs, epochs, evaluations and checkpoints follow each other as in train/fit/fit.h; here are the steps of an epoch.
 *
 * A run draws new weights, sets a rank's own parameters (train/param.h) back to where they were, and trains for
 * `epochs`, each the steps of a source (train/source.h); the score of a run is the test score at its best validation
 * score, and the result is mean and unbiased standard deviation over runs, as OGB reports. After the first epoch an
 * epoch allocates nothing. A loss or gradient that is not finite stops all ranks at the same step, before the update;
 * where gradients pass through float16 a step whose gradient is not finite is skipped first, with another scale of the
 * loss from then on (train/loop/loss_scale.h). Its batch counts as done, and so does the step for schedule and mean
 * loss.
 *
 * Where replicas differ (sync modes with local updates) scores are those of the average of all replicas, and the best
 * parameters are such an average; training goes on as comm/sync/sync.h says.
 */
#pragma once

#include "comm/comm.h"
#include "train/fit/fit.h"
#include "train/loop/loss_scale.h"
#include "train/lr_schedule.h"
#include "train/model.h"
#include "train/replica.h"
#include "train/source.h"
#include "train/weights.h"

typedef struct train_options {
    int64_t epochs;
    int runs;
    uint64_t seed;      /* run r uses seed + r */
    int accumulate;     /* parts of a batch (train/source.h); 0: 1 */
    int64_t eval_every; /* 0: after the last epoch only */
    int64_t patience;   /* evaluations without a better validation score; 0: never stop early */
    double loss_scale;  /* of models that need one (train/loop/loss_scale.h): 0, which finds it, or fixed */
    double skew_guard;  /* points of accuracy that a lossy mode may lose (train/skew/skew_guard.h); 0: off */
    /* [outputs] of TRAIN_LOSS_XENT: how much a training row of each class counts (train/loop/class_weights.h); NULL:
     * all the same. */
    const double *class_weight;
    loss_choice value_loss; /* of TRAIN_LOSS_VALUE (train/loop/value_loss.h): squared, absolute or huber */
    double smoothing;       /* of the labels of TRAIN_LOSS_XENT in training passes, 0 to less than 1 */
    train_metric metric;
    sync_options sync; /* momentum is the optimiser's; warmup counts epochs */
    optimizer_options optimizer;
    const train_preconditioner *preconditioner; /* NULL: none */
    /* Listener that reads rows and output gradients of layers in the training passes it wants (train/tap.h); NULL:
     * none. */
    const struct train_tap *tap;
    train_schedule schedule;
    const train_weights *init_weights;    /* to start every run from, or NULL */
    const train_checkpoints *checkpoints; /* NULL: none */
} train_options;

/* observers: a list (train/fit/observer.h), or NULL. The parameters end at the best epoch of the last run. [out]
 * result: result->run is the caller's (weft_free). Collective. WEFT_STOPPED: ended early after a good checkpoint, as
 * somebody asked (train/checkpoint/keeper.h); the result has the epochs so far. WEFT_ERR_DIVERGED names run and epoch;
 * WEFT_ERR_DATA when no row is labelled for training. WEFT_ERR_USAGE: the checkpoint lies within an epoch of another
 * number of steps, or the source does not divide its batches and is asked to. */
weft_status train_loop(weft_comm *comm, weft_hal *hal, train_model *model, const train_source *source,
                       const train_options *options, const train_observer *observers, train_result *result);
