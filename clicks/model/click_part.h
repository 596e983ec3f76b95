/* clicks/model/click_part.h: what a part of a model does (clicks/model/click_kinds.h). Nothing here is collective. */
#pragma once

#include "clicks/model/click_kernels.h"
#include "clicks/model/click_model.h"

/* What the parts read of a pass, and where they leave gradients. */
typedef struct click_pass {
    const train_pass *pass;
    int64_t samples;
    hal_mat sample_id;  /* [samples, 1]; left out: nothing is dropped */
    weft_tensor x, dx;  /* [samples, fields * width + numbers]: vectors of the fields, then numbers */
    weft_tensor logits; /* [samples, 1]; parts add to it. Backward: the gradient */
} click_pass;

typedef struct click_part_ops {
    /* Declares the parameters. [out] self: free with destroy, also after a failure. desc outlives the part. */
    weft_status (*declare)(param_store *params, const click_model_desc *desc, void **self);
    /* Takes the memory of batches. */
    weft_status (*create)(void *self);
    weft_status (*forward)(void *self, const click_pass *pass);
    /* dx = beta dx + gradient; columns of numbers may be left as they are. */
    weft_status (*backward)(void *self, const click_pass *pass, double beta);
    void (*destroy)(void *self); /* NULL is fine */
    /* Of an open part (click_place), else NULL. [out] y, dy: [samples, ...] its last values, and where their readers
     * leave the gradient before `backward`. */
    void (*last)(const void *self, int64_t samples, weft_tensor *y, weft_tensor *dy);
    /* Bytes that `create` takes. */
    int64_t (*bytes)(const weft_hal *hal, const click_model_desc *desc);
} click_part_ops;

extern const click_part_ops CLICK_DEEP_PART, CLICK_CROSSED_PART, CLICK_MATRIX_PART, CLICK_CIN_PART, CLICK_DOTS_PART,
    CLICK_NET_PART;

/* What a model is made of. */
static inline const click_kind_row *click_row_of(const click_model_desc *desc)
{
    return desc->kind == CLICK_PARTS ? &desc->own : click_kind_of(desc->kind);
}

/* The name of a part's parameters. */
static inline const char *click_name_of(const click_model_desc *desc, const char *usual)
{
    return desc->place.name != NULL ? desc->place.name : usual;
}

/* Columns of x. */
static inline int64_t click_inputs(const click_model_desc *desc)
{
    return desc->fields * (int64_t)desc->width + desc->numbers;
}
