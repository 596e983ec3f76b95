/* clicks/model/click_net_node.c: layers of networks of the user's own that no part computes: linear, relu, fm, dot,
 * concat and add; see clicks/model/click_net_node.h. */
#include <assert.h>
#include <string.h>

#include "clicks/model/click_net_node.h"
#include "train/activities.h"

/* ---- parameters and memory --------------------------------------------------------------------------------------- */

weft_status net_node_declare(net_node *node, param_store *params)
{
    const click_layer *layer = node->layer;
    const int64_t out = layer->cols, in = node->cols;
    if (layer->kind != CLICK_NET_LINEAR) {
        return WEFT_OK;
    }
    node->map = (train_linear){.params = params, .bias = LINEAR_NO_BLOCK, .transposed = true};
    node->map.weight = param_add_block(params, PARAM_GROUP_DECAY, out, in);
    WEFT_TRY(param_add(params, node->map.weight, 0, 0, out, in, param_fan_uniform(in), "%s.weight", layer->name));
    if (!layer->bias) {
        return WEFT_OK;
    }
    node->map.bias = param_add_block(params, PARAM_GROUP_NO_DECAY, 1, out);
    return param_add_tensor(params, node->map.bias, 1, &out, param_constant(0.0), "%s.bias", layer->name);
}

static int64_t scratch_of_thread(const net_node *node)
{
    return click_dots_scratch(node->cols / node->width, node->width);
}

static weft_status new_values(const net_node *node, int64_t rows, int64_t cols, weft_tensor *t)
{
    return tensor_create(node->hal, WEFT_DTYPE_F32, rows, cols, WEFT_MEM_ACTIVATION, t);
}

weft_status net_node_create(net_node *node, int64_t samples, bool training)
{
    const int64_t trained = training ? samples : 0;
    WEFT_TRY(new_values(node, samples, node->layer->cols, &node->y));
    WEFT_TRY(new_values(node, trained, node->layer->cols, &node->dy));
    if (node->layer->kind != CLICK_NET_DOT) {
        return WEFT_OK;
    }
    WEFT_TRY(new_values(node, trained, node->cols, &node->dz));
    return new_values(node, node->hal->threads, scratch_of_thread(node), &node->scratch);
}

int64_t net_node_bytes(const weft_hal *hal, const net_node *node, int64_t samples, bool training)
{
    const bool dot = node->layer->kind == CLICK_NET_DOT;
    const int64_t sample = node->layer->cols * (training ? 2 : 1) + (dot && training ? node->cols : 0);
    return (samples * sample + (dot ? hal->threads * scratch_of_thread(node) : 0)) * (int64_t)sizeof(float);
}

void net_node_destroy(net_node *node)
{
    TENSOR_DESTROY_ALL(&node->y, &node->dy, &node->dz, &node->scratch);
}

/* ---- fm ---------------------------------------------------------------------------------------------------------- */

/* y = 0.5 (|sum v|^2 - sum |v|^2) over the vectors v of a sample; dv = beta dv + dy (sum v - v). */
typedef struct net_pairs {
    int64_t vectors, width;
    const weft_tensor *in;
    float *y;
    const float *dy;
    float beta;
    weft_tensor *din;
} net_pairs;

static void run_fm(const void *args, int64_t begin, int64_t end, int thread)
{
    const net_pairs *a = args;
    (void)thread;
    for (int64_t s = begin; s < end; ++s) {
        const float *v = (const float *)a->in->data + s * a->in->ld;
        float pairs = 0.0F;
        for (int64_t d = 0; d < a->width; ++d) {
            float sum = 0.0F, squares = 0.0F;
            for (int64_t i = 0; i < a->vectors; ++i) {
                sum += v[i * a->width + d];
                squares += v[i * a->width + d] * v[i * a->width + d];
            }
            pairs += sum * sum - squares;
        }
        a->y[s] = 0.5F * pairs;
    }
}

static void run_fm_backward(const void *args, int64_t begin, int64_t end, int thread)
{
    const net_pairs *a = args;
    (void)thread;
    for (int64_t s = begin; s < end; ++s) {
        const float *v = (const float *)a->in->data + s * a->in->ld;
        float *dv = (float *)a->din->data + s * a->din->ld;
        for (int64_t d = 0; d < a->width; ++d) {
            float sum = 0.0F;
            for (int64_t i = 0; i < a->vectors; ++i) {
                sum += v[i * a->width + d];
            }
            for (int64_t at = d; at < a->vectors * a->width; at += a->width) {
                dv[at] = (a->beta == 0.0F ? 0.0F : a->beta * dv[at]) + a->dy[s] * (sum - v[at]);
            }
        }
    }
}

/* ---- dot --------------------------------------------------------------------------------------------------------- */

static click_dots dots_of(const net_node *node, const weft_tensor *in)
{
    return (click_dots){.vectors = node->cols / node->width,
                        .width = node->width,
                        .field = in->data,
                        .dfield = node->dz.data,
                        .ld_field = in->ld,
                        .ld_dfield = node->dz.ld,
                        .y = node->y.data,
                        .dy = node->dy.data,
                        .ld_y = node->y.ld,
                        .scratch = node->scratch.data};
}

/* ---- concat and add ---------------------------------------------------------------------------------------------- */

/* The columns of a concat that hold input i; of an add all. */
static weft_tensor columns_of(const net_node *node, const weft_tensor *in, int i, const weft_tensor *y)
{
    int64_t first = 0;
    for (int k = 0; k < i && node->layer->kind == CLICK_NET_CONCAT; ++k) {
        first += in[k].cols;
    }
    return tensor_view(y, 0, y->rows, first, in[i].cols);
}

static weft_status join(const net_node *node, const weft_tensor *in, const weft_tensor *y)
{
    for (int i = 0; i < node->layer->reads; ++i) {
        weft_tensor to = columns_of(node, in, i, y);
        const bool adds = i > 0 && node->layer->kind == CLICK_NET_ADD;
        WEFT_TRY(tensor_axpby(1.0, &in[i], adds ? 1.0 : 0.0, &to));
    }
    return WEFT_OK;
}

static weft_status part_again(const net_node *node, const weft_tensor *in, const weft_tensor *dy, const double *beta,
                              weft_tensor *din)
{
    for (int i = 0; i < node->layer->reads; ++i) {
        const weft_tensor from = columns_of(node, in, i, dy);
        WEFT_TRY(tensor_axpby(1.0, &from, beta[i], &din[i]));
    }
    return WEFT_OK;
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

static weft_status linear_pass(net_node *node, const click_pass *pass, const weft_tensor *in, weft_tensor *y)
{
    const train_linear *map = &node->map;
    const bool bias = map->bias != LINEAR_NO_BLOCK;
    const weft_tensor shift = bias ? param_value(map->params, map->bias) : (weft_tensor){.data = NULL};
    WEFT_TRY(linear_need(map, pass->pass));
    ACTIVITY_TRY(ACTIVITY_LINEAR, linear_forward(map, &(linear_rows){.x = in}, bias ? &shift : NULL, 0.0, y));
    return WEFT_OK;
}

weft_status net_node_forward(net_node *node, const click_pass *pass, const weft_tensor *in, weft_tensor *y)
{
    const net_pairs pairs = {.vectors = node->cols / node->width, .width = node->width, .in = in, .y = y->data};
    const click_dots dots = dots_of(node, in);
    switch (node->layer->kind) {
    case CLICK_NET_LINEAR:
        return linear_pass(node, pass, in, y);
    case CLICK_NET_RELU:
        return tensor_act_forward(in, true, &(hal_dropout){.probability = 0.0F}, y);
    case CLICK_NET_FM:
        click_each_sample(node->hal, pass->samples, run_fm, &pairs);
        return WEFT_OK;
    case CLICK_NET_DOT:
        click_dots_forward(node->hal, pass->samples, &dots);
        return WEFT_OK;
    default:
        return join(node, in, y);
    }
}

static weft_status linear_back(const net_node *node, const click_pass *pass, const weft_tensor *in,
                               const weft_tensor *dy, double beta, weft_tensor *din)
{
    const train_linear *map = &node->map;
    WEFT_TRY(linear_weight_gradient(map, pass->pass, &(linear_rows){.x = in}, dy, false));
    WEFT_TRY(linear_bias_gradient(map, dy, false));
    WEFT_TRY(linear_ready(map, pass->pass));
    return linear_input_gradient(map, dy, beta, din);
}

weft_status net_node_backward(net_node *node, const click_pass *pass, const weft_tensor *in, weft_tensor *dy,
                              const double *beta, weft_tensor *din)
{
    const weft_tensor y = tensor_view(&node->y, 0, pass->samples, 0, node->y.cols);
    const weft_tensor dz = tensor_view(&node->dz, 0, node->dz.rows > 0 ? pass->samples : 0, 0, node->dz.cols);
    const net_pairs pairs = {.vectors = node->cols / node->width,
                             .width = node->width,
                             .in = in,
                             .dy = dy->data,
                             .beta = (float)beta[0],
                             .din = din};
    const click_dots dots = dots_of(node, in);
    switch (node->layer->kind) {
    case CLICK_NET_LINEAR:
        ACTIVITY_TRY(ACTIVITY_LINEAR, linear_back(node, pass, in, dy, beta[0], din));
        return WEFT_OK;
    case CLICK_NET_RELU:
        WEFT_TRY(tensor_act_backward(dy, &y, true, &(hal_dropout){.probability = 0.0F}, dy));
        return tensor_axpby(1.0, dy, beta[0], din);
    case CLICK_NET_FM:
        click_each_sample(node->hal, pass->samples, run_fm_backward, &pairs);
        return WEFT_OK;
    case CLICK_NET_DOT:
        click_dots_backward(node->hal, pass->samples, &dots);
        return tensor_axpby(1.0, &dz, beta[0], din);
    default:
        return part_again(node, in, dy, beta, din);
    }
}
