/*
 * train/model.h: what the training loop asks of a model, and what a model is trained towards.
 *
 * gnn and dense implement train_model; the loop never names them. A rank computes `rows` rows of the output: its share
 * of the data, or of a batch. Losses and gradients are local shares, already divided by the global count, so that
 * their sum over ranks is the mean over the batch of all ranks.
 */
#ifndef WEFT_TRAIN_MODEL_H
#define WEFT_TRAIN_MODEL_H

#include "base/option_words.h"
#include "comm/sync/sync.h"
#include "train/param.h"

/* What the loop wants to hear from a training pass, by blocks of the parameter store; models call train_need and
 * train_ready. A block that is never called ready counts as final when backward returns; need must not be left out. */
typedef struct train_hooks {
    void *self;
    weft_status (*need)(void *self, int block);  /* before forward reads the block's parameters; replicated or not */
    weft_status (*ready)(void *self, int block); /* the block's gradient is final: once a backward pass */
} train_hooks;

/* What this rank brings to one step, or to one step of an evaluation; valid until the source's next batch. */
typedef struct train_batch {
    const void *input; /* what the model reads: source and model agree on it; NULL: the model has it already */
    const struct train_targets *targets;
} train_batch;

typedef struct train_pass {
    bool training;            /* dropout on, batch statistics from the data */
    uint64_t seed;            /* of the run */
    uint32_t epoch;           /* keys the dropout masks: a row is in one batch of an epoch */
    int64_t step;             /* of the epoch, or of the evaluation, from 0 */
    int part, parts;          /* of the step's batch, from 0 (train/source.h); an evaluation has 1 */
    const train_batch *batch; /* NULL: the model's own input */
    const train_hooks *hooks; /* NULL: nobody listens */
} train_pass;

static inline weft_status train_need(const train_pass *pass, int block)
{
    return pass->hooks != NULL ? pass->hooks->need(pass->hooks->self, block) : WEFT_OK;
}

static inline weft_status train_ready(const train_pass *pass, int block)
{
    return pass->hooks != NULL ? pass->hooks->ready(pass->hooks->self, block) : WEFT_OK;
}

typedef struct train_model {
    const char *name;
    void *self;
    param_store *params;
    int64_t
        staleness; /* epochs since the oldest row of another rank that the last pass used was sent; 0: none is old */
    bool scaled;   /* gradients pass through float16: the loop scales the loss (train/loop/loss_scale.h) */
    /* [out] logits  view [rows of the batch, outputs], valid until the next forward. Collective. */
    weft_status (*forward)(void *self, const train_pass *pass, weft_tensor *logits);
    /* dlogits: the loss gradient, usually in the logits' own memory. Overwrites every gradient of params. Collective.
     */
    weft_status (*backward)(void *self, const train_pass *pass, weft_tensor *dlogits);
    /*
     * What passes remember from epoch to epoch beside parameters, both or NULL when it is nothing, on all ranks alike:
     * state and restored as in train/precondition.h, but for zeros where a checkpoint of other options has no buffer of
     * that name and length. restored: WEFT_ERR_DATA on all ranks if a buffer cannot be of this model. Collective.
     */
    weft_status (*state)(void *self, const sync_buffer **buffer, int *count);
    weft_status (*restored)(void *self);
} train_model;

typedef enum train_loss { TRAIN_LOSS_XENT, TRAIN_LOSS_BCE } train_loss;

/* The loss that is asked for; auto follows the labels. */
#define LOSS_CHOICES(X)                                                                                                \
    X(LOSS_AUTO, "auto")                                                                                               \
    X(LOSS_XENT, "xent")                                                                                               \
    X(LOSS_BCE, "bce")
typedef enum loss_choice { LOSS_CHOICES(CHOICE_VALUE) } loss_choice;

/* The type of what stands between layers, and of its gradients, beside parameters of float32. */
#define TRAIN_PRECISIONS(X)                                                                                            \
    X(TRAIN_PRECISION_F32, "f32")                                                                                      \
    X(TRAIN_PRECISION_BF16, "bf16")                                                                                    \
    X(TRAIN_PRECISION_F16, "f16")
typedef enum train_precision { TRAIN_PRECISIONS(CHOICE_VALUE) } train_precision;

/* Where a row belongs: train, valid, test, or nowhere. */
enum { TRAIN_SPLIT_TRAIN = 0, TRAIN_SPLITS = 3, TRAIN_SPLIT_NONE = 255 };

/* Of a batch; where the whole of the data is one, of all rows. */
typedef struct train_targets {
    int64_t rows;    /* of this rank */
    int64_t outputs; /* classes, or tasks */
    train_loss loss;
    bool labelled; /* labels and splits are known: the same on every rank, also on one without rows */
    /* device and host copies of the same arrays; NULL without rows */
    const int32_t *label, *label_host; /* [rows] classes; NULL with tasks */
    const float *target, *target_host; /* [rows, outputs] 0, 1 or NaN; NULL with classes */
    const uint8_t *mask[TRAIN_SPLITS]; /* device [rows]: 1 for the rows of the split, 0 for the others; made once */
    const uint8_t *split_host;         /* [rows] */
    int64_t counted[TRAIN_SPLITS];     /* labelled rows of each split over all ranks */
    int64_t loss_entries;              /* terms of the training loss over all ranks */
} train_targets;

#endif
