/*
 * dense/engine/dense_model.h: a network on images as a train_model (train/model.h), whose input is an image_batch.
 *
 * Batches are matrices [images * height * width, channels] (hal/hal.h), so that every operation on rows and columns is
 * one on pixels and channels, and need not be turned on the way. Everything that steps use is made here once: prepared
 * convolutions for the numbers of images that will come, and one block of memory for values and gradients
 * (dense/engine/arena_plan.h). Weights lie in the parameter store in the order of files, [out, in, height, width];
 * the backend packs those of one layer at a time, when a pass of it begins.
 *
 * P ranks compute what one computes, up to rounding: gradients are shares of a sum, batch norm sums its statistics over
 * ranks (NORM_BATCH; NORM_BATCH_LOCAL leaves each rank to its own share), masks of dropout are keyed by sample.
 */
#pragma once

#include "base/trace/activity.h"
#include "dense/data/image_source.h"
#include "dense/engine/arena_plan.h"
#include "dense/engine/dense_gain.h"
#include "dense/engine/dense_group_norm.h"
#include "dense/engine/dense_lanes.h"
#include "dense/engine/dense_tokens.h"
#include "train/layers/linear.h"
#include "train/layers/norm.h"
#include "train/model.h"

struct dense_config {
    const network *net;    /* after net_fit; must outlive the model */
    norm_kind norm;        /* NORM_BATCH or NORM_BATCH_LOCAL, of training passes */
    const int64_t *images; /* [sizes] the numbers of images that this rank's batches have, 0 need not be named */
    int sizes;
    bool training; /* backward passes happen too */
    /* Type of the values between layers and of their gradients: the parameters' type, or WEFT_DTYPE_BF16 or
     * WEFT_DTYPE_F16 beside float32. Linear layers on single pixels, losses, sums and updates have the parameters'. */
    weft_dtype values;
    bool winograd; /* see hal_conv_shape */
};

/* Parameters and prepared operations of one unit. */
typedef struct dense_unit {
    /* UNIT_LINEAR: its map. UNIT_CONV: the blocks of its kernels and bias; other kinds have LINEAR_NO_BLOCK twice. */
    train_linear linear;
    hal_conv *conv;
    /* UNIT_POOL and UNIT_SUBSAMPLE: the window. UNIT_UPSAMPLE: that of the pooling that it reverses. */
    hal_pool_shape pool;
    train_norm norm;
    dense_group_norm group_norm; /* UNIT_GROUPNORM and UNIT_LAYERNORM */
    dense_gain gain;
    dense_embed embed;
    dense_position position;
} dense_unit;

/* Arrays with an entry for each value of the network. */
typedef struct dense_values {
    weft_dtype *type;
    bool *passing; /* see arena_need */
} dense_values;

extern const weft_activity ACTIVITY_CONVOLVE[1];

struct dense_model {
    weft_comm *comm;
    weft_hal *hal;
    dense_config config;
    unit_list list;
    dense_unit *unit; /* [units] */
    dense_values values;
    arena_plan plan;
    weft_tensor arena; /* [1, bytes] uint8 */
    param_store params;
    weft_dtype dtype;
    int slow;                 /* layers for whose shape the backend has no direct convolution */
    const char *slow_layer;   /* the first of them */
    int winograd;             /* number of convolutions that are computed by Winograd's products */
    const image_batch *input; /* of the pass under way */
    int64_t images;           /* of the pass under way */
    train_map *map;           /* [units at most] of the interface */
    /* Evaluations go through lanes, which have units, values and prepared operations of their own; NULL: there are
     * none. */
    dense_lanes *lanes;
    train_model interface;
};

/* Declares the parameters and maps of a model without memory for any of them: what model->interface then says of both
 * is for plans (train/second/second_cost.h). Free with dense_model_destroy, also after a failure. Local. */
weft_status dense_model_outline(weft_hal *hal, weft_dtype dtype, const dense_config *config, dense_model *model);
/* Collective. Free with dense_model_destroy, also after a failure. */
weft_status dense_model_create(weft_comm *comm, weft_hal *hal, weft_dtype dtype, const dense_config *config,
                               dense_model *model);
/* A model that reads the parameters of `whole`, which must outlive it, and works by itself. hal: opened for one thread;
 * config: of evaluations. Free likewise. Local. */
weft_status dense_model_create_lane(const dense_model *whole, weft_hal *hal, const dense_config *config,
                                    dense_model *model);
void dense_model_destroy(dense_model *model);

/* Bytes that a model of these figures will hold besides its parameters, for memory plans; -1: weft_error_code tells.
 * hal: NULL where no backend is known, the most that one needs. */
int64_t dense_model_arena_bytes(const weft_hal *hal, const dense_config *config, weft_dtype dtype);

/* Memory that the backend's operations take beside their operands, at most, for memory plans. Prepares the convolutions
 * for as long as it takes to ask. */
weft_status dense_model_scratch_bytes(const weft_hal *hal, const dense_config *config, weft_dtype dtype,
                                      uint64_t *bytes);

/* Describes a unit of kind UNIT_CONV or UNIT_LINEAR as a convolution, with values of this type. A UNIT_LINEAR works on
 * images of one pixel, and its ReLU is left out, because it is an operation of its own. */
hal_conv_shape dense_conv_shape(const dense_config *config, const unit_list *list, const unit *u, weft_dtype dtype);
/* Like dense_conv_shape, with the type of the unit's values and the norm that the convolution applies to its input. */
hal_conv_shape dense_unit_shape(const dense_config *config, const unit_list *list, const dense_values *values,
                                const unit *u);
/* Returns the largest number of images of a batch. */
int64_t dense_most_images(const dense_config *config);
/* dense_model_scratch_bytes of these units (dense_scratch.c). wide: the type of parameters. */
uint64_t dense_scratch_of_units(const weft_hal *hal, const dense_config *config, weft_dtype wide, const unit_list *list,
                                const dense_values *values);

/* ---- for the passes (dense_forward.c, dense_backward.c) ---- */

/* Copies x to y, which may have the other of the two types. */
weft_status dense_cast(const weft_tensor *x, const weft_tensor *y);
/* A slot in the type of parameters, as a matrix of the shape of value `like`. */
weft_tensor dense_wide(const dense_model *model, int slot, int like);
/* A value's matrix in the pass under way, or a slot's as a matrix of the same shape as value `like`. */
weft_tensor dense_value(const dense_model *model, int value);
weft_tensor dense_slot(const dense_model *model, int slot, int like);
/* Returns the activity that the time of a unit is booked to. */
const weft_activity *dense_activity(const unit *u);
/* Returns the norm that a convolution applies to its input; an empty one if the convolution reads its input as it
 * is. */
hal_conv_norm dense_norm_on_the_way(const dense_model *model, const unit *conv);
/* Dropout of a unit: rows are images. */
hal_dropout dense_dropout(const dense_model *model, int index, const train_pass *pass);
/* The words of the batch, [rows of the input, 1]; no rows where the input is images. */
weft_tensor dense_words(const dense_model *model);
weft_tensor dense_by_image(const weft_tensor *value, int64_t images);
/* View of the channels of a subsampled image y that take the channels of the input; the others are padding. */
/* Columns of the output of a UNIT_CONCAT that hold `other`, or x. */
weft_tensor dense_concatenated(const dense_model *model, int index, const weft_tensor *y, bool other);
weft_tensor dense_subsampled(const dense_model *model, int index, const weft_tensor *y);

weft_status dense_forward(void *self, const train_pass *pass, weft_tensor *logits);
weft_status dense_backward(void *self, const train_pass *pass, weft_tensor *dlogits);
