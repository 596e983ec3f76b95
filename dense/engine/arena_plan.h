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
 * The output of a norm is computed twice. The norm's input stays for its own backward pass, so the output may leave
 * after the forward pass, and is made again, to the bit, for the first unit that reads it in the backward pass:
 *
 *      forward    x -norm-> y -conv->          backward    x -norm-> y' -> the conv's gradients, and y' is gone
 *
 * Making y again costs one pass over memory. The norm's backward pass saves one if no residual is added, because it
 * finds ReLU's mask by x instead of y. With a residual the price is two passes, over x and over the residual; y is made
 * again only if the residual stays in memory anyway, so that no value is more than one pass away.
 *
 * Some convolutions apply a norm while they read their input, forward and backward (hal_conv_norm). The norm's output
 * is then never in memory: its value has the slot of the norm's input, which the convolution reads.
 *
 * Values may be narrower than parameters (bfloat16). Then the batch gets a narrow copy, a linear layer works on a wide
 * copy of its input, and the logits are wide.
 */
#pragma once

#include "dense/engine/units.h"

enum { ARENA_NO_SLOT = -1 };

typedef struct arena_slot {
    int64_t elements; /* of one image */
    int64_t bytes;    /* of as many images as the plan is for */
    int64_t offset;   /* in the arena */
    int first, last;  /* moments */
} arena_slot;

/* Slots of one unit; ARENA_NO_SLOT: the unit has no such matrix. */
typedef struct unit_slots {
    int index;              /* pooling: which pixel was the largest, one byte an element */
    int dy;                 /* the gradient of y */
    int share;              /* share of the gradient that a norm adds to dy first */
    int dx, dx_sum;         /* the gradient of x is written to dx, and then added to dx_sum */
    int dother, dother_sum; /* the gradient of `other`: written to dother, then added to dother_sum */
    int wide_x, wide_dx;    /* linear layer with a narrow input: wide copies of x and of its gradient */
} unit_slots;

typedef struct arena_plan {
    int slots;
    arena_slot *slot;
    /* [values] slot of each value. The input has the slot of its narrow copy, or ARENA_NO_SLOT if it is read from the
     * batch's own memory. */
    int *value;
    /* [values] slot in which the value is made again at the slot's first moment; ARENA_NO_SLOT: the value stays. */
    int *again;
    /* Copy of an output that is narrow, or that its unit reads again in the backward pass, and the gradient of the
     * output in its own type; ARENA_NO_SLOT: the output's memory serves all. */
    int logits, dlogits;
    unit_slots *unit; /* [units] */
    int64_t bytes;    /* of the arena */
} arena_plan;

/* The batches and types that a plan is made for. */
typedef struct arena_need {
    int64_t images;      /* of a batch, at most */
    const size_t *bytes; /* [values] of an element */
    const bool *passing; /* [values] outputs of norms that their only reader applies itself; NULL: none */
    size_t wide;         /* bytes of a parameter */
    bool training;       /* backward passes happen too */
} arena_need;

/* Free with arena_plan_destroy, also after a failure. */
weft_status arena_plan_create(const unit_list *list, const arena_need *need, arena_plan *plan);
void arena_plan_destroy(arena_plan *plan);
