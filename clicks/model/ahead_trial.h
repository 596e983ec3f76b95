/*
 * clicks/model/ahead_trial.h: whether rows of the next batch travel ahead, measured on the first batches of a training.
 *
 * What travels ahead hides behind what a batch computes, and costs messages and a merge of ids: a model that computes
 * little, and ranks that share processors, lose by it. No bit depends on it, so turns of batches with it and without it
 * are timed, and the faster way is kept.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "comm/comm.h"

enum { AHEAD_TURN = 8, AHEAD_TURNS = 5 }; /* batches of a turn; the first turn makes rows and is not timed */

typedef struct ahead_trial {
    bool measures;   /* false: they travel, always */
    bool stays;      /* measured: they do not travel */
    int64_t batch;   /* training batches so far */
    double began;    /* of the turn */
    double least[2]; /* seconds of a turn: without it, with it; 0: none yet */
} ahead_trial;

/* Called once a training batch, at the same place. [out] ahead: rows of the batch behind it shall travel. The same on
 * all ranks. Collective. */
weft_status ahead_trial_next(ahead_trial *trial, weft_comm *comm, bool *ahead);
