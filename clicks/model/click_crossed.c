/*
 * clicks/model/click_crossed.c: crosses by a vector a layer (Deep & Cross): x_l+1 = x_0 (x_l . w_l) + b_l + x_l, and
 * x_L . w_L adds to the logit.
 *
 * Every x_l is a_l x_0 + c_l, where c_l = b_0 + .. + b_l-1 belongs to no sample. So all that is needed of a sample are
 * the numbers s_l = x_0 . w_l, one product of matrices:
 *
 *     a_0 = 1     p_l = a_l s_l + c_l . w_l     a_l+1 = a_l + p_l     logit += a_L s_L + c_L . w_L
 *
 * Memory of a sample: 3 (L + 1) numbers, no vector. R. Wang et al.: Deep & Cross Network for Ad Click Predictions.
 * ADKDD 2017, arXiv 1708.05123.
 */
#include "clicks/model/click_part.h"
#include "train/activities.h"

typedef struct crossed_part {
    const click_model_desc *desc;
    param_store *params;
    int weight, bias; /* [layers + 1, inputs]: w_0 .. w_L; [layers, inputs] */
    weft_tensor s;    /* [samples, layers + 1] */
    weft_tensor ds, dp;
    weft_tensor shift;  /* [1, layers + 1] c_l . w_l */
    weft_tensor dshift; /* its gradient: sums over samples of dp */
    weft_tensor c;      /* [2, inputs] c_l, and the gradient of it */
} crossed_part;

static weft_status crossed_declare(param_store *params, const click_model_desc *desc, void **self)
{
    const int64_t inputs = click_inputs(desc);
    crossed_part *part = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&part, 1, WEFT_MEM_GENERAL));
    *self = part;
    part->desc = desc;
    part->params = params;
    part->weight = param_add_block(params, PARAM_GROUP_DECAY, desc->crosses + 1, inputs);
    part->bias = param_add_block(params, PARAM_GROUP_NO_DECAY, desc->crosses, inputs);
    for (int l = 0; l < desc->crosses; ++l) {
        WEFT_TRY(param_add(params, part->weight, l, 0, 1, inputs, param_fan_uniform(inputs), "cross.%d.weight", l));
        WEFT_TRY(param_add(params, part->bias, l, 0, 1, inputs, param_constant(0.0), "cross.%d.bias", l));
    }
    return param_add(params, part->weight, desc->crosses, 0, 1, inputs, param_fan_uniform(inputs), "cross.out.weight");
}

static weft_status crossed_create(void *self)
{
    crossed_part *part = self;
    const click_model_desc *desc = part->desc;
    const int64_t columns = desc->crosses + 1;
    weft_hal *hal = part->params->hal;
    weft_tensor *const by_sample[] = {&part->s, &part->ds, &part->dp};
    for (int i = 0; i < (desc->training ? 3 : 1); ++i) {
        WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, desc->samples, columns, WEFT_MEM_ACTIVATION, by_sample[i]));
    }
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, 1, columns, WEFT_MEM_ACTIVATION, &part->shift));
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, 1, columns, WEFT_MEM_ACTIVATION, &part->dshift));
    return tensor_create(hal, WEFT_DTYPE_F32, 2, click_inputs(desc), WEFT_MEM_ACTIVATION, &part->c);
}

static int64_t crossed_bytes(const weft_hal *hal, const click_model_desc *desc)
{
    const int64_t columns = desc->crosses + 1;
    (void)hal;
    return (columns * (desc->samples * (desc->training ? 3 : 1) + 2) + 2 * click_inputs(desc)) * (int64_t)sizeof(float);
}

/* shift_l = c_l . w_l */
static void find_shifts(const crossed_part *part)
{
    const weft_tensor weight = param_value(part->params, part->weight), bias = param_value(part->params, part->bias);
    const int layers = part->desc->crosses;
    float *c = part->c.data, *shift = part->shift.data;
    for (int64_t j = 0; j < weight.cols; ++j) {
        c[j] = 0.0F;
    }
    for (int l = 0; l <= layers; ++l) {
        const float *w = (const float *)weight.data + l * weight.ld, *b = (const float *)bias.data + l * bias.ld;
        double sum = 0.0;
        for (int64_t j = 0; j < weight.cols; ++j) {
            sum += (double)c[j] * (double)w[j];
            c[j] += l < layers ? b[j] : 0.0F;
        }
        shift[l] = (float)sum;
    }
}

/* What the driver hands to threads. */
typedef struct crossed_rows {
    const crossed_part *part;
    float *logit;
} crossed_rows;

static void add_logits(const void *args, int64_t begin, int64_t end, int thread)
{
    const crossed_rows *rows = args;
    const crossed_part *part = rows->part;
    const int layers = part->desc->crosses;
    const float *shift = part->shift.data;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const float *s = (const float *)part->s.data + i * part->s.ld;
        float a = 1.0F;
        for (int l = 0; l < layers; ++l) {
            a += a * s[l] + shift[l];
        }
        rows->logit[i] += a * s[layers] + shift[layers];
    }
}

static weft_status crossed_forward(void *self, const click_pass *pass)
{
    crossed_part *part = self;
    WEFT_TRY(train_need(pass->pass, part->weight));
    WEFT_TRY(train_need(pass->pass, part->bias));
    const weft_tensor weight = param_value(part->params, part->weight);
    weft_tensor s = tensor_view(&part->s, 0, pass->samples, 0, part->s.cols);
    ACTIVITY_TRY(ACTIVITY_LINEAR, tensor_gemm(&(tensor_product){.a = &pass->x, .b = &weight, .trans_b = true}, &s));
    find_shifts(part);
    click_each_sample(part->params->hal, pass->samples, add_logits,
                      &(crossed_rows){.part = part, .logit = pass->logits.data});
    return WEFT_OK;
}

/* ds and dp of samples, where dp_l is the gradient of c_l . w_l. */
static void go_back(const void *args, int64_t begin, int64_t end, int thread)
{
    const crossed_rows *rows = args;
    const crossed_part *part = rows->part;
    const int layers = part->desc->crosses;
    const float *shift = part->shift.data;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const float *s = (const float *)part->s.data + i * part->s.ld;
        float *ds = (float *)part->ds.data + i * part->ds.ld, *dp = (float *)part->dp.data + i * part->dp.ld;
        float a[CLICK_LAYERS_MOST + 1] = {1.0F};
        for (int l = 0; l < layers; ++l) {
            a[l + 1] = a[l] + a[l] * s[l] + shift[l];
        }
        dp[layers] = rows->logit[i];
        ds[layers] = rows->logit[i] * a[layers];
        float da = rows->logit[i] * s[layers];
        for (int l = layers - 1; l >= 0; --l) {
            dp[l] = da;
            ds[l] = da * a[l];
            da += da * s[l];
        }
    }
}

/* Adds what the weights and biases get through c_l . w_l to the gradients, from the last layer to the first. */
static void shift_gradients(const crossed_part *part, const weft_tensor *dweight, const weft_tensor *dbias)
{
    const weft_tensor weight = param_value(part->params, part->weight), bias = param_value(part->params, part->bias);
    const float *dshift = part->dshift.data;
    float *c = part->c.data, *dc = c + part->c.ld;
    for (int64_t j = 0; j < weight.cols; ++j) {
        dc[j] = 0.0F;
    }
    for (int l = part->desc->crosses; l >= 0; --l) {
        const float *w = (const float *)weight.data + l * weight.ld;
        const float *b_before = l > 0 ? (const float *)bias.data + (l - 1) * bias.ld : NULL;
        float *dw = (float *)dweight->data + l * dweight->ld;
        float *db_before = l > 0 ? (float *)dbias->data + (l - 1) * dbias->ld : NULL;
        for (int64_t j = 0; j < weight.cols; ++j) {
            dw[j] += c[j] * dshift[l];
            dc[j] += w[j] * dshift[l];
            if (l > 0) {
                db_before[j] = dc[j];
                c[j] -= b_before[j];
            }
        }
    }
}

static weft_status crossed_backward(void *self, const click_pass *pass, double beta)
{
    crossed_part *part = self;
    const weft_tensor weight = param_value(part->params, part->weight);
    weft_tensor dweight = param_grad(part->params, part->weight), dbias = param_grad(part->params, part->bias);
    const weft_tensor ds = tensor_view(&part->ds, 0, pass->samples, 0, part->ds.cols);
    const weft_tensor dp = tensor_view(&part->dp, 0, pass->samples, 0, part->dp.cols);
    weft_tensor dx = pass->dx;
    find_shifts(part); /* c = c_L again */
    click_each_sample(part->params->hal, pass->samples, go_back,
                      &(crossed_rows){.part = part, .logit = pass->logits.data});
    activity_begin(ACTIVITY_LINEAR);
    weft_status status = tensor_gemm(&(tensor_product){.a = &ds, .b = &pass->x, .trans_a = true}, &dweight);
    status = status == WEFT_OK ? tensor_gemm(&(tensor_product){.a = &ds, .b = &weight, .beta = beta}, &dx) : status;
    status = status == WEFT_OK ? tensor_col_sum(&dp, 0.0, &part->dshift) : status;
    activity_end(ACTIVITY_LINEAR);
    WEFT_TRY(status);
    shift_gradients(part, &dweight, &dbias);
    WEFT_TRY(train_ready(pass->pass, part->bias));
    return train_ready(pass->pass, part->weight);
}

static void crossed_destroy(void *self)
{
    crossed_part *part = self;
    if (part != NULL) {
        TENSOR_DESTROY_ALL(&part->s, &part->ds, &part->dp, &part->shift, &part->dshift, &part->c);
        weft_free(part);
    }
}

const click_part_ops CLICK_CROSSED_PART = {.declare = crossed_declare,
                                           .create = crossed_create,
                                           .forward = crossed_forward,
                                           .backward = crossed_backward,
                                           .destroy = crossed_destroy,
                                           .bytes = crossed_bytes};
