/*
 * train/source.h: where the batches come from that a training goes through, step by step.
 *
 *      for epoch in epochs
 *          for step in steps           batch of (seed, epoch, step) -> forward, loss, backward, update
 *          for step in eval_steps      batch of the evaluation -> forward, scores add up
 *
 * The rows of a step are a function of seed, epoch and step alone; a source keeps no place of its own. So two
 * numbers name a place in the middle of an epoch, and a training that goes on from a checkpoint there reads the
 * batches that the uninterrupted one read. A batch is global: every rank takes its share of it, which may be empty or
 * smaller than that of others, and targets->loss_entries counts the batch of all ranks. Each step's gradient is
 * therefore the mean over its own batch, a short last one included, and the loss of an epoch the mean over its rows.
 *
 * A batch that is too large for the memory comes in parts, runs of its rows one after the other: every part is shared
 * by the ranks as a whole batch is, the loop adds up what the parts' backward passes leave, and ranks synchronise and
 * update once. A step is an update, whatever the number of parts, for rates, progress, checkpoints and modes of
 * synchronisation. targets->loss_entries counts the whole batch in every part, so that the sum of the parts' gradients
 * is the mean over the batch, to rounding. Batch norm normalises over the rows of a part, not over the batch.
 *
 * Full batch is one step an epoch: source_whole.
 */
#pragma once

#include "train/model.h"

typedef struct train_source {
    void *self;
    int64_t steps;        /* of an epoch, at least 1; steps, eval_steps, loss and outputs are equal on all ranks */
    int64_t eval_steps;   /* of an evaluation */
    int64_t eval_rows;    /* of this rank, over the batches of an evaluation */
    int64_t loss_entries; /* terms of the training loss in an epoch, over all ranks */
    train_loss loss;      /* of every batch */
    int64_t outputs;      /* of every batch */
    bool leaves_training; /* evaluations go without the training rows: they are scored as they are trained on */
    bool divides;         /* batch gives part pass->part of pass->parts; false: only whole batches */
    /* The parts that training step `step` comes in where `parts` are asked for: fewer where it has too few rows, so
     * that no part is empty. The same on all ranks. NULL: as many as are asked for. */
    int (*parts)(void *self, int64_t step, int parts);
    /*
     * [out] batch  if pass->training, the batch of pass->seed, epoch and step; else batch pass->step of the evaluation.
     * The batch's memory is the source's and need not outlive the next call. May be collective: all ranks call in the
     * same order. Allocates nothing after the first epoch.
     */
    weft_status (*batch)(void *self, const train_pass *pass, train_batch *batch);
    /*
     * Samples of every rank's shard by which replicas are compared (train/skew/skew_guard.h): `probe` gives batch
     * `step` of probe_steps, a multiple of the ranks, for an evaluation pass; all its rows are owned by rank
     * step % ranks. targets->label_host has their labels. The samples are the same at every call. Local.
     */
    double label_distance; /* mean label distance of the ranks' shards; 0 where any rank computes any sample */
    int64_t probe_steps;   /* 0: there is no probe; the same on all ranks */
    int64_t probe_rows;    /* the most of a batch */
    weft_status (*probe)(void *self, int64_t step, train_batch *batch);
} train_source;

/* A source whose only batch has all rows, for training and evaluation. targets must live as long as the source. */
train_source source_whole(const train_targets *targets);
