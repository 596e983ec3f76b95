/*
 * clicks/model/click_mlp.h: layers y = dropout(relu(x W^T + b)), and, where `out` is asked for, the weights by which
 * the last of them adds to the logit.
 *
 * With bfloat16 the input, the weights of layers, every y and their gradients are rounded to it where they are
 * multiplied, but for y of the last layer of an MLP without `out`, which others read. Updates see float32 weights.
 * Memory of a sample: twice the sum of the sizes.
 */
#pragma once

#include "clicks/model/click_part.h"
#include "train/layers/linear.h"

typedef struct click_mlp {
    weft_hal *hal;
    const click_model_desc *desc;
    click_sizes sizes;
    int64_t inputs;
    bool has_out;
    float dropout;
    uint32_t first_mask;
    train_linear map[CLICK_LAYERS_MOST], out;
    /* In bfloat16: the input [samples, inputs], and the weights of each layer as they were in the last forward pass. */
    weft_tensor narrow, narrow_weight[CLICK_LAYERS_MOST];
    weft_tensor y[CLICK_LAYERS_MOST], dy[CLICK_LAYERS_MOST];
    weft_tensor x; /* of the pass under way, as the layers read it */
} click_mlp;

/* What an MLP is asked for. name: parameters are NAME.0.weight, NAME.0.bias .. NAME.out.weight. */
typedef struct click_mlp_need {
    const char *name;
    const click_sizes *sizes;
    int64_t inputs;
    bool out;
    double dropout;
    uint32_t first_mask; /* layer l of the MLP has the masks of layer first_mask + l of the model */
} click_mlp_need;

weft_status click_mlp_declare(click_mlp *mlp, param_store *params, const click_model_desc *desc,
                              const click_mlp_need *need);
weft_status click_mlp_create(click_mlp *mlp);
void click_mlp_destroy(click_mlp *mlp);
int64_t click_mlp_bytes(const click_model_desc *desc, const click_mlp_need *need);

/* x: [samples, inputs] float32. With `out` adds to pass->logits. */
weft_status click_mlp_forward(click_mlp *mlp, const click_pass *pass, const weft_tensor *x);
/* The last layer's values and their gradient in the pass under way. Without `out` the gradient is the caller's to
 * write before backward. */
weft_tensor click_mlp_last(const click_mlp *mlp, int64_t samples);
weft_tensor click_mlp_dlast(const click_mlp *mlp, int64_t samples);
/* dx = beta dx + gradient, float32; NULL: nobody wants it. */
weft_status click_mlp_backward(click_mlp *mlp, const click_pass *pass, double beta, weft_tensor *dx);
