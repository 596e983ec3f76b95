/* dense/engine/dense_scratch.c: what operations of a model take beside their operands. */
#include "dense/engine/dense_model.h"

typedef struct scratch_search {
    const weft_hal *hal;
    const dense_config *config;
    const unit_list *list;
    const dense_values *values;
    int64_t images;
    weft_dtype wide;
    uint64_t most;
} scratch_search;

static void ask_conv(scratch_search *search, const unit *u)
{
    const hal_conv_shape shape = dense_unit_shape(search->config, search->list, search->values, u);
    hal_scratch_ask(search->hal,
                    &(hal_scratch_shape){.op = HAL_OP_conv_forward,
                                         .dtype = shape.dtype,
                                         .conv = &shape,
                                         .images = search->config->images,
                                         .sizes = search->config->sizes},
                    &search->most);
}

static void ask(scratch_search *search, hal_scratch_shape shape)
{
    shape.dtype = search->wide;
    hal_scratch_ask(search->hal, &shape, &search->most);
}

/* Products of all rows, and gradients of weights and biases. */
static void ask_linear(scratch_search *search, const unit *u)
{
    const int64_t rows = search->images, in = search->list->size[u->x].channels, out = u->layer->out;
    ask(search, (hal_scratch_shape){.op = HAL_OP_gemm, .rows = rows, .cols = out, .terms = in});
    if (search->config->training) {
        ask(search, (hal_scratch_shape){.op = HAL_OP_gemm, .rows = rows, .cols = in, .terms = out});
        ask(search, (hal_scratch_shape){.op = HAL_OP_gemm, .rows = out, .cols = in, .terms = rows});
        ask(search, (hal_scratch_shape){.op = HAL_OP_col_sum, .rows = rows, .cols = out});
    }
}

static void ask_norm(scratch_search *search, const unit *u)
{
    const net_size size = search->list->size[u->x];
    const int64_t rows = search->images * net_pixels(size);
    if (search->config->training) {
        ask(search, (hal_scratch_shape){.op = HAL_OP_bn_stats, .rows = rows, .cols = size.channels});
        ask(search, (hal_scratch_shape){.op = HAL_OP_bn_backward_stats, .rows = rows, .cols = size.channels});
    }
}

static void ask_attention(scratch_search *search, const unit *u)
{
    const int64_t tokens = net_pixels(search->list->size[u->x]);
    ask(search,
        (hal_scratch_shape){
            .op = HAL_OP_attend_forward, .rows = search->images * tokens, .terms = tokens, .heads = u->layer->groups});
}

uint64_t dense_scratch_of_units(const weft_hal *hal, const dense_config *config, weft_dtype wide, const unit_list *list,
                                const dense_values *values)
{
    scratch_search search = {.hal = hal,
                             .config = config,
                             .list = list,
                             .values = values,
                             .images = dense_most_images(config),
                             .wide = wide};
    for (int i = 0; i < list->units; ++i) {
        const unit *u = &list->unit[i];
        if (u->kind == UNIT_CONV) {
            ask_conv(&search, u);
        } else if (u->kind == UNIT_LINEAR) {
            ask_linear(&search, u);
        } else if (u->kind == UNIT_NORM) {
            ask_norm(&search, u);
        } else if (u->kind == UNIT_ATTENTION) {
            ask_attention(&search, u);
        } else if (u->kind == UNIT_POSITION) {
            const net_size size = list->size[u->x];
            ask(&search, (hal_scratch_shape){
                             .op = HAL_OP_col_sum, .rows = search.images, .cols = net_pixels(size) * size.channels});
        }
    }
    ask(&search, (hal_scratch_shape){
                     .op = HAL_OP_softmax_xent, .rows = search.images, .cols = list->size[list->output].channels});
    return search.most;
}
