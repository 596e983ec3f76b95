/*
 * train/checkpoint/keeper_state.h: everything of a training that a checkpoint holds, out of the ranks' memory and back.
 *
 * A rank's state is one block of host memory: parameters and moments, those of its own parameters and the best of them
 * where some rank has any, then the buffers of the synchronisation mode, of the preconditioner and of the model.
 *
 *     | parameters [elements] | average [elements] | first [trained] | second [trained] |
 *     | own [own] | own_average [own] | own_first [own] | own_second [own] | own_best [own] | buffer 0 | buffer 1 | ...
 */
#pragma once

#include "train/checkpoint/checkpoint_internal.h"
#include "train/checkpoint/keeper.h"
#include "train/replica.h"

/* What a training by gradients keeps: pointers to what lives as long as it. */
typedef struct kept_replica {
    weft_comm *comm;
    const train_model *model;
    train_replica *replica;
    sync_buffer guard;            /* what the skew guard remembers; no bytes: there is none */
    weft_tensor *best, *best_own; /* parameters at the best score of the run, and a rank's own ones */
} kept_replica;

/* The parts of a keeper_content (train/checkpoint/keeper.h): parameters, moments, best parameters and files of
 * ranks. */
weft_status kept_replica_gather(kept_replica *kept, const char *folder, bool best, weft_status *written);
/* After replica_reset. A checkpoint of another number of ranks, or of another mode, gives the mean of its replicas;
 * what mode, preconditioner and model remembered is dropped, with a line in the log. Where ranks have parameters of
 * their own it is WEFT_ERR_USAGE. */
weft_status kept_replica_restore(kept_replica *kept, const checkpoint *ck, const train_progress *progress);
void kept_replica_describe(const kept_replica *kept, checkpoint_facts *facts);
