/*
 * train/precondition.h: what may turn the gradient before the optimiser sees it, such as a second-order method.
 *
 *      backward -> gradients synchronised -> precondition -> optimiser
 *
 * Without one the gradient stays as it is.
 */
#ifndef WEFT_TRAIN_PRECONDITION_H
#define WEFT_TRAIN_PRECONDITION_H

#include "comm/sync/sync.h"
#include "train/param.h"

typedef struct train_preconditioner {
    void *self;
    /*
     * Change params->grad in place, once a step. The whole of it stands there, synchronised as --sync does it: where
     * replicas are kept equal the same on all ranks, and what is left must be the same on all ranks too. Collective.
     * Allocates nothing after the first epoch.
     */
    weft_status (*apply)(void *self, param_store *params, double lr);

    /*
     * What apply remembers from step to step: all three of these, or NULL when it is nothing. reset: a run begins,
     * forget it. state, for checkpoints: [out] buffer[count] in host memory that hold it, the same names in the same
     * order on every rank of every start, of lengths that may differ between ranks; valid until the next call.
     * restored: these buffers were filled with what they held then, on as many ranks. Local.
     */
    weft_status (*reset)(void *self);
    weft_status (*state)(void *self, const sync_buffer **buffer, int *count);
    weft_status (*restored)(void *self);
} train_preconditioner;

#endif
