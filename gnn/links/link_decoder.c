/* gnn/links/link_decoder.c: see gnn/links/link_decoder.h. */
#include "gnn/links/link_decoder.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/philox.h"

/* Masks of decoders and of encoders never share a counter: encoders have up to GNN_MAX_LAYERS of them. */
enum { MASKS = 1024 };

static int maps_of(const link_decoder_config *config)
{
    return config->kind == LINK_MLP ? config->layers : 0;
}

static int64_t inputs_of(const link_decoder_config *config, int l)
{
    return l == 0 ? config->width : config->hidden;
}

static int64_t outputs_of(const link_decoder_config *config, int l)
{
    return l + 1 == config->layers ? 1 : config->hidden;
}

/* As PyTorch begins linear layers. */
static weft_status declare(void *self, param_store *params)
{
    link_decoder *d = self;
    for (int l = 0; l < maps_of(&d->config); ++l) {
        const int64_t in = inputs_of(&d->config, l), out = outputs_of(&d->config, l);
        const param_init init = param_fan_uniform(in);
        train_linear *map = &d->map[l];
        *map = (train_linear){.params = params, .weight = param_add_block(params, PARAM_GROUP_DECAY, in, out)};
        WEFT_TRY(param_add(params, map->weight, 0, 0, in, out, init, "decoder%d.weight", l));
        map->bias = param_add_block(params, PARAM_GROUP_DECAY, 1, out);
        WEFT_TRY(param_add(params, map->bias, 0, 0, 1, out, init, "decoder%d.bias", l));
    }
    return WEFT_OK;
}

void link_decoder_begin(const link_decoder_config *config, link_decoder *d)
{
    *d = (link_decoder){.config = *config};
    d->head = (gnn_head){.self = d, .declare = declare};
    for (int l = 0; l < maps_of(config); ++l) {
        d->head.parameters += (inputs_of(config, l) + 1) * outputs_of(config, l);
    }
}

uint64_t link_decoder_bytes(const link_decoder_config *config, int64_t links)
{
    int64_t numbers = 2;
    for (int l = 0; l < maps_of(config); ++l) {
        numbers += 2 * inputs_of(config, l) + (l == 0 ? config->width : 0);
    }
    return (uint64_t)links * (uint64_t)numbers * sizeof(float);
}

weft_status link_decoder_create(weft_hal *hal, int64_t links, link_decoder *d)
{
    d->hal = hal;
    d->capacity = links;
    for (int l = 0; l < maps_of(&d->config); ++l) {
        const int64_t width = inputs_of(&d->config, l);
        WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, links, width, WEFT_MEM_ACTIVATION, &d->input[l]));
        WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, links, width, WEFT_MEM_ACTIVATION, &d->gradient[l]));
    }
    WEFT_TRY(d->config.kind == LINK_MLP ? WEFT_NEW(&d->product, links * d->config.width, WEFT_MEM_ACTIVATION)
                                        : WEFT_OK);
    WEFT_TRY(WEFT_NEW(&d->score, links, WEFT_MEM_ACTIVATION));
    return tensor_create(hal, WEFT_DTYPE_F32, links, 1, WEFT_MEM_ACTIVATION, &d->logit);
}

void link_decoder_destroy(link_decoder *d)
{
    for (int l = 0; l < LINK_MAX_MAPS; ++l) {
        TENSOR_DESTROY_ALL(&d->input[l], &d->gradient[l]);
    }
    tensor_destroy(&d->logit);
    WEFT_FREE_ALL(d->product, d->score);
    *d = (link_decoder){.hal = NULL};
}

/* ---- dot ---- */

static weft_status dot_forward(link_decoder *d, const link_batch *batch, const float *row, weft_tensor *logits)
{
    const int64_t width = d->config.width;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < batch->links; ++i) {
        const float *a = row + batch->a[i] * width, *b = row + batch->b[i] * width;
        float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
        for (int64_t c = 0; c < width; ++c) {
            sum += a[c] * b[c];
        }
        d->score[i] = sum;
    }
    return tensor_upload(logits, d->score);
}

/* ---- mlp ---- */

static void multiply_rows(link_decoder *d, const link_batch *batch, const float *row)
{
    const int64_t width = d->config.width;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < batch->links; ++i) {
        const float *a = row + batch->a[i] * width, *b = row + batch->b[i] * width;
        for (int64_t c = 0; c < width; ++c) {
            d->product[i * width + c] = a[c] * b[c];
        }
    }
}

static weft_tensor rows_of(const weft_tensor *all, int64_t links)
{
    return tensor_view(all, 0, links, 0, all->cols);
}

/* Behind map l, whose result has a row for each link. */
static hal_dropout dropout_of(const link_decoder *d, const train_pass *pass, const link_batch *batch, int l)
{
    return (hal_dropout){.probability = pass->training ? d->config.dropout : 0.0F,
                         .seed = pass->seed,
                         .purpose = (uint32_t)(WEFT_RNG_DROPOUT + MASKS + l),
                         .epoch = pass->epoch,
                         .row_id = hal_column_from(batch->id, WEFT_DTYPE_I64, batch->links)};
}

static weft_status mlp_forward(link_decoder *d, const train_pass *pass, const link_batch *batch, const float *row,
                               weft_tensor *logits)
{
    weft_tensor x = rows_of(&d->input[0], batch->links);
    multiply_rows(d, batch, row);
    WEFT_TRY(tensor_upload(&x, d->product));
    for (int l = 0; l < d->config.layers; ++l) {
        const bool last = l + 1 == d->config.layers;
        const weft_tensor bias = param_value(d->map[l].params, d->map[l].bias);
        weft_tensor y = last ? *logits : rows_of(&d->input[l + 1], batch->links);
        WEFT_TRY(linear_need(&d->map[l], pass));
        WEFT_TRY(linear_forward(&d->map[l], &(linear_rows){.x = &x}, &bias, 0.0, &y));
        const hal_dropout dropout = dropout_of(d, pass, batch, l);
        WEFT_TRY(last ? WEFT_OK : tensor_act_forward(&y, true, &dropout, &y));
        x = y;
    }
    return WEFT_OK;
}

static weft_status mlp_backward(link_decoder *d, const train_pass *pass, const link_batch *batch,
                                const weft_tensor *dlogits)
{
    weft_tensor dy = *dlogits;
    for (int l = d->config.layers - 1; l >= 0; --l) {
        const weft_tensor x = rows_of(&d->input[l], batch->links);
        weft_tensor dx = rows_of(&d->gradient[l], batch->links);
        WEFT_TRY(linear_weight_gradient(&d->map[l], pass, &(linear_rows){.x = &x}, &dy, false));
        WEFT_TRY(linear_bias_gradient(&d->map[l], &dy, false));
        WEFT_TRY(linear_ready(&d->map[l], pass));
        WEFT_TRY(linear_input_gradient(&d->map[l], &dy, 0.0, &dx));
        const hal_dropout dropout = dropout_of(d, pass, batch, l - 1);
        WEFT_TRY(l == 0 ? WEFT_OK : tensor_act_backward(&dx, &x, true, &dropout, &dx));
        dy = dx;
    }
    return tensor_download(&dy, d->product);
}

/* ---- both ---- */

weft_status link_decoder_forward(link_decoder *d, const train_pass *pass, const link_batch *batch, const float *row,
                                 weft_tensor *logits)
{
    assert(batch->links <= d->capacity);
    *logits = rows_of(&d->logit, batch->links);
    return d->config.kind == LINK_DOT ? dot_forward(d, batch, row, logits) : mlp_forward(d, pass, batch, row, logits);
}

weft_status link_decoder_backward(link_decoder *d, const train_pass *pass, const link_batch *batch,
                                  const weft_tensor *dlogits, const float **coefficient, const float **factor)
{
    if (d->config.kind == LINK_MLP) {
        *coefficient = NULL;
        *factor = d->product;
        return mlp_backward(d, pass, batch, dlogits);
    }
    *coefficient = d->score;
    *factor = NULL;
    return tensor_download(dlogits, d->score);
}
