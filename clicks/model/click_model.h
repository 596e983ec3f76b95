/*
 * clicks/model/click_model.h: a model of clicks as a train_model (train/model.h), whose input is a click_batch and
 * whose logits are [samples, 1]: the log odds of a click.
 *
 *     embed_open(comm, &rows, most, &table)         rows.width, rows.linear: click_model_width, click_model_linear
 *     click_model_create(hal, comm, &desc, table, &model)
 *     train_loop(comm, hal, click_model_interface(model), ...)
 *
 * A training pass makes rows for new keys, and its backward pass updates the rows of the batch by the table's rule; the
 * gradients of all else are left in the parameter store, for optimiser and synchronisation. A step is one batch: the
 * source must not divide batches, because rows are updated by each backward pass.
 *
 * P ranks compute what one computes, up to rounding: gradients are shares of a sum, masks of dropout are keyed by
 * click_batch.sample_id.
 *
 * The backend's memory must be the host's. Of bfloat16 are the activations of MLPs and what they multiply with; their
 * sums, all other parts, gradients of weights and updates are float32.
 */
#pragma once

#include "base/trace/activity.h"
#include "clicks/click_batch.h"
#include "clicks/model/click_kinds.h"
#include "clicks/model/click_net.h"
#include "train/lr_schedule.h"
#include "train/model.h"

/* A part in a network of the user's own (click_net_part.c): zeros for parts that stand in a model by themselves. */
typedef struct click_place {
    const char *name;    /* of its parameters; NULL: the part's usual one */
    bool open;           /* layers read its last values: no weights add these to the logit */
    uint32_t first_mask; /* layer l of it drops by the masks of layer first_mask + l of the model */
} click_place;

typedef struct click_model_desc {
    click_kind kind;
    click_kind_row own; /* of CLICK_PARTS: out of click_read_parts */
    /* A network of the user's own, after click_net_fit, which must outlive the model: the kind is CLICK_PARTS, with
     * linear weights where the network has `wide`, and with the part CLICK_PART_NET alone. NULL: none */
    const click_net *net;
    click_place place;
    int fields;
    int64_t numbers;
    int width;          /* of the table's rows; lr: 0 */
    int64_t samples;    /* of a batch of this rank, at most */
    click_sizes mlp;    /* deep, and the top MLP of dots; the output of one number is not among them */
    click_sizes bottom; /* of dots: its last size is `width`; without numbers there is no bottom MLP */
    click_sizes cin;    /* maps of each layer */
    int crosses;        /* layers of crossed and matrix */
    double dropout;     /* behind each layer of deep and the top MLP, 0 to less than 1 */
    bool bf16;          /* activations of MLPs */
    bool sums;          /* the table has mode EMBED_DES: lr and fm take sums over ids of it (click_sums.h) */
    bool bags;          /* a field of a sample may have other than one id of weight 1 */
    bool training;      /* backward passes happen too */
    bool times_ahead;   /* the first batches tell whether rows of the next one shall travel ahead (ahead_trial.h) */
    bool worker;        /* training passes come in parts, of which the inner two need no other rank (train/model.h) */
    /* Learning rate of the rows: that of step `pass->step` of `steps` of epoch pass->epoch - 1. Must outlive the model;
     * NULL where no backward pass happens. */
    const train_schedule *schedule;
    int64_t steps;
} click_model_desc;

typedef struct click_model click_model;

extern const weft_activity ACTIVITY_ROWS[1];     /* rows of embeddings: look-ups, exchanges and updates */
extern const weft_activity ACTIVITY_INTERACT[1]; /* interactions of fields */

/* What a table of embeddings keeps for a model of this kind: numbers of a row, and whether one more for `linear`. */
int click_model_width(click_kind kind, int width);
bool click_model_linear(const click_model_desc *desc);
/* Returns true if the table gives squares, too (embed_desc): pairs of ids are more than pairs of fields. */
bool click_model_squares(const click_model_desc *desc);

/* What lr and fm sum over the ids of a sample in mode des. Returns false for models that read rows of fields. */
bool click_model_sums(const click_model_desc *desc, embed_sums *sums);

/* WEFT_ERR_USAGE: layers that do not fit together. WEFT_ERR_UNSUPPORTED: the backend's memory is not the host's. table
 * and comm must outlive the model; table has click_model_width, click_model_linear, click_model_squares and
 * desc->fields. desc is copied. Collective; desc is the same on all ranks, but for `samples`. */
weft_status click_model_create(weft_hal *hal, weft_comm *comm, const click_model_desc *desc, embed_table *table,
                               click_model **model);
void click_model_destroy(click_model *model); /* NULL is fine. Collective */
train_model *click_model_interface(click_model *model);
/* [out] elements of all parameters that a model would have, and of the largest. Local. WEFT_ERR_USAGE: sizes do not
 * fit. */
weft_status click_model_count(weft_hal *hal, const click_model_desc *desc, int64_t *parameters, int64_t *largest);
/* Bytes that a model holds besides its parameters and the table, for memory plans. hal: for the number of threads. */
int64_t click_model_bytes(const weft_hal *hal, const click_model_desc *desc);
