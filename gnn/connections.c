/* gnn/connections.c: see gnn/connections.h. */
#include "gnn/connections.h"

#include <assert.h>

static bool takes_maximum(const gnn_connections *c)
{
    return c->plan->config.jumping == GNN_JUMPING_MAX;
}

static int64_t width_of(const gnn_plan *plan)
{
    return plan->jump_cols / plan->convolutions;
}

weft_status gnn_connections_create(weft_hal *hal, const gnn_plan *plan, const gnn_layer *last, gnn_connections *c)
{
    *c = (gnn_connections){.plan = plan};
    if (plan->skip_cols > 0) {
        WEFT_TRY(tensor_create(hal, plan->values, plan->n_owned, plan->skip_cols, WEFT_MEM_ACTIVATION, &c->skipped));
    }
    if (plan->jump_cols == 0) {
        return WEFT_OK;
    }
    WEFT_TRY(tensor_create(hal, plan->values, plan->n_owned, plan->jump_cols, WEFT_MEM_ACTIVATION, &c->gradient));
    if (!takes_maximum(c)) {
        c->collected = gnn_layer_x(last);
        return WEFT_OK;
    }
    WEFT_TRY(tensor_create(hal, plan->values, plan->n_owned, plan->jump_cols, WEFT_MEM_ACTIVATION, &c->collected));
    return tensor_create(hal, WEFT_DTYPE_U8, plan->n_owned, width_of(plan), WEFT_MEM_ACTIVATION, &c->index);
}

void gnn_connections_destroy(gnn_connections *c)
{
    TENSOR_DESTROY_ALL(&c->skipped, &c->gradient, &c->index, &c->collected);
}

static weft_tensor columns_of(const gnn_connections *c, const weft_tensor *all, int k)
{
    const int64_t width = width_of(c->plan);
    assert(k >= 0 && (k + 1) * width <= all->cols);
    return tensor_view(all, 0, c->plan->n_owned, k * width, width);
}

weft_tensor gnn_jump_result(const gnn_connections *c, int k)
{
    return columns_of(c, &c->collected, k);
}

weft_tensor gnn_jump_gradient(const gnn_connections *c, int k)
{
    return columns_of(c, &c->gradient, k);
}

/* The results of a vertex as an image of one row, a pixel a convolution. */
static hal_pool_shape pool_of(const gnn_connections *c)
{
    const int64_t count = c->plan->convolutions;
    return (hal_pool_shape){.height = 1, .width = count, .kernel = {1, count}, .stride = {1, count}};
}

static weft_tensor pixels_of(const gnn_connections *c, const weft_tensor *all)
{
    return tensor_reshape(all, c->plan->n_owned * c->plan->convolutions, width_of(c->plan));
}

weft_status gnn_jump_forward(const gnn_connections *c, const weft_tensor *x)
{
    if (!takes_maximum(c)) {
        return WEFT_OK;
    }
    weft_tensor pixels = pixels_of(c, &c->collected);
    return hal_pool_forward(c->collected.hal, &(hal_pool_forward_args){.x = tensor_mat(&pixels),
                                                                       .y = tensor_mat(x),
                                                                       .index = tensor_mat(&c->index),
                                                                       .shape = pool_of(c)});
}

weft_tensor gnn_jump_input_gradient(const gnn_connections *c, const weft_tensor *scratch)
{
    return takes_maximum(c) ? tensor_view(scratch, 0, c->plan->n_owned, 0, width_of(c->plan)) : c->gradient;
}

weft_status gnn_jump_backward(const gnn_connections *c, const weft_tensor *input_gradient)
{
    if (!takes_maximum(c)) {
        return WEFT_OK;
    }
    weft_tensor pixels = pixels_of(c, &c->gradient);
    return hal_pool_backward(c->gradient.hal, &(hal_pool_backward_args){.dy = tensor_mat(input_gradient),
                                                                        .dx = tensor_mat(&pixels),
                                                                        .index = tensor_mat(&c->index),
                                                                        .shape = pool_of(c)});
}
