/*
 * embed/plan/embed_trial.h: the modes of a table of embeddings, tried on batches of the data by the ranks that will
 * train.
 *
 * Each mode gets a table of its own, in turn, which goes through the same batches forward and backward: once to make
 * their rows, then timed; after the modes a table whose fields have the modes that send least of each; then turns begin
 * again, so that what else the machine does meets all modes. What a mode costs depends on keys that batches share, on
 * processors and on the network, so it is timed and not computed; bytes are counted beside their formula
 * (embed/plan/embed_plan.h).
 */
#pragma once

#include "embed/plan/embed_plan.h"

typedef struct embed_trial_desc {
    int64_t most;    /* keys of a batch of this rank, at most */
    int64_t samples; /* of a batch of this rank, at most */
    int batches;
    /* [out] bags: this rank's share of batch i, until the next call. Collective. */
    weft_status (*batch)(void *self, int i, embed_bags *bags);
    void *self;
    bool tries[EMBED_MODES_COUNT];
    const bool *shares;     /* [fields] of whose keys all ranks may hold rows */
    const embed_sums *sums; /* what mode des sums, without products; NULL: pooled rows */
    embed_counts *counts;   /* [fields] [out] of all batches together */
    uint8_t *mode_of;       /* [fields] [out] the embed_mode of each that sends least */
} embed_trial_desc;

/* What a mode costs. */
typedef struct trial_cost {
    double seconds;        /* of a batch, of the slowest rank; the least mean of the batches; NaN: not tried */
    int64_t sent, formula; /* bytes of all batches over all ranks: as counted, and by formulas */
    int64_t made;          /* rows while batches were timed: 0, unless keys wait to be admitted */
} trial_cost;

typedef struct embed_trial {
    embed_counts counts; /* of one batch: the mean of all, rounded */
    int64_t columns;     /* numbers of a sample that mode des sends */
    trial_cost cost[EMBED_MODES_COUNT];
    trial_cost
        by_field;       /* of fields in the modes of mode_of; not tried where these are all one, or memory is bounded */
    embed_mode fastest; /* all-to-all, unless another takes less than 0.95 of its time */
    bool fields_are_best; /* fields in the modes of mode_of are faster than the fastest, by as much */
} embed_trial;

/* desc: as for embed_open; its modes are not looked at. The same on all ranks, as is `trial` after it. Memory: a table
 * of the rows of these batches. Collective. */
weft_status embed_try_modes(weft_comm *comm, const embed_desc *desc, const embed_trial_desc *how, embed_trial *trial);
