/*
 * app/setup/second_setup.h: --precondition and the options beside it, as train/second/second.h takes them.
 *
 * A turned gradient wants another optimiser than Adam, whose own scaling would undo the turn. Unless somebody sets
 * them, --optimizer is sgd, --lr 0.3, --momentum 0.9 and --schedule cosine.
 */
#pragma once

#include "app/setup/context.h"
#include "train/checkpoint/checkpoint.h"
#include "train/loop/loop.h"
#include "train/second/second.h"

/* Decides --precondition where it is auto, and what follows from it, in `options`; logged. pays: the data have rows
 * enough. WEFT_ERR_USAGE: a mode of --sync whose replicas differ. Local. */
weft_status second_setup_decide(weft_options *options, bool pays);
/* Numbers of norms and of layers with weights of a network on images, without convolutions in groups. */
typedef struct second_images {
    int norms, weights;
} second_images;

/* Like second_setup_decide, for networks on images. Their batches are small, so intervals, clip and averages that
 * nobody set are others than those of graphs. */
weft_status second_setup_decide_images(weft_options *options, const second_images *network);
/* The options as train/second/second.h takes them, but for the seed. --precondition-place auto: everywhere, until it is
 * decided (app/setup/second_outlook.h). */
weft_status second_setup_options(const weft_options *o, const train_model *model, second_options *options);
/* --precondition-place auto becomes the checkpoint's; ck: NULL on ranks that do not know it. Collective. */
weft_status second_setup_adopt(const app_context *context, const checkpoint *ck);
/* steps: number of steps in an epoch. [out] second: NULL without --precondition; else its tap and preconditioner stand
 * in `train`. Collective. */
weft_status second_setup_open(weft_comm *comm, const weft_options *options, const train_model *model, int64_t steps,
                              train_options *train, train_second **second);
