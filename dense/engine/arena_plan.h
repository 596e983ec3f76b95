/*
 * dense/engine/arena_plan.h: where values and gradients of a step stand in one block of memory.
 *
 * A step is a line of 2 U moments: forward of unit u at moment u, backward at 2 U - 1 - u. Each value, gradient and
 * pooling index is a *slot*: bytes an image, and the first and last moment at which somebody needs it. Slots whose
 * moments do not meet may share memory; the largest are placed first, each as low as it can stand (greedy by size: Y.
 * Pisarchyk, J. Lee, 2020, arXiv 2001.03288).
 *
 * Gradients: a unit whose backward pass reads and writes the same elements works in the memory of its output's
 * gradient. The first unit that brings a share to the gradient of a value writes it there; later ones write to a slot
 * of their own, which is added: by a norm, when the value is its output, in the pass over its gradient that it makes
 * anyway.
 *
 * What norms give is computed twice. Their input stays for their own backward pass, so their output may leave after the
 * forward pass, and is made again, to the bit, for the first unit that reads it in the backward pass:
 *
 *      forward    x -norm-> y -conv->          backward    x -norm-> y' -> the conv's gradients, and y' is gone
 *
 * That is one pass over memory, which the norm's backward pass saves where no residual is added: it tells ReLU's mask
 * by x instead of y. With a residual the two passes over x and the residual are the price; y is made again when the
 * residual stays anyway and is not made again itself, so that nothing is more than one pass away.
 *
 * Some convolutions make what a norm gives on their way, forward and backward (hal_conv_norm): it is never in memory.
 * Its value's slot is that of the norm's input, which they read.
 *
 * Values may be narrower than parameters (bfloat16). Then the batch gets a narrow copy, a linear layer works on a wide
 * copy of its input, and the logits are wide.
 */
#ifndef WEFT_DENSE_ENGINE_ARENA_PLAN_H
#define WEFT_DENSE_ENGINE_ARENA_PLAN_H

#include "dense/engine/units.h"

enum { ARENA_NO_SLOT = -1 };

typedef struct arena_slot {
    int64_t elements; /* of one image */
    int64_t bytes;    /* of as many images as the plan is for */
    int64_t offset;   /* in the arena */
    int first, last;  /* moments */
} arena_slot;

/* Of one unit; slots, or ARENA_NO_SLOT. */
typedef struct unit_slots {
    int index;              /* pooling: which pixel was the largest, one byte an element */
    int dy;                 /* the gradient of y */
    int share;              /* what a norm adds to it first */
    int dx, dx_sum;         /* where the gradient of x is written; where it is then added */
    int dother, dother_sum; /* the same of what is added */
    int wide_x, wide_dx;    /* of a linear layer with a narrow input: that, and its gradient */
} unit_slots;

typedef struct arena_plan {
    int slots;
    arena_slot *slot;
    int *value; /* [values] the slot of each value; of the input: of its narrow copy, or ARENA_NO_SLOT: it is the
                   batch's own memory */
    int *again; /* [values] the slot where it is made again at its first moment, or ARENA_NO_SLOT: it stayed */
    int logits, dlogits; /* the wide copy of a narrow output, and the narrow one of its gradient, or ARENA_NO_SLOT */
    unit_slots *unit;    /* [units] */
    int64_t bytes;       /* of the arena */
} arena_plan;

/* What the plan is for. */
typedef struct arena_need {
    int64_t images;      /* of a batch, at most */
    const size_t *bytes; /* [values] of an element */
    const bool *passing; /* [values] what a norm gives and its only reader makes on its way; NULL: nothing */
    size_t wide;         /* bytes of a parameter */
    bool training;       /* backward passes happen too */
} arena_need;

/* Free with arena_plan_destroy, also after a failure. */
weft_status arena_plan_create(const unit_list *list, const arena_need *need, arena_plan *plan);
void arena_plan_destroy(arena_plan *plan);

#endif
