/*
 * train/replica.h: a rank's parameters, kept together with those of the other ranks while they are trained.
 *
 * It joins the parameter store, the optimiser and a synchronisation mode (comm/sync/sync.h): blocks of the model become
 * buckets, hooks of the passes become sync_need and sync_ready. Local state (train/param.h) is averaged here in the
 * modes that average no parameters.
 *
 *      replica_begin                       the step: learning rate, weight
 *      model forward, backward             with replica_hooks; parts before a batch's last: then replica_keep
 *      replica_gradients                   the reduction ends
 *      replica_update                      clipping, preconditioner, optimiser, averages; a split reduction updates in
 *                                          the next forward pass, unless something wants it whole: clipping, a
 *                                          preconditioner, a rule by block, a moving average of the weights
 *      or replica_skip                     a step that was guarded has not been
 *
 * A loss that was scaled leaves gradients that are: replica_scale takes the scale off them, in float32, when they are
 * final and before they are sent. Guarded steps may be skipped: then nothing but rows of data is gone. Modes that
 * remember gradients (all but SYNC_ALLREDUCE) get those of a guarded step once all ranks have said that theirs are
 * finite: one more message of one number, and nothing to hide their own behind.
 */
#pragma once

#include "train/buckets.h"
#include "train/gradient_clip.h"
#include "train/model.h"
#include "train/optimizer.h"
#include "train/precondition.h"
#include "train/weight_average.h"

typedef char replica_name[2 * PARAM_NAME_BYTES];

typedef struct train_replica {
    weft_comm *comm;
    param_store *params;
    train_optimizer optimizer;
    const train_preconditioner *preconditioner; /* NULL: none */
    train_buckets buckets;
    comm_sync *sync;
    replica_name *name; /* [blocks] */
    /* [elements - trained]: this rank's state while the mean stands in its place, and the mean; NULL: none is local. */
    void *own_state;
    double *mean_state;
    bool state_averaged;
    bool owns;          /* some rank has parameters of its own */
    double step_lr, lr; /* of this step, and of the update that is owed */
    /* [1, trained] and [1, own]: what the parts of a batch so far left, when it comes in parts; `kept`: anything. */
    weft_tensor kept_grad, kept_own;
    bool kept;
    /* hooks: for the last part of a batch. part_hooks: for the parts before. */
    train_hooks hooks, part_hooks;
    /* Factor of the gradients that the passes leave; 1 if the loss is not scaled. */
    double scale;
    /* Steps may be skipped (replica_guard). */
    bool guarded;
    /* A gradient was not finite: of this rank, or of some rank in modes that wait for all. */
    bool unsound;
    /* Weight of the step. */
    double weight;
    weft_tensor state_before; /* [1, elements - trained] before the step */
    weft_tensor magnitudes;   /* [1, 2] float64 */
    gradient_clip clip;
    weight_average average; /* over steps; stands in the place of the parameters from replica_average on */
} train_replica;

/* in_parts: batches come in parts. SGD's momentum moves into the mode where the mode corrects it (topk).
 * preconditioner: as long as the replica, or NULL. Collective. */
weft_status replica_create(weft_comm *comm, param_store *params, const sync_options *sync,
                           const optimizer_options *optimizer, const train_preconditioner *preconditioner,
                           bool in_parts, train_replica *replica);
void replica_destroy(train_replica *replica);

/* A run begins from the parameters of rank 0. Collective. */
weft_status replica_reset(train_replica *replica);
/* Steps from now on may be skipped. Once, before the first. */
weft_status replica_guard(train_replica *replica);
/* Sets the factor of the loss, from the next replica_begin on. */
void replica_scale(train_replica *replica, double scale);
weft_status replica_begin(train_replica *replica, double lr, double weight);
/* Hooks for a pass. last: the pass is over the last part of a batch, after which gradients are final. */
const train_hooks *replica_hooks(train_replica *replica, bool last);
/* After the backward pass of a part that is not the last. */
weft_status replica_keep(train_replica *replica);
weft_status replica_gradients(train_replica *replica);
/* Returns true if a gradient that this rank made in the step is not finite. A job of one rank checks guarded steps
 * only. */
bool replica_diverged(const train_replica *replica);
/* After replica_diverged. [out] tensor: name of this rank's tensor with a gradient that is not finite; "" if only other
 * ranks have one. */
weft_status replica_blame(train_replica *replica, const char **tensor);
weft_status replica_update(train_replica *replica);
/* All ranks call this instead of replica_update. Parameters, state and moments become those before the step. */
weft_status replica_skip(train_replica *replica);
/* All ranks hold the same parameters, everything owed included: before evaluation. The next replica_begin goes on from
 * where training stood (comm/sync/sync.h). last: the run ends. Collective. */
weft_status replica_average(train_replica *replica, bool last);

/* Every rank holds its own parameters and state again, as after the last update. Local. */
weft_status replica_resume(train_replica *replica);

/* [out] drift: how much the parameters of ranks differ after replica_average: the largest difference of an element from
 * rank 0's, over the root mean square of rank 0's parameters; 0: the same bits. Collective. WEFT_ERR_RESOURCE: no
 * memory for a copy of the parameters, or for two copies if bits differ. */
weft_status replica_drift(train_replica *replica, double *drift);

/* Returns true if a rank keeps data between two steps that no other rank has: own parameters or state, or state of the
 * mode or the preconditioner. */
bool replica_differs(const train_replica *replica);
/* Prepares a checkpoint: applies updates that are owed, completes messages that are under way, and puts this rank's own
 * parameters in place. [out] buffer: state of the mode (sync_state). The bits of the training do not change.
 * Collective. */
weft_status replica_state(train_replica *replica, const sync_buffer **buffer, int *count);
/* Call after the buffers of replica_state and of the preconditioner were filled from a checkpoint (sync_restored).
 * Collective. */
weft_status replica_restored(train_replica *replica);
