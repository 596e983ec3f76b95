/*
 * train/model.h: the interface between the training loop and a model, and the labels that a model is trained towards.
 *
 * gnn and dense implement train_model; the loop never names them. A rank computes `rows` rows of the output: its share
 * of the data, or of a batch. Losses and gradients are local shares, already divided by the global count, so that
 * their sum over ranks is the mean over the batch of all ranks.
 */
#pragma once

#include "base/option_words.h"
#include "comm/sync/sync.h"
#include "train/param.h"

/* Calls that the loop wants from a training pass, by blocks of the parameter store. Models make them through train_need
 * and train_ready. A block that is never called ready counts as final when backward returns; need must not be left
 * out. */
typedef struct train_hooks {
    void *self;
    /* Called before forward reads the parameters of a block, whether it is replicated or a rank's own. */
    weft_status (*need)(void *self, int block);
    /* Called once a backward pass, when the gradient of a block is final. */
    weft_status (*ready)(void *self, int block);
} train_hooks;

/* This rank's share of one step of training or evaluation; valid until the source's next batch. */
typedef struct train_batch {
    /* Input of the model, in a form that source and model agree on; NULL: the model has its input already. */
    const void *input;
    const struct train_targets *targets;
} train_batch;

/* One pass of a model over a batch, or over a part of it. */
typedef struct train_pass {
    /* Training passes apply dropout and take batch statistics from the data. */
    bool training;
    /* Seed of the run. */
    uint64_t seed;
    /* Number of the epoch. Dropout masks are keyed by it, because a row is in one batch of an epoch. */
    uint32_t epoch;
    /* Step of the epoch, or of the evaluation, from 0. */
    int64_t step;
    /* Micro-batch of the step, from 0, and how many the step has (train/source.h). An evaluation has 1. */
    int part, parts;
    /* NULL: the model has its input already. */
    const train_batch *batch;
    /* NULL: nobody waits for parameters and gradients. */
    const train_hooks *hooks;
    /* Listener that reads rows and output gradients of layers (train/tap.h); NULL: none in this pass. */
    const struct train_tap *tap;
} train_pass;

static inline weft_status train_need(const train_pass *pass, int block)
{
    return pass->hooks != NULL ? pass->hooks->need(pass->hooks->self, block) : WEFT_OK;
}

static inline weft_status train_ready(const train_pass *pass, int block)
{
    return pass->hooks != NULL ? pass->hooks->ready(pass->hooks->self, block) : WEFT_OK;
}

/* A linear map of a model, for methods that treat weights as matrices (train/second/second.h). */
typedef struct train_map {
    /* Block of the parameter store that holds the weights, [in, out], or [out, in] where `transposed`. */
    int block;
    /* Block of the bias; -1 if there is none, or if a norm that follows subtracts it again. */
    int bias;
    /* The bias is added to the rows that the map writes, as one more row of the weights; else to sums of these rows. */
    bool joined;
    bool transposed;
    /* The input rows are the same in every training pass, but for a mask over features that are held sparse. */
    bool constant;
    /* The map is a convolution without groups. Its rows are the patches of images that its kernel sees. */
    bool conv;
    /*
     * A sum over edges stands behind the map, so its curvature is that of sums of input rows. Column j of `columns`
     * [in, width] becomes this rank's share of the sum that row row[j] of the result takes; row[j] is one of this
     * rank's rows, or -1 if another rank has the row. count <= width columns are asked for; the others become 0. NULL:
     * the curvature is that of the input rows. Collective.
     */
    weft_status (*sums)(void *sums_self, const int64_t *row, int64_t count, weft_tensor *columns);
    void *sums_self;
    /*
     * With `sums`: the block is [W | V], of equal widths, and a result is x W + s V, with x a row of the input and s a
     * sum of such rows. The curvature is that of rows [x | s], so `columns` is [2 in, width]: x, then s. Else width is
     * out.
     */
    bool beside;
} train_map;

/*
 * What a model keeps and trains beside its parameters, as files of the ranks: tables that grow with the data, such as
 * rows of embeddings. The loop (train/loop/loop.h) calls these where it treats the parameters likewise, and checkpoints
 * hold the files. Any number of ranks reads what another number wrote. Every function is collective; statuses are
 * agreed by the caller. Files go into one folder that all ranks reach, those of the best beside the others under names
 * of their own: WEFT_ERR_IO names the folder where some rank does not reach it.
 *
 * mark: of the parameters that belong to what is kept (param_mark), 0: not known. Files hold it, so that those of other
 * parameters are refused.
 */
typedef struct train_beside {
    void *self;
    /* It becomes what it is before the first epoch of a run; mark: of initial parameters that were read. */
    weft_status (*begin)(void *self, uint64_t seed, uint64_t mark);
    /* As it is now it is the best of the run; and it becomes again what it was then. */
    weft_status (*keep_best)(void *self, uint64_t mark);
    weft_status (*use_best)(void *self);
    /* What keep_best kept, and what is in use. */
    weft_status (*save_best)(void *self, const char *folder);
    weft_status (*save)(void *self, const char *folder, uint64_t mark);
    /* WEFT_ERR_DATA: the files are damaged, of another model, or of other parameters. */
    weft_status (*load)(void *self, const char *folder, bool best, uint64_t mark);
} train_beside;

typedef struct train_model {
    const char *name;
    void *self;
    param_store *params;
    /* Linear maps, in the order of the forward pass; the same on all ranks. maps == 0: the model names none. */
    const train_map *map;
    int maps;
    /* Ids of this rank's rows [row_ids] on the host, from 0 to the rows of all ranks less 1; no two rows share an id.
     * NULL: rows have no ids. */
    const int64_t *row_id;
    int64_t row_ids;
    /* Age in epochs of the oldest row of another rank that the last pass used; 0: all rows were of that pass. */
    int64_t staleness;
    /*
     * Training passes may use rows of other ranks for several epochs: `delay` sets for how many between two passes, 0
     * (every row travels in every epoch) or delay_least to delay_most. The value that holds already changes nothing; a
     * checkpoint keeps it in the model's state. Collective. NULL, on all ranks: rows are never old.
     */
    weft_status (*delay)(void *self, int epochs);
    int delay_least, delay_most;
    /* Gradients pass through float16, so the loop scales the loss (train/loop/loss_scale.h). */
    bool scaled;
    /* [out] logits: view [rows of the batch, outputs], valid until the next forward pass. Collective. */
    weft_status (*forward)(void *self, const train_pass *pass, weft_tensor *logits);
    /* dlogits: the gradient of the loss, usually in the logits' own memory. Overwrites every gradient of params.
     * Collective. */
    weft_status (*backward)(void *self, const train_pass *pass, weft_tensor *dlogits);
    /*
     * Of a worker's model (train_workers): what a training pass needs other ranks for, apart from the rest, so that
     * forward and backward are local and may run on another thread. Order: fetch, forward, backward, give. Collective.
     * NULL: forward and backward do it all.
     */
    weft_status (*fetch)(void *self, const train_pass *pass);
    weft_status (*give)(void *self, const train_pass *pass);
    /* Replaces parameters of a run that were drawn by those that follow from the data. Collective. NULL, on all ranks:
     * those that were drawn stay. */
    weft_status (*start)(void *self);
    /*
     * State that passes keep from epoch to epoch beside the parameters. Both functions, or NULL on all ranks if there
     * is none. They work as in train/precondition.h, except that a buffer is zeroed where a checkpoint of other options
     * has none of its name and length. restored: WEFT_ERR_DATA on all ranks if a buffer cannot be of this model.
     * Collective.
     */
    weft_status (*state)(void *self, const sync_buffer **buffer, int *count);
    weft_status (*restored)(void *self);
    /* Tables that the model keeps and trains beside the parameters; NULL, on all ranks, if there are none. */
    const train_beside *beside;
    /* Threads that train it side by side; NULL: none. */
    const struct train_workers *workers;
} train_model;

/* A copy of a model that computes a batch while others compute theirs (train/loop/team.h). Memory of values and
 * gradients, backend and batches are its own; the backend's memory is the host's. What forward passes read of its
 * parameters is copied from the model that is trained. */
typedef struct train_worker {
    train_model *model;
    const struct train_source *source; /* of the same batches as that of the training */
} train_worker;

typedef struct train_workers {
    int count;
    train_worker *worker; /* [count] */
} train_workers;

/* Targets are classes, binary tasks, or numbers, which the answers are themselves. */
typedef enum train_loss { TRAIN_LOSS_XENT, TRAIN_LOSS_BCE, TRAIN_LOSS_VALUE } train_loss;

/* Choices of the loss; auto follows the labels. Those behind bce are of targets that are numbers. */
#define LOSS_CHOICES(X)                                                                                                \
    X(LOSS_AUTO, "auto")                                                                                               \
    X(LOSS_XENT, "xent")                                                                                               \
    X(LOSS_BCE, "bce")                                                                                                 \
    X(LOSS_SQUARED, "squared")                                                                                         \
    X(LOSS_ABSOLUTE, "absolute")                                                                                       \
    X(LOSS_QUANTILE, "quantile")                                                                                       \
    X(LOSS_POISSON, "poisson")                                                                                         \
    X(LOSS_RANK, "rank")                                                                                               \
    X(LOSS_HUBER, "huber")
typedef enum loss_choice { LOSS_CHOICES(CHOICE_VALUE) } loss_choice;

/* Element type of activations and their gradients; parameters are float32 beside bf16 and f16. */
#define TRAIN_PRECISIONS(X)                                                                                            \
    X(TRAIN_PRECISION_F32, "f32")                                                                                      \
    X(TRAIN_PRECISION_BF16, "bf16")                                                                                    \
    X(TRAIN_PRECISION_F16, "f16")
typedef enum train_precision { TRAIN_PRECISIONS(CHOICE_VALUE) } train_precision;

/* Split of a row: train (0), valid (1), test (2), or none. */
enum { TRAIN_SPLIT_TRAIN = 0, TRAIN_SPLITS = 3, TRAIN_SPLIT_NONE = 255 };

/* Labels of a batch. In full-batch training the batch is all rows. */
typedef struct train_targets {
    /* Rows of this rank. */
    int64_t rows;
    /* Number of classes, or of tasks. */
    int64_t outputs;
    train_loss loss;
    /* Of numbers: the quantile by which TRAIN_METRIC_PINBALL judges answers. */
    double quantile;
    /* Of numbers that are grades, and of one task: [rows] the group of each row on the host, of which equal neighbours
     * are one, and the rows of a group that TRAIN_METRIC_NDCG and TRAIN_METRIC_HITS look at. NULL: there are no groups,
     * and TRAIN_METRIC_MRR and TRAIN_METRIC_HITS rank a positive among all negatives of its split. */
    const uint64_t *group;
    int ndcg_at, hits_at;
    /* Labels and splits are known. The same on every rank, also on one without rows. */
    bool labelled;
    /* Device and host copy of the classes [rows]; NULL with tasks, or without rows. */
    const int32_t *label, *label_host;
    /* Shares of all classes [rows, outputs] on the host that a training batch learns in the place of its labels, which
     * scores still take, and the temperature of that loss (train/loop/share_loss.h). NULL: labels are learnt. */
    const float *share_host;
    double temperature;
    /* Device and host copy of the tasks [rows, outputs]: 0, 1 or NaN, or of numbers [rows, 1], NaN: none; NULL with
     * classes, or without rows. */
    const float *target, *target_host;
    /* Device masks [rows]: 1 for the rows of the split, 0 for the others. Made once. */
    const uint8_t *mask[TRAIN_SPLITS];
    /* Split of each row [rows], on the host. */
    const uint8_t *split_host;
    /* Labelled rows of each split, over all ranks. */
    int64_t counted[TRAIN_SPLITS];
    /* Terms of the training loss, over all ranks. */
    int64_t loss_entries;
} train_targets;
