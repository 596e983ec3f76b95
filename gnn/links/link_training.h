/*
 * gnn/links/link_training.h: the links of a training step, with their negatives.
 *
 *     batch 0    a step is an epoch, of all training links
 *     batch B    step t is positions [t B, (t + 1) B) of a random order of the training links of all ranks, which is
 *                new in every epoch; the last step may be short
 *
 * The order is a function of seed and epoch (train/batch/batch_order.h), and a rank takes the links of a step that are
 * its own. So a step is the same links for any number of ranks, and no rank asks another. Ranks have about equal shares
 * of a step, as they have of all links. A step costs a look at B positions.
 *
 * Memory: 32 bytes for each link and negative of this rank in a step.
 */
#pragma once

#include "gnn/links/link_ends.h"
#include "gnn/links/link_set.h"
#include "train/labels.h"
#include "train/source.h"

typedef struct link_training_config {
    int64_t negatives; /* of a training link, at least 1 */
    int64_t batch;     /* links of a step, over all ranks; 0: all */
    bool pairwise;     /* the loss compares a link with each of its negatives */
    bool trains;       /* false: there are no training steps */
} link_training_config;

typedef struct link_training {
    link_training_config config;
    const link_set *set;
    const int32_t *place;
    int64_t capacity, batch; /* links of a step: of this rank at most, of all ranks */
    int64_t *link;           /* [capacity] links of the step, by their number on this rank */
    int32_t *a, *b;          /* [capacity (1 + negatives)] places: links, then negative k of each, k from 0 */
    int64_t *id;             /* as a and b, on the host */
    weft_tensor device_id;
    /* Of a step of `capacity` links. A shorter one begins further behind, so that as many rows of links are left. */
    train_labels labels;
    bool drawn; /* the fields below are those of this seed, epoch and step */
    uint64_t seed;
    uint32_t epoch;
    int64_t step;
    link_batch links;
    train_targets targets;
} link_training;

/* Training links of this rank in a step, at most. */
int64_t link_training_most(const link_set *set, int64_t batch);
/* set, place: as link_ends has it, [vertices]; both live as long as `training`. Free with link_training_destroy, also
 * after a failure. Local. WEFT_ERR_RESOURCE: no memory. */
weft_status link_training_create(weft_hal *hal, const link_set *set, const int32_t *place,
                                 const link_training_config *config, link_training *training);
void link_training_destroy(link_training *training);
/* Steps of an epoch; the same on all ranks. */
int64_t link_training_steps(const link_training *training);
/* training->links and training->targets become those of the pass. Local. */
weft_status link_training_draw(link_training *training, const train_pass *pass);
