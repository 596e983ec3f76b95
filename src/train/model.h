/*
 * train/model.h: what the training loop asks of a model, and what a model is trained towards.
 *
 * gnn and dense implement train_model; the loop never names them. A rank computes `rows` rows of the output: the
 * vertices it owns, or its samples. Losses and gradients are local shares, already divided by the global count, so that
 * their sum over ranks is the mean over the data.
 */
#ifndef WEFT_TRAIN_MODEL_H
#define WEFT_TRAIN_MODEL_H

#include "train/param.h"

typedef struct train_pass {
    bool training;  /* dropout on, batch statistics from the data */
    uint64_t seed;  /* of the run */
    uint32_t epoch; /* keys the dropout masks */
} train_pass;

typedef struct train_model {
    const char *name;
    void *self;
    param_store *params;
    /* [out] logits  view [rows, outputs], valid until the next forward. Collective. */
    weft_status (*forward)(void *self, const train_pass *pass, weft_tensor *logits);
    /* dlogits: the loss gradient, usually in the logits' own memory. Overwrites every gradient of params. Collective.
     */
    weft_status (*backward)(void *self, const train_pass *pass, weft_tensor *dlogits);
} train_model;

typedef enum train_loss { TRAIN_LOSS_XENT, TRAIN_LOSS_BCE } train_loss;

typedef struct train_targets {
    int64_t rows;    /* of this rank */
    int64_t outputs; /* classes, or tasks */
    train_loss loss;
    /* Device and host copies of the same arrays. */
    const int32_t *label, *label_host; /* [rows] classes; NULL with tasks */
    const float *target, *target_host; /* [rows, outputs] 0, 1 or NaN; NULL with classes */
    const uint8_t *split, *split_host; /* [rows] */
    int64_t counted[HAL_SPLITS];       /* labelled rows of each split over all ranks */
    int64_t loss_entries;              /* terms of the training loss over all ranks */
} train_targets;

#endif
