/*
 * train/loop/loss_scale.h: what the gradient of the loss is multiplied by where gradients between layers are float16,
 * whose smallest number is 2^-24, and whose largest 65504: without it most of a network's are below the one, and with
 * too large a factor above the other.
 *
 * The factor is taken off again from the gradients of the parameters, which are float32, before anything else sees them
 * (train/replica.h). Unless it is fixed it is a power of two, so that neither costs a rounding: it begins at 2^15, is
 * halved whenever a gradient of some rank is not finite, whose step is then skipped, and doubled after 2000 steps
 * without. What cannot be helped by 1 ends the training as everywhere else.
 *
 *   P. Micikevicius et al.: Mixed precision training. ICLR 2018, arXiv 1710.03740.
 */
#pragma once

#include "train/checkpoint/checkpoint.h"

enum { LOSS_SCALE_CLEAN = 2000 /* steps to a doubling */ };
#define LOSS_SCALE_FIRST 0x1p15

/* "auto": 0; else a number above 0. WEFT_ERR_USAGE. */
weft_status loss_scale_read(const char *text, double *fixed);

/* A run begins. fixed: 0, or what the scale is. */
void loss_scale_begin(train_scaling *scaling, double fixed);
/* A run goes on from a checkpoint, which may be of a training without. */
void loss_scale_resume(train_scaling *scaling, double fixed);
/* After a step whose gradients were finite on all ranks. */
void loss_scale_passed(train_scaling *scaling, double fixed);
/* After another. False: nothing is left to try. */
bool loss_scale_overflowed(train_scaling *scaling, double fixed);
