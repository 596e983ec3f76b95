/*
 * clicks/model/click_crossed.c: crosses by a vector a layer (Deep & Cross): x_l+1 = x_0 (x_l . w_l) + b_l + x_l, and
 * x_L . w_L adds to the logit.
 *
 * Every x_l is a_l x_0 + c_l, where c_l = b_0 + .. + b_l-1 belongs to no sample. So all that is needed of a sample are
 * the numbers s_l = x_0 . w_l, one product of matrices:
 *
 *     a_0 = 1     p_l = a_l s_l + c_l . w_l     a_l+1 = a_l + p_l     logit += a_L s_L + c_L . w_L
 *
 * Memory of a sample: 3 (L + 1) numbers, no vector. Where the part is open there is no w_L, others read x_L, and memory
 * has x_L and its gradient, too. R. Wang et al.: Deep & Cross Network for Ad Click Predictions.
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
    weft_tensor y, dy;  /* [samples, inputs] x_L of an open part, and its gradient */
} crossed_part;

/* Numbers s_l of a sample. */
static int columns_of(const click_model_desc *desc)
{
    return desc->crosses + (desc->place.open ? 0 : 1);
}

static weft_status crossed_declare(param_store *params, const click_model_desc *desc, void **self)
{
    const int64_t inputs = click_inputs(desc);
    const char *name = click_name_of(desc, "cross");
    crossed_part *part = NULL;
    WEFT_TRY(WEFT_NEW_ZERO(&part, 1, WEFT_MEM_GENERAL));
    *self = part;
    part->desc = desc;
    part->params = params;
    part->weight = param_add_block(params, PARAM_GROUP_DECAY, columns_of(desc), inputs);
    part->bias = param_add_block(params, PARAM_GROUP_NO_DECAY, desc->crosses, inputs);
    for (int l = 0; l < desc->crosses; ++l) {
        WEFT_TRY(param_add(params, part->weight, l, 0, 1, inputs, param_fan_uniform(inputs), "%s.%d.weight", name, l));
        WEFT_TRY(param_add(params, part->bias, l, 0, 1, inputs, param_constant(0.0), "%s.%d.bias", name, l));
    }
    return desc->place.open ? WEFT_OK
                            : param_add(params, part->weight, desc->crosses, 0, 1, inputs, param_fan_uniform(inputs),
                                        "%s.out.weight", name);
}

static weft_status crossed_create(void *self)
{
    crossed_part *part = self;
    const click_model_desc *desc = part->desc;
    const int64_t columns = columns_of(desc);
    weft_hal *hal = part->params->hal;
    weft_tensor *const by_sample[] = {&part->s, &part->ds, &part->dp};
    for (int i = 0; i < (desc->training ? 3 : 1); ++i) {
        WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, desc->samples, columns, WEFT_MEM_ACTIVATION, by_sample[i]));
    }
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, 1, columns, WEFT_MEM_ACTIVATION, &part->shift));
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, 1, columns, WEFT_MEM_ACTIVATION, &part->dshift));
    const int64_t open = desc->place.open ? desc->samples : 0, inputs = click_inputs(desc);
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, open, inputs, WEFT_MEM_ACTIVATION, &part->y));
    WEFT_TRY(tensor_create(hal, WEFT_DTYPE_F32, desc->training ? open : 0, inputs, WEFT_MEM_ACTIVATION, &part->dy));
    return tensor_create(hal, WEFT_DTYPE_F32, 2, inputs, WEFT_MEM_ACTIVATION, &part->c);
}

static int64_t crossed_bytes(const weft_hal *hal, const click_model_desc *desc)
{
    const int64_t columns = columns_of(desc), inputs = click_inputs(desc);
    const int64_t open = desc->place.open ? desc->samples * inputs * (desc->training ? 2 : 1) : 0;
    (void)hal;
    return (columns * (desc->samples * (desc->training ? 3 : 1) + 2) + 2 * inputs + open) * (int64_t)sizeof(float);
}

/* shift_l = c_l . w_l; c = c_L */
static void find_shifts(const crossed_part *part)
{
    const weft_tensor weight = param_value(part->params, part->weight), bias = param_value(part->params, part->bias);
    const int layers = part->desc->crosses, columns = columns_of(part->desc);
    float *c = part->c.data, *shift = part->shift.data;
    for (int64_t j = 0; j < weight.cols; ++j) {
        c[j] = 0.0F;
    }
    for (int l = 0; l < columns; ++l) {
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
    const click_pass *pass;
} crossed_rows;

/* x_L = a_L x_0 + c_L, or what it adds to the logit. */
static void give_last(const crossed_rows *rows, int64_t i, float a)
{
    const crossed_part *part = rows->part;
    const int layers = part->desc->crosses;
    if (!part->desc->place.open) {
        ((float *)rows->pass->logits.data)[i] +=
            a * ((const float *)part->s.data)[i * part->s.ld + layers] + ((const float *)part->shift.data)[layers];
        return;
    }
    const float *x = (const float *)rows->pass->x.data + i * rows->pass->x.ld, *c = part->c.data;
    float *y = (float *)part->y.data + i * part->y.ld;
    for (int64_t j = 0; j < part->y.cols; ++j) {
        y[j] = a * x[j] + c[j];
    }
}

static void find_last(const void *args, int64_t begin, int64_t end, int thread)
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
        give_last(rows, i, a);
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
    click_each_sample(part->params->hal, pass->samples, find_last, &(crossed_rows){.part = part, .pass = pass});
    return WEFT_OK;
}

/* Returns the gradient of a_L; where w_L is there, its s and shift have gradients, too. */
static float begin_back(const crossed_rows *rows, int64_t i, float a, float *ds, float *dp)
{
    const crossed_part *part = rows->part;
    const int layers = part->desc->crosses;
    if (!part->desc->place.open) {
        const float dlogit = ((const float *)rows->pass->logits.data)[i];
        dp[layers] = dlogit;
        ds[layers] = dlogit * a;
        return dlogit * ((const float *)part->s.data)[i * part->s.ld + layers];
    }
    const float *x = (const float *)rows->pass->x.data + i * rows->pass->x.ld;
    const float *dy = (const float *)part->dy.data + i * part->dy.ld;
    float sum = 0.0F;
    for (int64_t j = 0; j < part->dy.cols; ++j) {
        sum += dy[j] * x[j];
    }
    return sum;
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
        float da = begin_back(rows, i, a[layers], ds, dp);
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
    for (int l = part->desc->crosses; l >= 0; --l) {
        const bool weighs = l < columns_of(part->desc);
        const float *w = (const float *)weight.data + (weighs ? l * weight.ld : 0);
        const float *b_before = l > 0 ? (const float *)bias.data + (l - 1) * bias.ld : NULL;
        float *dw = (float *)dweight->data + (weighs ? l * dweight->ld : 0);
        const float shift = weighs ? dshift[l] : 0.0F;
        float *db_before = l > 0 ? (float *)dbias->data + (l - 1) * dbias->ld : NULL;
        for (int64_t j = 0; j < weight.cols; ++j) {
            dw[j] += c[j] * shift;
            dc[j] += w[j] * shift;
            if (l > 0) {
                db_before[j] = dc[j];
                c[j] -= b_before[j];
            }
        }
    }
}

/* The gradient of c_L: of an open part the sum of that of x_L. */
static weft_status begin_shifts(const crossed_part *part, int64_t samples)
{
    weft_tensor dc = tensor_view(&part->c, 1, 1, 0, part->c.cols);
    const weft_tensor dy = tensor_view(&part->dy, 0, part->dy.rows > 0 ? samples : 0, 0, part->dy.cols);
    return part->desc->place.open ? tensor_col_sum(&dy, 0.0, &dc) : tensor_zero(&dc);
}

/* What x_L = a_L x_0 + c_L gives to x_0, beside what its factors s_l give. */
static void add_inputs(const void *args, int64_t begin, int64_t end, int thread)
{
    const crossed_rows *rows = args;
    const crossed_part *part = rows->part;
    const float *shift = part->shift.data;
    (void)thread;
    for (int64_t i = begin; i < end; ++i) {
        const float *s = (const float *)part->s.data + i * part->s.ld;
        const float *dy = (const float *)part->dy.data + i * part->dy.ld;
        float *dx = (float *)rows->pass->dx.data + i * rows->pass->dx.ld;
        float a = 1.0F;
        for (int l = 0; l < part->desc->crosses; ++l) {
            a += a * s[l] + shift[l];
        }
        for (int64_t j = 0; j < part->dy.cols; ++j) {
            dx[j] += a * dy[j];
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
    const crossed_rows rows = {.part = part, .pass = pass};
    click_each_sample(part->params->hal, pass->samples, go_back, &rows);
    activity_begin(ACTIVITY_LINEAR);
    weft_status status = tensor_gemm(&(tensor_product){.a = &ds, .b = &pass->x, .trans_a = true}, &dweight);
    status = status == WEFT_OK ? tensor_gemm(&(tensor_product){.a = &ds, .b = &weight, .beta = beta}, &dx) : status;
    status = status == WEFT_OK ? tensor_col_sum(&dp, 0.0, &part->dshift) : status;
    activity_end(ACTIVITY_LINEAR);
    WEFT_TRY(status);
    if (part->desc->place.open) {
        click_each_sample(part->params->hal, pass->samples, add_inputs, &rows);
    }
    WEFT_TRY(begin_shifts(part, pass->samples));
    shift_gradients(part, &dweight, &dbias);
    WEFT_TRY(train_ready(pass->pass, part->bias));
    return train_ready(pass->pass, part->weight);
}

static void crossed_last(const void *self, int64_t samples, weft_tensor *y, weft_tensor *dy)
{
    const crossed_part *part = self;
    *y = tensor_view(&part->y, 0, samples, 0, part->y.cols);
    *dy = tensor_view(&part->dy, 0, part->dy.rows > 0 ? samples : 0, 0, part->dy.cols);
}

static void crossed_destroy(void *self)
{
    crossed_part *part = self;
    if (part != NULL) {
        TENSOR_DESTROY_ALL(&part->s, &part->ds, &part->dp, &part->shift, &part->dshift, &part->c, &part->y, &part->dy);
        weft_free(part);
    }
}

const click_part_ops CLICK_CROSSED_PART = {.declare = crossed_declare,
                                           .create = crossed_create,
                                           .forward = crossed_forward,
                                           .backward = crossed_backward,
                                           .destroy = crossed_destroy,
                                           .last = crossed_last,
                                           .bytes = crossed_bytes};
