/*
 * train/precondition.h: a method that changes the gradient before the optimiser sees it, such as a second-order method.
 *
 *      backward -> gradients synchronised -> precondition -> optimiser
 *
 * Without a preconditioner the gradient stays as it is.
 */
#pragma once

#include "comm/sync/sync.h"
#include "train/optimizer.h"

/* Of the last step, the same on all ranks; seconds are this rank's, since the run began. */
typedef struct precondition_figures {
    double clip;       /* factor that a bound put on the step, at most 1 */
    double damping;    /* relative, mean over layers */
    double seconds[3]; /* looking at rows and summing over ranks, inverting, turning gradients */
    /* Processor seconds of the thread that calls, of the same three, without waits for other ranks. */
    double work[3];
    /* Sent by this rank over communicators of the method's own, which comm_lane_stats of the job's does not count. */
    uint64_t group_bytes, group_messages;
    double overhead;   /* seconds of a step beside the rest of it, as it was judged; 0: it was not */
    bool stepped_back; /* the method gave up because of its overhead */
    /* Sums of rows that were not finite, and inversions that failed, since the run began. The factor before such sums
     * stands; a layer without an inverse takes its gradient as it is. */
    int64_t refused;
} precondition_figures;

typedef struct train_preconditioner {
    void *self;
    /*
     * Change params->grad in place, once a step. The whole of it stands there, synchronised as --sync does it: where
     * replicas are kept equal the same on all ranks, and what is left must be the same on all ranks too. Collective.
     * Allocates nothing after the first epoch. NULL: gradients stay as they are.
     */
    weft_status (*apply)(void *self, param_store *params, double lr);
    /* The method updates some matrices itself, after apply and in place of the optimiser; NULL: none. */
    const optimizer_matrices *matrices;

    /*
     * State that apply keeps from step to step. The three functions are all set, or all NULL if there is no state.
     * reset: a run begins; forget the state. state: [out] buffer[count] in host memory that hold the state, for
     * checkpoints. Names and their order are the same on every rank of every start; lengths may differ between ranks.
     * The buffers are valid until the next call. restored: the buffers were filled from a checkpoint of as many ranks.
     * Local.
     */
    weft_status (*reset)(void *self);
    weft_status (*state)(void *self, const sync_buffer **buffer, int *count);
    weft_status (*restored)(void *self);
    /* NULL: the method has no figures. */
    precondition_figures (*figures)(const void *self);
} train_preconditioner;
