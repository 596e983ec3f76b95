/*
 * train/gradient_clip.h: gradients whose norm is too large are shortened.
 *
 * The norm is that of all gradients together, as one vector: the synchronised ones, and those of every rank's own
 * parameters. Where it is above `most`, each is multiplied by most / (norm + 1e-6), as
 * torch.nn.utils.clip_grad_norm_ does. Gradients of blocks whose rate is 0 become 0 first. The norm is the same bits on
 * all ranks.
 *
 *   R. Pascanu, T. Mikolov, Y. Bengio: On the difficulty of training recurrent neural networks. ICML 2013,
 *   arXiv 1211.5063.
 */
#pragma once

#include "train/param.h"

typedef struct gradient_clip {
    double most;         /* 0: nothing is shortened */
    weft_tensor squares; /* [1, 2] float64: sums of squares of the replicated gradients and of this rank's own */
} gradient_clip;

/* most: 0, or the largest norm. Local. */
weft_status gradient_clip_create(const param_store *params, double most, gradient_clip *clip);
void gradient_clip_destroy(gradient_clip *clip);
/* Shortens the gradients of params. Collective if `most` is above 0. */
weft_status gradient_clip_apply(gradient_clip *clip, weft_comm *comm, param_store *params);
