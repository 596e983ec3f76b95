/*
 * clicks/model/click_matrix.c: crosses by a matrix a layer (DCN-v2): x_l+1 = x_0 * (W_l x_l + b_l) + x_l, and x_L . w
 * adds to the logit; where the part is open, others read x_L.
 * Memory of a sample: 2 L + 2 vectors. R. Wang et al.: DCN V2. WWW 2021, arXiv 2008.13535.
 */
#include "clicks/model/click_part.h"
#include "train/activities.h"
#include "train/layers/linear.h"

typedef struct matrix_part {
    const click_model_desc *desc;
    weft_hal *hal;
    train_linear map[CLICK_LAYERS_MOST], out;
    weft_tensor p[CLICK_LAYERS_MOST]; /* [samples, inputs] W_l x_l + b_l */
    weft_tensor y[CLICK_LAYERS_MOST]; /* x_l+1 */
    weft_tensor g, dp;                /* gradients of x_l+1 and of p_l */
} matrix_part;

static weft_status matrix_declare(param_store *params, const click_model_desc *desc, void **self)
{
    const int64_t inputs = click_inputs(desc);
    const char *name = click_name_of(desc, "matrix");
    matrix_part *part = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&part, 1, WEFT_MEM_GENERAL));
    *self = part;
    part->desc = desc;
    part->hal = params->hal;
    for (int l = 0; l < desc->crosses; ++l) {
        train_linear *map = &part->map[l];
        *map = (train_linear){.params = params, .transposed = true};
        map->weight = param_add_block(params, PARAM_GROUP_DECAY, inputs, inputs);
        WEFT_TRY(param_add(params, map->weight, 0, 0, inputs, inputs, param_glorot(inputs, inputs), "%s.%d.weight",
                           name, l));
        map->bias = param_add_block(params, PARAM_GROUP_NO_DECAY, 1, inputs);
        WEFT_TRY(param_add_tensor(params, map->bias, 1, &inputs, param_constant(0.0), "%s.%d.bias", name, l));
    }
    if (desc->place.open) {
        return WEFT_OK;
    }
    part->out = (train_linear){.params = params, .bias = LINEAR_NO_BLOCK, .transposed = true};
    part->out.weight = param_add_block(params, PARAM_GROUP_DECAY, 1, inputs);
    return param_add(params, part->out.weight, 0, 0, 1, inputs, param_fan_uniform(inputs), "%s.out.weight", name);
}

static weft_status new_values(const matrix_part *part, bool wanted, weft_tensor *t)
{
    return tensor_create(part->hal, WEFT_DTYPE_F32, wanted ? part->desc->samples : 0, click_inputs(part->desc),
                         WEFT_MEM_ACTIVATION, t);
}

static weft_status matrix_create(void *self)
{
    matrix_part *part = self;
    for (int l = 0; l < part->desc->crosses; ++l) {
        WEFT_TRY(new_values(part, true, &part->p[l]));
        WEFT_TRY(new_values(part, true, &part->y[l]));
    }
    WEFT_TRY(new_values(part, part->desc->training, &part->g));
    return new_values(part, part->desc->training, &part->dp);
}

static int64_t matrix_bytes(const weft_hal *hal, const click_model_desc *desc)
{
    (void)hal;
    return (2 * desc->crosses + (desc->training ? 2 : 0)) * desc->samples * click_inputs(desc) * (int64_t)sizeof(float);
}

static weft_tensor rows_of(const weft_tensor *t, const click_pass *pass)
{
    return tensor_view(t, 0, pass->samples, 0, t->cols);
}

/* x_l */
static weft_tensor input_of(const matrix_part *part, const click_pass *pass, int l)
{
    return l == 0 ? pass->x : rows_of(&part->y[l - 1], pass);
}

static void run_cross(const void *args, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    click_kernels_get()->cross(args, begin, end);
}

static void run_cross_backward(const void *args, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    click_kernels_get()->cross_backward(args, begin, end);
}

static weft_status layer_forward(matrix_part *part, const click_pass *pass, int l)
{
    const train_linear *map = &part->map[l];
    const weft_tensor x = input_of(part, pass, l), bias = param_value(map->params, map->bias);
    weft_tensor p = rows_of(&part->p[l], pass);
    const click_cross cross = {.cols = x.cols,
                               .x0 = pass->x.data,
                               .ld_x0 = pass->x.ld,
                               .x = x.data,
                               .ld_x = x.ld,
                               .p = p.data,
                               .y = part->y[l].data};
    WEFT_TRY(linear_need(map, pass->pass));
    ACTIVITY_TRY(ACTIVITY_LINEAR, linear_forward(map, &(linear_rows){.x = &x}, &bias, 0.0, &p));
    activity_begin(ACTIVITY_INTERACT);
    click_each_sample(part->hal, pass->samples, run_cross, &cross);
    activity_end(ACTIVITY_INTERACT);
    return WEFT_OK;
}

static weft_status matrix_forward(void *self, const click_pass *pass)
{
    matrix_part *part = self;
    for (int l = 0; l < part->desc->crosses; ++l) {
        WEFT_TRY(layer_forward(part, pass, l));
    }
    if (part->desc->place.open) {
        return WEFT_OK;
    }
    const weft_tensor last = input_of(part, pass, part->desc->crosses);
    weft_tensor logits = pass->logits;
    WEFT_TRY(linear_need(&part->out, pass->pass));
    ACTIVITY_TRY(ACTIVITY_LINEAR, linear_forward(&part->out, &(linear_rows){.x = &last}, NULL, 1.0, &logits));
    return WEFT_OK;
}

/* Gradients of a map's parameters, and of the rows that it reads: dx = beta dx + gradient. */
static weft_status map_backward(const train_linear *map, const click_pass *pass, const weft_tensor *x,
                                const weft_tensor *dy, double beta, weft_tensor *dx)
{
    WEFT_TRY(linear_weight_gradient(map, pass->pass, &(linear_rows){.x = x}, dy, false));
    WEFT_TRY(linear_bias_gradient(map, dy, false));
    WEFT_TRY(linear_ready(map, pass->pass));
    return linear_input_gradient(map, dy, beta, dx);
}

static weft_status matrix_backward(void *self, const click_pass *pass, double beta)
{
    matrix_part *part = self;
    weft_tensor g = rows_of(&part->g, pass), dp = rows_of(&part->dp, pass), dx = pass->dx;
    const weft_tensor last = input_of(part, pass, part->desc->crosses);
    if (beta == 0.0) {
        WEFT_TRY(tensor_zero(&dx));
    }
    if (!part->desc->place.open) {
        ACTIVITY_TRY(ACTIVITY_LINEAR, map_backward(&part->out, pass, &last, &pass->logits, 0.0, &g));
    }
    for (int l = part->desc->crosses - 1; l >= 0; --l) {
        const weft_tensor x = input_of(part, pass, l);
        const click_cross cross = {.cols = x.cols,
                                   .x0 = pass->x.data,
                                   .ld_x0 = pass->x.ld,
                                   .p = part->p[l].data,
                                   .dy = g.data,
                                   .dp = dp.data,
                                   .dx0 = dx.data};
        activity_begin(ACTIVITY_INTERACT);
        click_each_sample(part->hal, pass->samples, run_cross_backward, &cross);
        activity_end(ACTIVITY_INTERACT);
        ACTIVITY_TRY(ACTIVITY_LINEAR, map_backward(&part->map[l], pass, &x, &dp, 1.0, &g));
    }
    ACTIVITY_TRY(ACTIVITY_ELEMENTWISE, tensor_axpby(1.0, &g, 1.0, &dx));
    return WEFT_OK;
}

static void matrix_last(const void *self, int64_t samples, weft_tensor *y, weft_tensor *dy)
{
    const matrix_part *part = self;
    const weft_tensor *last = &part->y[part->desc->crosses - 1];
    *y = tensor_view(last, 0, samples, 0, last->cols);
    *dy = tensor_view(&part->g, 0, part->g.rows > 0 ? samples : 0, 0, part->g.cols);
}

static void matrix_destroy(void *self)
{
    matrix_part *part = self;
    if (part == NULL) {
        return;
    }
    for (int l = 0; l < part->desc->crosses; ++l) {
        TENSOR_DESTROY_ALL(&part->p[l], &part->y[l]);
    }
    TENSOR_DESTROY_ALL(&part->g, &part->dp);
    weft_free(part);
}

const click_part_ops CLICK_MATRIX_PART = {.declare = matrix_declare,
                                          .create = matrix_create,
                                          .forward = matrix_forward,
                                          .backward = matrix_backward,
                                          .destroy = matrix_destroy,
                                          .last = matrix_last,
                                          .bytes = matrix_bytes};
