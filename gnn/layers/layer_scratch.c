/* gnn/layers/layer_scratch.c: what operations of a plan take beside their operands. */
#include "gnn/layers/layer_internal.h"

/* The largest answer so far, and the backend that is asked. */
typedef struct scratch_search {
    const weft_hal *hal;
    const gnn_plan *plan;
    uint64_t most;
} scratch_search;

static void ask(scratch_search *search, hal_scratch_shape shape)
{
    shape.dtype = WEFT_DTYPE_F32; /* of what is summed */
    hal_scratch_ask(search->hal, &shape, &search->most);
}

static void ask_for_edges(scratch_search *search, int64_t edges, const gnn_layer_plan *layer)
{
    const int64_t rows = search->plan->n_local;
    if (layer->ops->heads) {
        ask(search, (hal_scratch_shape){.op = layer->ops->attends, .rows = rows, .heads = layer->heads});
    } else if (!layer->ops->walks_edges && layer->width > 0) {
        ask(search, (hal_scratch_shape){
                        .op = HAL_OP_spmm_run, .rows = rows, .cols = layer->width, .sources = rows, .edges = edges});
    }
}

/* Products of all rows, gradients of weights among them, and sums by column. */
static void ask_for_rows(scratch_search *search, int64_t d_in, int64_t d_out)
{
    const int64_t rows = search->plan->n_local;
    ask(search, (hal_scratch_shape){.op = HAL_OP_gemm, .rows = rows, .cols = d_out, .terms = d_in});
    ask(search, (hal_scratch_shape){.op = HAL_OP_gemm, .rows = rows, .cols = d_in, .terms = d_out});
    ask(search, (hal_scratch_shape){.op = HAL_OP_gemm, .rows = d_in, .cols = d_out, .terms = rows});
    ask(search, (hal_scratch_shape){.op = HAL_OP_col_sum, .rows = rows, .cols = d_out});
    ask(search, (hal_scratch_shape){.op = HAL_OP_bn_backward_stats, .rows = rows, .cols = d_out});
    ask(search, (hal_scratch_shape){.op = HAL_OP_ln_backward, .rows = rows, .cols = d_out});
}

uint64_t gnn_plan_scratch(const gnn_plan *plan, const weft_hal *hal, int64_t edges)
{
    scratch_search search = {.hal = hal, .plan = plan};
    const int64_t outputs = plan->config.outputs;
    for (int l = 0; l < plan->layers; ++l) {
        const gnn_layer_plan *layer = &plan->layer[l];
        ask_for_edges(&search, edges, layer);
        ask_for_rows(&search, layer->d_in, layer->width > layer->d_out ? layer->width : layer->d_out);
    }
    ask(&search, (hal_scratch_shape){.op = HAL_OP_softmax_xent, .rows = plan->n_owned, .cols = outputs});
    return search.most;
}
