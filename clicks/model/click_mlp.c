/* clicks/model/click_mlp.c: see clicks/model/click_mlp.h. */
#include "clicks/model/click_mlp.h"

#include <assert.h>
#include <stdio.h>

#include "base/philox.h"
#include "train/activities.h"

/* ---- parameters and memory --------------------------------------------------------------------------------------- */

static weft_status declare_weight(param_store *params, int64_t out, int64_t in, param_init init, const char *name,
                                  const char *layer, train_linear *map)
{
    *map = (train_linear){.params = params, .bias = LINEAR_NO_BLOCK, .transposed = true};
    map->weight = param_add_block(params, PARAM_GROUP_DECAY, out, in);
    return param_add(params, map->weight, 0, 0, out, in, init, "%s.%s.weight", name, layer);
}

weft_status click_mlp_declare(click_mlp *mlp, param_store *params, const click_model_desc *desc,
                              const click_mlp_need *need)
{
    *mlp = (click_mlp){.hal = params->hal,
                       .desc = desc,
                       .sizes = *need->sizes,
                       .inputs = need->inputs,
                       .has_out = need->out,
                       .dropout = (float)need->dropout,
                       .first_mask = need->first_mask};
    int64_t in = need->inputs;
    for (int l = 0; l < mlp->sizes.layers; ++l) {
        const int64_t out = mlp->sizes.size[l];
        char layer[16];
        snprintf(layer, sizeof layer, "%d", l);
        WEFT_TRY(declare_weight(params, out, in, param_kaiming(in), need->name, layer, &mlp->map[l]));
        mlp->map[l].bias = param_add_block(params, PARAM_GROUP_NO_DECAY, 1, out);
        WEFT_TRY(param_add_tensor(params, mlp->map[l].bias, 1, &out, param_constant(0.0), "%s.%d.bias", need->name, l));
        in = out;
    }
    return need->out ? declare_weight(params, 1, in, param_fan_uniform(in), need->name, "out", &mlp->out) : WEFT_OK;
}

/* The type of values of layer l: others than this MLP read the last one without `out`. */
static weft_dtype type_of(const click_model_desc *desc, const click_sizes *sizes, bool out, int l)
{
    return desc->bf16 && (out || l + 1 < sizes->layers) ? WEFT_DTYPE_BF16 : WEFT_DTYPE_F32;
}

weft_status click_mlp_create(click_mlp *mlp)
{
    const click_model_desc *desc = mlp->desc;
    if (desc->bf16) {
        WEFT_TRY(
            tensor_create(mlp->hal, WEFT_DTYPE_BF16, desc->samples, mlp->inputs, WEFT_MEM_ACTIVATION, &mlp->narrow));
    }
    for (int l = 0; l < mlp->sizes.layers; ++l) {
        const weft_dtype type = type_of(desc, &mlp->sizes, mlp->has_out, l);
        const int64_t out = mlp->sizes.size[l], in = l == 0 ? mlp->inputs : mlp->sizes.size[l - 1];
        WEFT_TRY(tensor_create(mlp->hal, WEFT_DTYPE_BF16, desc->bf16 ? out : 0, in, WEFT_MEM_ACTIVATION,
                               &mlp->narrow_weight[l]));
        WEFT_TRY(tensor_create(mlp->hal, type, desc->samples, out, WEFT_MEM_ACTIVATION, &mlp->y[l]));
        WEFT_TRY(
            tensor_create(mlp->hal, type, desc->training ? desc->samples : 0, out, WEFT_MEM_ACTIVATION, &mlp->dy[l]));
    }
    return WEFT_OK;
}

void click_mlp_destroy(click_mlp *mlp)
{
    tensor_destroy(&mlp->narrow);
    for (int l = 0; l < mlp->sizes.layers; ++l) {
        TENSOR_DESTROY_ALL(&mlp->y[l], &mlp->dy[l], &mlp->narrow_weight[l]);
    }
}

int64_t click_mlp_bytes(const click_model_desc *desc, const click_mlp_need *need)
{
    const int64_t narrow = desc->bf16 ? (int64_t)weft_dtype_bytes(WEFT_DTYPE_BF16) : 0;
    int64_t sample = need->inputs * narrow, weights = 0;
    for (int l = 0; l < need->sizes->layers; ++l) {
        const int64_t out = need->sizes->size[l], in = l == 0 ? need->inputs : need->sizes->size[l - 1];
        sample += out * (int64_t)weft_dtype_bytes(type_of(desc, need->sizes, need->out, l)) * (desc->training ? 2 : 1);
        weights += out * in * narrow;
    }
    return sample * desc->samples + weights;
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

static weft_tensor rows_of(const weft_tensor *t, int64_t samples)
{
    return tensor_view(t, 0, samples, 0, t->cols);
}

weft_tensor click_mlp_last(const click_mlp *mlp, int64_t samples)
{
    return rows_of(&mlp->y[mlp->sizes.layers - 1], samples);
}

weft_tensor click_mlp_dlast(const click_mlp *mlp, int64_t samples)
{
    const weft_tensor *dy = &mlp->dy[mlp->sizes.layers - 1];
    return rows_of(dy, dy->rows > 0 ? samples : 0);
}

static hal_dropout mask_of(const click_mlp *mlp, const click_pass *pass, int l)
{
    const bool drops = pass->pass->training && pass->sample_id.source != NULL;
    return (hal_dropout){.probability = drops ? mlp->dropout : 0.0F,
                         .seed = pass->pass->seed,
                         .purpose = WEFT_RNG_DROPOUT + mlp->first_mask + (uint32_t)l,
                         .epoch = pass->pass->epoch,
                         .row_id = pass->sample_id};
}

/* What layer l reads. */
static weft_tensor input_of(const click_mlp *mlp, int l, int64_t samples)
{
    return l == 0 ? mlp->x : rows_of(&mlp->y[l - 1], samples);
}

static weft_status narrowed(const click_mlp *mlp, const weft_tensor *x, const weft_tensor *y)
{
    const hal_cast_args cast = {.x = tensor_mat(x), .y = tensor_mat(y)};
    ACTIVITY_TRY(ACTIVITY_ELEMENTWISE, hal_cast(mlp->hal, &cast));
    return WEFT_OK;
}

/* The weights that rows of layer l are multiplied with. */
static weft_tensor weight_of(const click_mlp *mlp, int l)
{
    return mlp->desc->bf16 ? mlp->narrow_weight[l] : linear_weight(&mlp->map[l]);
}

static weft_status layer_forward(click_mlp *mlp, const click_pass *pass, int l)
{
    const train_linear *map = &mlp->map[l];
    const hal_dropout mask = mask_of(mlp, pass, l);
    const weft_tensor x = input_of(mlp, l, pass->samples), bias = param_value(map->params, map->bias);
    const weft_tensor wide = linear_weight(map), weight = weight_of(mlp, l);
    weft_tensor y = rows_of(&mlp->y[l], pass->samples);
    WEFT_TRY(linear_need(map, pass->pass));
    WEFT_TRY(mlp->desc->bf16 ? narrowed(mlp, &wide, &weight) : WEFT_OK);
    ACTIVITY_TRY(ACTIVITY_LINEAR,
                 tensor_gemm(&(tensor_product){.a = &x, .b = &weight, .bias = &bias, .trans_b = true}, &y));
    ACTIVITY_TRY(ACTIVITY_ELEMENTWISE, tensor_act_forward(&y, true, &mask, &y));
    return WEFT_OK;
}

weft_status click_mlp_forward(click_mlp *mlp, const click_pass *pass, const weft_tensor *x)
{
    assert(x->cols == mlp->inputs && x->rows == pass->samples);
    mlp->x = *x;
    if (mlp->desc->bf16) {
        mlp->x = rows_of(&mlp->narrow, pass->samples);
        WEFT_TRY(narrowed(mlp, x, &mlp->x));
    }
    for (int l = 0; l < mlp->sizes.layers; ++l) {
        WEFT_TRY(layer_forward(mlp, pass, l));
    }
    if (!mlp->has_out) {
        return WEFT_OK;
    }
    const weft_tensor last = click_mlp_last(mlp, pass->samples);
    weft_tensor logits = pass->logits;
    WEFT_TRY(linear_need(&mlp->out, pass->pass));
    ACTIVITY_TRY(ACTIVITY_LINEAR, linear_forward(&mlp->out, &(linear_rows){.x = &last}, NULL, 1.0, &logits));
    return WEFT_OK;
}

/* Gradients of a map's parameters out of those of its result. */
static weft_status map_gradients(const train_linear *map, const click_pass *pass, const weft_tensor *x,
                                 const weft_tensor *dy)
{
    WEFT_TRY(linear_weight_gradient(map, pass->pass, &(linear_rows){.x = x}, dy, false));
    WEFT_TRY(linear_bias_gradient(map, dy, false));
    return linear_ready(map, pass->pass);
}

static weft_status layer_backward(click_mlp *mlp, const click_pass *pass, int l, double beta, weft_tensor *dx)
{
    const train_linear *map = &mlp->map[l];
    const hal_dropout mask = mask_of(mlp, pass, l);
    const weft_tensor x = input_of(mlp, l, pass->samples), y = rows_of(&mlp->y[l], pass->samples);
    weft_tensor dy = rows_of(&mlp->dy[l], pass->samples);
    ACTIVITY_TRY(ACTIVITY_ELEMENTWISE, tensor_act_backward(&dy, &y, true, &mask, &dy));
    ACTIVITY_TRY(ACTIVITY_LINEAR, map_gradients(map, pass, &x, &dy));
    if (dx != NULL) {
        const weft_tensor weight = weight_of(mlp, l);
        ACTIVITY_TRY(ACTIVITY_LINEAR, tensor_gemm(&(tensor_product){.a = &dy, .b = &weight, .beta = beta}, dx));
    }
    return WEFT_OK;
}

static weft_status out_backward(click_mlp *mlp, const click_pass *pass)
{
    const weft_tensor last = click_mlp_last(mlp, pass->samples);
    weft_tensor dlast = click_mlp_dlast(mlp, pass->samples);
    WEFT_TRY(map_gradients(&mlp->out, pass, &last, &pass->logits));
    return linear_input_gradient(&mlp->out, &pass->logits, 0.0, &dlast);
}

weft_status click_mlp_backward(click_mlp *mlp, const click_pass *pass, double beta, weft_tensor *dx)
{
    if (mlp->has_out) {
        ACTIVITY_TRY(ACTIVITY_LINEAR, out_backward(mlp, pass));
    }
    for (int l = mlp->sizes.layers - 1; l > 0; --l) {
        weft_tensor below = rows_of(&mlp->dy[l - 1], pass->samples);
        WEFT_TRY(layer_backward(mlp, pass, l, 0.0, &below));
    }
    return layer_backward(mlp, pass, 0, beta, dx);
}
