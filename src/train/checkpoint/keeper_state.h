/*
 * train/checkpoint/keeper_state.h: everything of a training that a checkpoint holds, out of the ranks' memory and back.
 *
 * A rank's state is one block of host memory: parameters and moments, those of its own parameters and the best of them
 * where some rank has any, then the buffers of the synchronisation mode, of the preconditioner and of the model.
 *
 *     | parameters [elements] | first [trained] | second [trained] |
 *     | own [own] | own_first [own] | own_second [own] | own_best [own] | buffer 0 | buffer 1 | ...
 */
#ifndef WEFT_TRAIN_CHECKPOINT_KEEPER_STATE_H
#define WEFT_TRAIN_CHECKPOINT_KEEPER_STATE_H

#include "train/checkpoint/checkpoint_internal.h"
#include "train/checkpoint/keeper.h"

/* Write parameters, moments, best parameters and files of ranks into a checkpoint that is being made. writer: rank 0,
 * NULL elsewhere. *written: why rank 0 could not (others: WEFT_OK); the result is about ranks and messages only. best:
 * whether there are best parameters. Collective. */
weft_status keeper_gather(train_keeper *keeper, checkpoint_writer *writer, bool best, weft_status *written);
/* Whether a checkpoint has files of ranks. */
static inline bool keeper_ranks_differ(const train_keeper *keeper)
{
    return replica_differs(keeper->replica) || keeper->model->state != NULL;
}
/* The reverse, from rank 0's checkpoint (NULL elsewhere). A checkpoint of another number of ranks, or of another mode,
 * gives the mean of its replicas; what mode, preconditioner and model remembered is dropped, with a line in the log, and where
 * ranks have parameters of their own it is WEFT_ERR_USAGE. Collective. */
weft_status keeper_scatter(train_keeper *keeper, const checkpoint *ck);

#endif
