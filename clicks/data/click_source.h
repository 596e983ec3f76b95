/*
 * clicks/data/click_source.h: batches of a table of clicks as a source of the training loop (train/source.h).
 *
 * The batch of (seed, epoch, step) has the same rows for every number of ranks, and each rank a run of them
 * (train/batch/batch_order.h). An epoch is a pass over the rows that train, or a part of one, so that long data are
 * evaluated and kept within a pass. An evaluation goes over the rows of validation, then of test, in their order.
 * Loader threads make the next batch while the caller computes. The input of a batch is a click_batch.
 *
 *      WEFT_TRY(click_source_create(comm, hal, &rows, &options, &source));
 *      ... train_loop(comm, hal, &model, click_source_of(source), ...);
 *      click_source_destroy(source);
 */
#pragma once

#include "base/trace/activity.h"
#include "clicks/data/click_rows.h"
#include "train/source.h"

extern const weft_activity ACTIVITY_CLICKS[1]; /* making batches, where the caller does it or waits for it */

typedef struct click_source_options {
    int64_t batch;                /* rows of a step, over all ranks */
    int64_t epoch_rows;           /* of an epoch, rounded up to whole steps; 0, or more than train: a pass over all */
    const click_scaling *scaling; /* of the numbers; lives as long as the source */
    int loaders;                  /* threads that make the next batch; 0: none */
    int threads;                  /* of the caller that make a batch where there are no loaders */
    bool ahead;                   /* click_batch.next has the batch that comes next: memory for one batch more */
} click_source_options;

typedef struct click_source click_source;

/* The rows live as long as the source. Collective. WEFT_ERR_RESOURCE: memory or threads. */
weft_status click_source_create(weft_comm *comm, weft_hal *hal, const click_rows *rows,
                                const click_source_options *options, click_source **source);
void click_source_destroy(click_source *source); /* ends the loaders; NULL is fine */
const train_source *click_source_of(const click_source *source);
/* The largest number of samples that this rank has of a batch. */
int64_t click_source_most(const click_source *source);
/* Bytes of the batches of a rank that has at most `samples` of each. */
int64_t click_source_bytes(const click_rows *rows, int64_t samples, int loaders, bool ahead);
