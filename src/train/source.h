/*
 * train/source.h: where the batches come from that a training goes through, step by step.
 *
 *      for epoch in epochs
 *          for step in steps           batch of (seed, epoch, step) -> forward, loss, backward, update
 *          for step in eval_steps      batch of the evaluation -> forward, scores add up
 *
 * Which rows a step takes is a function of seed, epoch and step alone; a source keeps no place of its own. So two
 * numbers name a place in the middle of an epoch, and a training that goes on from a checkpoint there reads the
 * batches that the uninterrupted one read. A batch is global: every rank takes its share of it, which may be empty or
 * smaller than that of others, and targets->loss_entries counts the batch of all ranks. Each step's gradient is
 * therefore the mean over its own batch, a short last one included, and the loss of an epoch the mean over its rows.
 *
 * Full batch is one step an epoch: source_whole.
 */
#ifndef WEFT_TRAIN_SOURCE_H
#define WEFT_TRAIN_SOURCE_H

#include "train/model.h"

typedef struct train_source {
    void *self;
    int64_t steps;        /* of an epoch, at least 1; the same on all ranks, as are eval_steps, loss and outputs */
    int64_t eval_steps;   /* of an evaluation */
    int64_t eval_rows;    /* of this rank, over the batches of an evaluation */
    int64_t loss_entries; /* terms of the training loss in an epoch, over all ranks */
    train_loss loss;      /* of every batch */
    int64_t outputs;      /* of every batch */
    /*
     * [out] batch  the one of pass->seed, epoch and step where pass->training; else step pass->step of the evaluation.
     * Its memory is the source's and need not outlive the next call. May be collective: all ranks call in the same
     * order. Allocates nothing after the first epoch.
     */
    weft_status (*batch)(void *self, const train_pass *pass, train_batch *batch);
} train_source;

/* All rows in one batch, the same for training and evaluation. targets must live as long as the source. */
train_source source_whole(const train_targets *targets);

#endif
