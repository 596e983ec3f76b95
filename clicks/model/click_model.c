/* clicks/model/click_model.c: see clicks/model/click_model.h. */
#include "clicks/model/click_model.h"

#include <assert.h>
#include <string.h>

#include "base/integer/integers.h"
#include "clicks/model/ahead_trial.h"
#include "clicks/model/click_part.h"
#include "clicks/model/click_sizes.h"
#include "clicks/model/click_sums.h"
#include "train/activities.h"

const weft_activity ACTIVITY_ROWS[1] = {{.text = "rows of embeddings", .kind = ACTIVITY_COMPUTES}};
const weft_activity ACTIVITY_INTERACT[1] = {{.text = "interactions", .kind = ACTIVITY_COMPUTES}};

static const click_part_ops *const PART[CLICK_PART_KINDS] = {
    [CLICK_PART_CIN] = &CLICK_CIN_PART,         [CLICK_PART_MATRIX] = &CLICK_MATRIX_PART,
    [CLICK_PART_CROSSED] = &CLICK_CROSSED_PART, [CLICK_PART_DEEP] = &CLICK_DEEP_PART,
    [CLICK_PART_DOTS] = &CLICK_DOTS_PART,       [CLICK_PART_NET] = &CLICK_NET_PART};

enum { NO_BLOCK = -1 };

struct click_model {
    weft_hal *hal;
    weft_comm *comm;
    click_model_desc desc;
    const click_kind_row *kind;
    embed_table *table;
    param_store params;
    int bias, number_weight; /* blocks [1, 1] and [1, numbers]; NO_BLOCK: numbers have no linear weights */
    void *part[CLICK_PART_KINDS];
    /* [samples, vectors of fields, then numbers]. Without linear weights the bags are summed where they are read;
     * models whose parts read no vectors have the numbers alone. */
    weft_tensor x, dx;
    weft_tensor pooled, dpooled; /* [samples, fields * (width + 1)] with linear weights; else views of x and dx */
    weft_tensor sum;             /* [samples, width] of vectors, with fm */
    weft_tensor logits;          /* [samples, 1] */
    ahead_trial ahead;
    train_model interface;
};

/* ---- what a model holds ------------------------------------------------------------------------------------------ */

int click_model_width(click_kind kind, int width)
{
    return click_kind_of(kind)->vectors ? width : 0;
}

bool click_model_linear(const click_model_desc *desc)
{
    return click_row_of(desc)->linear;
}

static bool has_parts(const click_kind_row *kind)
{
    bool has = false;
    for (int p = 0; p < CLICK_PART_KINDS; ++p) {
        has = has || kind->part[p];
    }
    return has;
}

/* Sums over ids take the place of sums of bags. */
static bool takes_sums(const click_model_desc *desc)
{
    return desc->sums && !has_parts(click_row_of(desc));
}

bool click_model_sums(const click_model_desc *desc, embed_sums *sums)
{
    *sums = (embed_sums){.rows = true, .squares = click_row_of(desc)->fm};
    return !has_parts(click_row_of(desc));
}

bool click_model_squares(const click_model_desc *desc)
{
    return desc->bags && click_row_of(desc)->fm && !takes_sums(desc);
}

static const char *word_of(const click_model_desc *desc)
{
    static const char *const words[] = {CLICK_MODELS(CHOICE_NAME)};
    return desc->net != NULL ? desc->net->name : words[desc->kind];
}

/* Columns of x. */
static int64_t x_columns(const click_model_desc *desc)
{
    return has_parts(click_row_of(desc)) ? click_inputs(desc) : desc->numbers;
}

/* Columns of `pooled` where it is a matrix of its own. */
static int64_t pooled_columns(const click_model_desc *desc)
{
    const int64_t sums = desc->width + 1 + (click_row_of(desc)->fm ? 1 : 0);
    const int64_t bags = desc->fields * (int64_t)(desc->width + 1) + (click_model_squares(desc) ? 1 : 0);
    return takes_sums(desc) ? sums : click_row_of(desc)->linear ? bags : 0;
}

static weft_status declare(click_model *model)
{
    const int64_t one = 1, numbers = model->desc.numbers;
    param_store_begin(&model->params, model->hal, WEFT_DTYPE_F32);
    model->bias = param_add_block(&model->params, PARAM_GROUP_NO_DECAY, 1, 1);
    WEFT_TRY(param_add_tensor(&model->params, model->bias, 1, &one, param_constant(0.0), "bias"));
    model->number_weight = NO_BLOCK;
    if (model->kind->linear && numbers > 0) {
        model->number_weight = param_add_block(&model->params, PARAM_GROUP_DECAY, 1, numbers);
        WEFT_TRY(
            param_add_tensor(&model->params, model->number_weight, 1, &numbers, param_constant(0.0), "linear.numbers"));
    }
    for (int p = 0; p < CLICK_PART_KINDS; ++p) {
        if (model->kind->part[p]) {
            WEFT_TRY(PART[p]->declare(&model->params, &model->desc, &model->part[p]));
        }
    }
    return WEFT_OK;
}

static weft_status new_values(const click_model *model, bool wanted, int64_t cols, weft_tensor *t)
{
    return tensor_create(model->hal, WEFT_DTYPE_F32, wanted ? model->desc.samples : 0, cols, WEFT_MEM_ACTIVATION, t);
}

static weft_status create_values(click_model *model)
{
    const click_model_desc *desc = &model->desc;
    const bool linear = model->kind->linear, trains = desc->training;
    const int64_t columns = x_columns(desc), vectors = desc->fields * (int64_t)desc->width;
    WEFT_TRY(new_values(model, true, columns, &model->x));
    WEFT_TRY(new_values(model, trains && has_parts(model->kind), columns, &model->dx));
    if (linear) {
        WEFT_TRY(new_values(model, true, pooled_columns(desc), &model->pooled));
        WEFT_TRY(new_values(model, trains, pooled_columns(desc), &model->dpooled));
    } else {
        model->pooled = tensor_view(&model->x, 0, model->x.rows, 0, vectors);
        model->dpooled = tensor_view(&model->dx, 0, model->dx.rows, 0, vectors);
    }
    WEFT_TRY(new_values(model, model->kind->fm, desc->width, &model->sum));
    WEFT_TRY(new_values(model, true, 1, &model->logits));
    for (int p = 0; p < CLICK_PART_KINDS; ++p) {
        WEFT_TRY(model->part[p] != NULL ? PART[p]->create(model->part[p]) : WEFT_OK);
    }
    return WEFT_OK;
}

int64_t click_model_bytes(const weft_hal *hal, const click_model_desc *desc)
{
    const click_kind_row *kind = click_row_of(desc);
    const int64_t gradients = desc->training ? 2 : 1;
    const int64_t floats = x_columns(desc) * (has_parts(kind) ? gradients : 1) + pooled_columns(desc) * gradients +
                           (kind->fm ? desc->width : 0) + 1;
    int64_t bytes = desc->samples * floats * (int64_t)sizeof(float);
    for (int p = 0; p < CLICK_PART_KINDS; ++p) {
        bytes += kind->part[p] ? PART[p]->bytes(hal, desc) : 0;
    }
    return bytes;
}

/* ---- a pass ------------------------------------------------------------------------------------------------------ */

static weft_tensor rows_of(const weft_tensor *t, int64_t samples)
{
    return tensor_view(t, 0, t->rows > 0 ? samples : 0, 0, t->cols);
}

static weft_tensor numbers_of(const click_model *model, int64_t samples)
{
    const int64_t numbers = model->desc.numbers;
    return tensor_view(&model->x, 0, samples, model->x.cols - numbers, numbers);
}

static click_pass pass_of(const click_model *model, const train_pass *pass)
{
    const click_batch *in = pass->batch->input;
    const int64_t samples = in->bags.samples;
    click_pass p = {.pass = pass,
                    .samples = samples,
                    .x = rows_of(&model->x, samples),
                    .dx = rows_of(&model->dx, samples),
                    .logits = rows_of(&model->logits, samples)};
    if (in->sample_id != NULL) {
        p.sample_id = hal_column_from(in->sample_id, WEFT_DTYPE_I64, samples);
    }
    return p;
}

static weft_status check_batch(const click_model *model, const click_batch *in)
{
    const click_model_desc *desc = &model->desc;
    WEFT_CHECK(in->bags.samples <= desc->samples && in->bags.fields == desc->fields && in->numbers == desc->numbers,
               WEFT_ERR_INTERNAL,
               "a batch of %lld samples, %d fields and %lld numbers for a model of at most %lld, and %d and %lld",
               (long long)in->bags.samples, in->bags.fields, (long long)in->numbers, (long long)desc->samples,
               desc->fields, (long long)desc->numbers);
    return WEFT_OK;
}

static click_fields fields_of(const click_model *model, const click_pass *pass)
{
    const bool parts = has_parts(model->kind);
    return (click_fields){.fields = model->desc.fields,
                          .width = model->desc.width,
                          .stride = model->desc.width + 1,
                          .linear = true,
                          .fm = model->kind->fm,
                          .of_ids = click_model_squares(&model->desc),
                          .pooled = model->pooled.data,
                          .dpooled = model->dpooled.data,
                          .ld = model->pooled.ld,
                          .x = parts ? model->x.data : NULL,
                          .dx = parts ? model->dx.data : NULL,
                          .ld_x = model->x.ld,
                          .sum = model->sum.data,
                          .logit = model->logits.data,
                          .dlogit = pass->logits.data};
}

static void run_gather(const void *args, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    click_kernels_get()->gather(args, begin, end);
}

static void run_spread(const void *args, int64_t begin, int64_t end, int thread)
{
    (void)thread;
    click_kernels_get()->spread(args, begin, end);
}

static void copy_numbers(const click_model *model, const click_batch *in)
{
    const int64_t numbers = in->numbers;
    const weft_tensor to = numbers_of(model, in->bags.samples);
    for (int64_t s = 0; s < in->bags.samples && numbers > 0; ++s) {
        memcpy((float *)to.data + s * to.ld, in->number + s * numbers, (size_t)numbers * sizeof(float));
    }
}

/* logits = bias, and with linear weights those of ids, which stand there already, and of numbers. */
static weft_status begin_logits(const click_model *model, const click_pass *pass)
{
    const weft_tensor bias = param_value(&model->params, model->bias);
    const weft_tensor numbers = numbers_of(model, pass->samples);
    weft_tensor logits = pass->logits;
    WEFT_TRY(train_need(pass->pass, model->bias));
    if (model->number_weight == NO_BLOCK) {
        const weft_tensor none = tensor_view(&model->x, 0, pass->samples, 0, 0);
        const weft_tensor empty = tensor_view(&bias, 0, 1, 0, 0);
        const double beta = model->kind->linear ? 1.0 : 0.0;
        return tensor_gemm(&(tensor_product){.a = &none, .b = &empty, .bias = &bias, .trans_b = true, .beta = beta},
                           &logits);
    }
    WEFT_TRY(train_need(pass->pass, model->number_weight));
    const weft_tensor weight = param_value(&model->params, model->number_weight);
    return tensor_gemm(&(tensor_product){.a = &numbers, .b = &weight, .bias = &bias, .trans_b = true, .beta = 1.0},
                       &logits);
}

static weft_status read_rows(const click_model *model, const embed_bags *bags, bool training)
{
    embed_sums sums;
    (void)click_model_sums(&model->desc, &sums);
    return takes_sums(&model->desc)
               ? embed_sums_forward(model->table, &sums, bags, NULL, training, model->pooled.data, model->pooled.ld)
               : embed_forward(model->table, bags, training, model->pooled.data, model->pooled.ld);
}

/* Ids of the next batch leave while this one computes, and their rows before the gradients of this one. */
static weft_status look_ahead(click_model *model, const click_batch *in)
{
    const embed_bags *next = NULL;
    bool ahead = false;
    WEFT_TRY(ahead_trial_next(&model->ahead, model->comm, &ahead));
    WEFT_TRY(ahead ? in->next(in->source, &next) : WEFT_OK);
    return next != NULL ? embed_ahead(model->table, next) : WEFT_OK;
}

/* The rows of a batch, summed. */
static weft_status fetch(void *self, const train_pass *pass)
{
    click_model *model = self;
    const click_batch *in = pass->batch->input;
    WEFT_TRY(check_batch(model, in));
    ACTIVITY_TRY(ACTIVITY_ROWS, read_rows(model, &in->bags, pass->training));
    if (pass->training && in->next != NULL) {
        ACTIVITY_TRY(ACTIVITY_ROWS, look_ahead(model, in));
    }
    return WEFT_OK;
}

static weft_status forward(void *self, const train_pass *pass, weft_tensor *logits)
{
    click_model *model = self;
    const click_batch *in = pass->batch->input;
    WEFT_TRY(model->desc.worker && pass->training ? WEFT_OK : fetch(self, pass));
    const click_pass p = pass_of(model, pass);
    activity_begin(ACTIVITY_INTERACT);
    copy_numbers(model, in);
    if (takes_sums(&model->desc)) {
        click_sums_forward(model->pooled.data, model->pooled.ld, model->desc.width, model->kind->fm, p.samples,
                           p.logits.data);
    } else if (model->kind->linear) {
        const click_fields fields = fields_of(model, &p);
        click_each_sample(model->hal, p.samples, run_gather, &fields);
    }
    activity_end(ACTIVITY_INTERACT);
    ACTIVITY_TRY(ACTIVITY_LINEAR, begin_logits(model, &p));
    for (int k = 0; k < CLICK_PART_KINDS; ++k) {
        WEFT_TRY(model->part[k] != NULL ? PART[k]->forward(model->part[k], &p) : WEFT_OK);
    }
    *logits = p.logits;
    return WEFT_OK;
}

/* Gradients of what begin_logits reads. */
static weft_status end_gradients(const click_model *model, const click_pass *pass)
{
    weft_tensor dbias = param_grad(&model->params, model->bias);
    if (model->number_weight != NO_BLOCK) {
        const weft_tensor numbers = numbers_of(model, pass->samples);
        weft_tensor dweight = param_grad(&model->params, model->number_weight);
        WEFT_TRY(tensor_gemm(&(tensor_product){.a = &pass->logits, .b = &numbers, .trans_a = true}, &dweight));
        WEFT_TRY(train_ready(pass->pass, model->number_weight));
    }
    WEFT_TRY(tensor_col_sum(&pass->logits, 0.0, &dbias));
    return train_ready(pass->pass, model->bias);
}

/* Rows of a batch change by their gradients. */
static weft_status give(void *self, const train_pass *pass)
{
    click_model *model = self;
    const click_model_desc *desc = &model->desc;
    const double rate = schedule_lr(desc->schedule, (int64_t)pass->epoch - 1, pass->step, desc->steps);
    ACTIVITY_TRY(ACTIVITY_ROWS,
                 takes_sums(desc)
                     ? embed_sums_backward(model->table, model->dpooled.data, model->dpooled.ld, rate, NULL)
                     : embed_backward(model->table, model->dpooled.data, model->dpooled.ld, rate));
    return WEFT_OK;
}

static weft_status backward(void *self, const train_pass *pass, weft_tensor *dlogits)
{
    click_model *model = self;
    const click_model_desc *desc = &model->desc;
    click_pass p = pass_of(model, pass);
    double beta = 0.0;
    assert(pass->training && desc->training && dlogits->rows == p.samples && dlogits->ld == 1);
    p.logits = *dlogits;
    if (!desc->worker) {
        ACTIVITY_TRY(ACTIVITY_ROWS, embed_ahead_rows(model->table));
    }
    for (int k = CLICK_PART_KINDS - 1; k >= 0; --k) {
        if (model->part[k] != NULL) {
            WEFT_TRY(PART[k]->backward(model->part[k], &p, beta));
            beta = 1.0;
        }
    }
    ACTIVITY_TRY(ACTIVITY_LINEAR, end_gradients(model, &p));
    activity_begin(ACTIVITY_INTERACT);
    if (takes_sums(desc)) {
        click_sums_backward(model->pooled.data, model->pooled.ld, desc->width, model->kind->fm, p.samples,
                            p.logits.data, model->dpooled.data);
    } else if (model->kind->linear) {
        const click_fields fields = fields_of(model, &p);
        click_each_sample(model->hal, p.samples, run_spread, &fields);
    }
    activity_end(ACTIVITY_INTERACT);
    return desc->worker ? WEFT_OK : give(self, pass);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static weft_status create(click_model *model)
{
    WEFT_CHECK(model->hal->mem.kind == HAL_MEM_HOST, WEFT_ERR_UNSUPPORTED,
               "models of clicks compute in the host's memory, which %s does not: take the backend cpu",
               model->hal->name);
    WEFT_CHECK(!model->desc.training || model->desc.schedule != NULL, WEFT_ERR_INTERNAL,
               "rows of embeddings have no learning rate");
    WEFT_TRY(click_check_desc(&model->desc, word_of(&model->desc)));
    WEFT_TRY(declare(model));
    return create_values(model);
}

weft_status click_model_count(weft_hal *hal, const click_model_desc *desc, int64_t *parameters, int64_t *largest)
{
    click_model *model = NULL;
    *parameters = *largest = 0;
    WEFT_TRY(WEFT_NEW_ZERO(&model, 1, WEFT_MEM_GENERAL));
    model->hal = hal;
    model->desc = *desc;
    model->kind = click_row_of(&model->desc);
    weft_status status = click_check_desc(&model->desc, word_of(&model->desc));
    status = status == WEFT_OK ? declare(model) : status;
    for (int e = 0; status == WEFT_OK && e < model->params.entries; ++e) {
        const int64_t elements = model->params.entry[e].rows * model->params.entry[e].cols;
        *parameters += elements;
        *largest = larger(*largest, elements);
    }
    click_model_destroy(model);
    return status;
}

weft_status click_model_create(weft_hal *hal, weft_comm *comm, const click_model_desc *desc, embed_table *table,
                               click_model **out)
{
    click_model *model = NULL;
    *out = NULL;
    WEFT_TRY(comm_agree(comm, WEFT_NEW_ZERO(&model, 1, WEFT_MEM_GENERAL)));
    model->hal = hal;
    model->comm = comm;
    model->desc = *desc;
    model->kind = click_row_of(&model->desc);
    model->table = table;
    model->ahead.measures = desc->times_ahead && embed_looks_ahead(table);
    weft_status status = comm_agree(comm, create(model));
    status = status == WEFT_OK ? param_store_commit(&model->params, comm) : status;
    if (status != WEFT_OK) {
        click_model_destroy(model);
        return status;
    }
    model->interface = (train_model){.name = word_of(&model->desc),
                                     .self = model,
                                     .params = &model->params,
                                     .forward = forward,
                                     .backward = backward,
                                     .fetch = desc->worker ? fetch : NULL,
                                     .give = desc->worker ? give : NULL};
    *out = model;
    return WEFT_OK;
}

void click_model_destroy(click_model *model)
{
    if (model == NULL) {
        return;
    }
    for (int p = 0; p < CLICK_PART_KINDS; ++p) {
        PART[p]->destroy(model->part[p]);
    }
    TENSOR_DESTROY_ALL(&model->x, &model->dx, &model->pooled, &model->dpooled, &model->sum, &model->logits);
    param_store_destroy(&model->params);
    weft_free(model);
}

train_model *click_model_interface(click_model *model)
{
    return &model->interface;
}
