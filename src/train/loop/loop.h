/*
 * train/loop/loop.h: the training loop, the same for every kind of model.
 *
 * A run draws new weights, sets a rank's own parameters (train/param.h) back to where they were, and trains for
 * `epochs`, each the steps of a source (train/source.h); the score of a run is the test score at its best validation
 * score, and the result is mean and unbiased standard deviation over runs, as OGB reports. After the first epoch an
 * epoch allocates nothing. A loss or gradient that is not finite stops all ranks at the same step, before the
 * update; where gradients pass through float16 a step whose gradient is not finite is skipped first, with another scale of
 * the loss from then on (train/loop/loss_scale.h). Its batch counts as done, and so does the step for schedule and mean loss.
 *
 * Where replicas differ (sync modes with local updates) scores are those of the average of all replicas, and the best
 * parameters are such an average; training goes on as comm/sync/sync.h says.
 */
#ifndef WEFT_TRAIN_LOOP_LOOP_H
#define WEFT_TRAIN_LOOP_LOOP_H

#include "comm/comm.h"
#include "train/checkpoint/keeper.h"
#include "train/loop/loss_scale.h"
#include "train/lr_schedule.h"
#include "train/metrics.h"
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
    double smoothing;   /* of the labels of TRAIN_LOSS_XENT in training passes, 0 to less than 1 */
    train_metric metric;
    sync_options sync; /* momentum is the optimiser's; warmup counts epochs */
    optimizer_options optimizer;
    const train_preconditioner *preconditioner; /* NULL: none */
    /* Listener that reads rows and output gradients of layers in the training passes it wants (train/tap.h); NULL: none. */
    const struct train_tap *tap;
    train_schedule schedule;
    const train_weights *init_weights;    /* to start every run from, or NULL */
    const train_checkpoints *checkpoints; /* NULL: none */
} train_options;

/* What this rank sent. */
typedef struct train_traffic {
    uint64_t bytes[COMM_LANES], messages[COMM_LANES];
    uint64_t group_bytes, group_messages; /* over the groups of ranks that a sync mode made for itself */
} train_traffic;

typedef struct train_epoch {
    int run;             /* from 0 */
    int64_t epoch;       /* from 1 */
    int64_t step, steps; /* done, and of the epoch */
    double loss;         /* of the forward passes before their updates: the mean over the rows of the steps done */
    double lr;           /* of the last step */
    bool evaluated;
    double score[TRAIN_SPLITS]; /* train, valid, test after the update */
    double epoch_s;             /* forward, backward, all-reduce, update: the steps of this start */
    double eval_s;
    uint64_t comm_bytes;   /* this rank sent in the epoch, evaluation included */
    train_traffic traffic; /* the same by lane */
    uint64_t halo_bytes;   /* of those, rows of replicas in the training steps: no evaluation */
    int64_t staleness;     /* train_model's, after the training steps */
    train_scaling scaling; /* after the training steps */
    double comm_exposed_s; /* this rank stood still for communication, evaluation included */
    sync_mode sync;        /* that runs */
    sync_figures figures;  /* of the synchronisation, since the start */
    uint64_t allocations;  /* made during the epoch, but for checkpoints within it */
} train_epoch;

/* Called on every rank; the observer decides who writes. A failing observer ends the training. */
typedef struct train_observer {
    void *self;
    weft_status (*on_start)(void *self, const train_progress *from); /* before the first epoch; from: or NULL; NULL */
    /* After a step that is not an epoch's last: run, epoch, step, steps, loss and lr are set. NULL */
    weft_status (*on_step)(void *self, const train_epoch *epoch);
    weft_status (*on_epoch)(void *self, const train_epoch *epoch);
    weft_status (*on_run)(void *self, int run, const train_run *result);
} train_observer;

typedef struct train_result {
    int runs;
    train_run *run; /* [runs] */
    double test_mean, test_std, valid_mean, valid_std, train_mean;
    double epoch_s_median, epoch_s_q1, epoch_s_q3;
    int64_t epochs;  /* over all runs, those before a resumed start included */
    int64_t resumed; /* epochs of those, one that an earlier start had begun included */
    double seconds;
    sync_mode sync;         /* that ran */
    sync_tracking tracking; /* what travelled beside the parameters */
    sync_figures figures;
    train_scaling scaling; /* at the end */
    double
        drift; /* of the parameters at the end of a run, the largest over the runs (replica_drift); 0: the same bits on all ranks */
} train_result;

/* Collective. The parameters end at the best epoch of the last run. result->run is the caller's (weft_free).
 * WEFT_STOPPED: ended early after a good checkpoint, as somebody asked (train/checkpoint/keeper.h); the result has the epochs so
 * far. WEFT_ERR_DIVERGED names run and epoch; WEFT_ERR_DATA when no row is labelled for training.
 * WEFT_ERR_USAGE: the checkpoint lies within an epoch of another number of steps, or the source does not divide its
 * batches and is asked to. */
weft_status train_loop(weft_comm *comm, weft_hal *hal, train_model *model, const train_source *source,
                       const train_options *options, const train_observer *observer, train_result *result);

#endif
