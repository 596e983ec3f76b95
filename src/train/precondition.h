/*
 * train/precondition.h: what may turn the gradient before the optimiser sees it, such as a second-order method.
 *
 *      backward -> gradients synchronised -> precondition -> optimiser
 *
 * Without one the gradient stays as it is.
 */
#ifndef WEFT_TRAIN_PRECONDITION_H
#define WEFT_TRAIN_PRECONDITION_H

#include "train/param.h"

typedef struct train_preconditioner {
    void *self;
    /*
     * Change params->grad in place, once a step. The whole of it stands there, synchronised as --sync does it: where
     * replicas are kept equal the same on all ranks, and what is left must be the same on all ranks too. Collective.
     * Allocates nothing after the first epoch. Checkpoints hold nothing of self.
     */
    weft_status (*apply)(void *self, param_store *params, double lr);
} train_preconditioner;

#endif
