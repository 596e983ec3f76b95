/* gnn/linear_write.c: see gnn/linear_write.h. */
#include "gnn/linear_write.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/integer/integers.h"
#include "gnn/layers/attention.h"

/* Chosen on Cora, Citeseer and Squirrel, and tried on others (docs/notes/second-order.md). */
#define SHARPNESS 5.0
/* Slope of elu(x) - elu(-x) by least squares over a normal x of deviation 1: 2 - 2 E[x exp(-x), x > 0]. */
#define ELU_SLOPE 1.52
/* Deviations that S is shifted by in front of gin's last relu. */
#define LAST_SHIFT 2.0
/* Length of gat's vectors of sources, in those that were drawn. */
#define SOURCE_SHARE 0.1
/* Mean deviations that columns without a pair are shifted by. */
#define SINGLE_SHIFT 1.0

typedef struct writer {
    gnn_model *model;
    const gnn_linear_model *linear;
    int64_t features, classes, weights;
    int halves;
    bool pairs;   /* a class has two hidden columns */
    double shift; /* of first(X W), where it has one */
} writer;

typedef void edit(const writer *w, int64_t rows, int64_t cols, float *value);

bool gnn_linear_reads_second(const gnn_plan *plan)
{
    return plan->config.kind == GNN_GIN;
}

int64_t gnn_linear_write_numbers(const gnn_plan *plan)
{
    const gnn_layer_plan *layer = &plan->layer[0];
    const int64_t widest = larger(layer->d_in, plan->config.outputs);
    const int64_t maps = gnn_linear_halves(plan) * widest * layer->d_out; /* the first or the last */
    return plan->config.kind == GNN_GIN ? larger(maps, layer->d_out * layer->d_out) : maps;
}

static bool has_batch_norm(const writer *w)
{
    return w->model->norm[0].kind == NORM_BATCH;
}

/* Batch norm undoes the length of columns in front of it, but an optimiser's steps depend on it. So they are as long as
 * drawn ones, whatever the features' scale, and half as long where weights for a vertex and its neighbours add up. */
static void find_spreads(const writer *w)
{
    const double inputs = (double)(w->halves * w->features), outputs = (double)w->model->plan.layer[0].d_out;
    const double drawn = sqrt(2.0 / (inputs + outputs)); /* glorot's deviation of a weight */
    for (int64_t j = 0; j < w->classes; ++j) {
        double squares = 0.0;
        for (int64_t i = j; i < w->weights; i += w->classes) {
            squares += w->linear->w[i] * w->linear->w[i];
        }
        const double own = sqrt(squares / inputs) / w->linear->deviation[j];
        w->linear->spread[j] = has_batch_norm(w) && own > 0.0 ? drawn / (own * (double)w->halves) : 1.0;
    }
}

static weft_status edit_block(const writer *w, int block, edit *edits)
{
    weft_tensor value = param_value(&w->model->params, block);
    WEFT_TRY(tensor_download(&value, w->linear->host));
    edits(w, value.rows, value.cols, w->linear->host);
    return tensor_upload(&value, w->linear->host);
}

/* Weights for a vertex and for its neighbours stand side by side, or one above the other. */
static float *element(const writer *w, int layer, int half, int64_t row, int64_t col, int64_t cols, float *value)
{
    const gnn_layer_plan *plan = &w->model->plan.layer[layer];
    const bool beside = plan->flow == GNN_FLOW_LINEAR_FIRST;
    return &value[(row + (beside ? 0 : half * plan->d_in)) * cols + col + (beside ? half * plan->d_out : 0)];
}

static void edit_zero(const writer *w, int64_t rows, int64_t cols, float *value)
{
    (void)w;
    memset(value, 0, (size_t)(rows * cols) * sizeof *value);
}

static void edit_first(const writer *w, int64_t rows, int64_t cols, float *value)
{
    assert(rows * cols >= w->weights);
    (void)rows;
    for (int64_t i = 0; i < w->weights; ++i) {
        const int64_t j = i % w->classes, row = i / w->classes;
        const int half = (int)(row / w->features);
        const float weight = (float)(w->linear->w[i] * w->linear->spread[j] / w->linear->deviation[j]);
        *element(w, 0, half, row % w->features, j, cols, value) = weight;
        if (w->pairs) {
            *element(w, 0, half, row % w->features, w->classes + j, cols, value) = -weight;
        }
    }
}

/* Both columns of a class, or its only one. */
static void put_columns(const writer *w, int64_t j, double first, double second, float *value)
{
    value[j] = (float)first;
    if (w->pairs) {
        value[w->classes + j] = (float)second;
    }
}

/* Without a norm nothing else shifts columns. */
static void edit_first_bias(const writer *w, int64_t rows, int64_t cols, float *value)
{
    edit_zero(w, rows, cols, value);
    for (int64_t j = 0; j < w->classes && !has_batch_norm(w); ++j) {
        const double shift = w->shift / w->linear->deviation[j];
        put_columns(w, j, shift, -shift, value);
    }
}

/* Shifts that give back the means which batch norm takes off. */
static void edit_shifts(const writer *w, int64_t rows, int64_t cols, float *value)
{
    assert(rows == 1 && cols >= w->classes);
    (void)rows;
    (void)cols;
    for (int64_t j = 0; j < w->classes; ++j) {
        const double mean = (w->linear->mean[j] + w->shift) / w->linear->deviation[j];
        put_columns(w, j, mean, -mean, value);
    }
}

static void edit_means(const writer *w, int64_t rows, int64_t cols, float *value)
{
    (void)rows;
    (void)cols;
    for (int64_t j = 0; j < w->classes; ++j) {
        const double mean = w->linear->spread[j] * w->linear->mean[j] / w->linear->deviation[j];
        put_columns(w, j, mean, -mean, value);
    }
}

static void edit_variances(const writer *w, int64_t rows, int64_t cols, float *value)
{
    (void)rows;
    (void)cols;
    for (int64_t j = 0; j < w->classes; ++j) {
        put_columns(w, j, w->linear->spread[j] * w->linear->spread[j], w->linear->spread[j] * w->linear->spread[j],
                    value);
    }
}

/* What the norm adds to variances shortens columns of faint features, whose variances are as small. */
static void edit_scales(const writer *w, int64_t rows, int64_t cols, float *value)
{
    (void)rows;
    (void)cols;
    for (int64_t j = 0; j < w->classes; ++j) {
        const double scale = sqrt(1.0 + NORM_EPSILON / (w->linear->spread[j] * w->linear->spread[j]));
        put_columns(w, j, scale, scale, value);
    }
}

static weft_status write_norm(const writer *w)
{
    const train_norm *norm = &w->model->norm[0];
    WEFT_TRY(edit_block(w, norm->gamma, edit_scales));
    WEFT_TRY(edit_block(w, norm->beta, edit_shifts));
    WEFT_TRY(edit_block(w, norm->running_mean, edit_means));
    return edit_block(w, norm->running_var, edit_variances);
}

/* ---- the last layer of gcn, sage and gat ------------------------------------------------------------------------- */

static void edit_last(const writer *w, int64_t rows, int64_t cols, float *value)
{
    const double slope = w->model->plan.config.kind == GNN_GAT && w->pairs ? ELU_SLOPE : 1.0;
    edit_zero(w, rows, cols, value);
    for (int half = 0; half < w->halves; ++half) {
        for (int64_t j = 0; j < w->classes; ++j) {
            const float weight = (float)(SHARPNESS / slope * w->linear->share[half] * w->linear->deviation[j]);
            *element(w, 1, half, j, j, cols, value) = weight;
            if (w->pairs) {
                *element(w, 1, half, w->classes + j, j, cols, value) = -weight;
            }
        }
    }
}

static void edit_bias(const writer *w, int64_t rows, int64_t cols, float *value)
{
    assert(rows == 1 && cols == w->classes);
    (void)rows;
    for (int64_t j = 0; j < cols; ++j) {
        value[j] = (float)(SHARPNESS * w->linear->bias[j]);
    }
}

/* The vector of sources of the first head: so short that attention is nearly uniform. At 0 nothing would teach that of
 * targets, and Adam would make steps of rounding errors. */
static void edit_vector(const writer *w, int64_t rows, int64_t cols, float *value)
{
    (void)w;
    (void)rows;
    for (int64_t j = 0; j < cols; ++j) {
        value[j] *= (float)SOURCE_SHARE;
    }
}

static weft_status write_last(const writer *w)
{
    const gnn_layer *layer = w->model->layer;
    if (w->model->plan.config.kind == GNN_GAT) {
        WEFT_TRY(edit_block(w, gat_source_vector(&layer[0]), edit_vector));
        WEFT_TRY(edit_block(w, gat_source_vector(&layer[1]), edit_vector));
    }
    WEFT_TRY(edit_block(w, layer[1].linear.weight, edit_last));
    return edit_block(w, layer[1].linear.bias, edit_bias);
}

/* ---- the maps behind gin's first --------------------------------------------------------------------------------- */

/* Pairs pass to the columns where they stand. */
static void edit_inner(const writer *w, int64_t rows, int64_t cols, float *value)
{
    const int64_t classes = w->classes;
    for (int64_t row = 0; row < rows; ++row) {
        for (int64_t j = 0; j < classes; ++j) {
            const float weight = row == j ? 1.0F : row == classes + j ? -1.0F : 0.0F;
            value[row * cols + j] = weight;
            value[row * cols + classes + j] = -weight;
        }
    }
}

static void edit_inner_means(const writer *w, int64_t rows, int64_t cols, float *value)
{
    (void)rows;
    (void)cols;
    for (int64_t j = 0; j < w->classes; ++j) {
        const double mean = w->linear->mean[j] / w->linear->deviation[j];
        put_columns(w, j, mean, -mean, value);
    }
}

static void edit_inner_variances(const writer *w, int64_t rows, int64_t cols, float *value)
{
    (void)rows;
    (void)cols;
    for (int64_t j = 0; j < w->classes; ++j) {
        put_columns(w, j, 1.0, 1.0, value);
    }
}

/* S in its deviations. */
static void edit_second(const writer *w, int64_t rows, int64_t cols, float *value)
{
    edit_zero(w, rows, cols, value);
    for (int64_t j = 0; j < w->classes; ++j) {
        const float weight = (float)(w->linear->deviation[j] / w->linear->second_deviation[j]);
        value[j * cols + j] = weight;
        value[(w->classes + j) * cols + j] = -weight;
    }
}

static void edit_last_shifts(const writer *w, int64_t rows, int64_t cols, float *value)
{
    (void)w;
    (void)rows;
    for (int64_t j = 0; j < cols; ++j) {
        value[j] = (float)LAST_SHIFT;
    }
}

static void edit_last_means(const writer *w, int64_t rows, int64_t cols, float *value)
{
    (void)rows;
    for (int64_t j = 0; j < cols; ++j) {
        value[j] = (float)(w->linear->second_mean[j] / w->linear->second_deviation[j]);
    }
}

static void edit_answers(const writer *w, int64_t rows, int64_t cols, float *value)
{
    edit_zero(w, rows, cols, value);
    for (int64_t j = 0; j < cols; ++j) {
        value[j * cols + j] = (float)(SHARPNESS * w->linear->second_deviation[j]);
    }
}

static void edit_answer_bias(const writer *w, int64_t rows, int64_t cols, float *value)
{
    (void)rows;
    for (int64_t j = 0; j < cols; ++j) {
        const double shift = w->linear->second_mean[j] - LAST_SHIFT * w->linear->second_deviation[j];
        value[j] = (float)(SHARPNESS * (w->linear->bias[j] + shift));
    }
}

static weft_status write_gin(const writer *w)
{
    const gnn_layer *layer = w->model->layer;
    const train_norm *norm = w->model->norm;
    WEFT_TRY(edit_block(w, layer[1].linear.weight, edit_inner));
    WEFT_TRY(edit_block(w, norm[1].beta, edit_shifts));
    WEFT_TRY(edit_block(w, norm[1].running_mean, edit_inner_means));
    WEFT_TRY(edit_block(w, norm[1].running_var, edit_inner_variances));
    WEFT_TRY(edit_block(w, layer[2].linear.weight, edit_second));
    WEFT_TRY(edit_block(w, norm[2].beta, edit_last_shifts));
    WEFT_TRY(edit_block(w, norm[2].running_mean, edit_last_means));
    WEFT_TRY(edit_block(w, layer[3].linear.weight, edit_answers));
    return edit_block(w, layer[3].linear.bias, edit_answer_bias);
}

weft_status gnn_linear_write(gnn_model *model, gnn_linear_model *linear)
{
    const gnn_plan *plan = &model->plan;
    writer w = {.model = model,
                .linear = linear,
                .features = plan->layer[0].d_in,
                .classes = plan->config.outputs,
                .halves = gnn_linear_halves(plan),
                .pairs = 2 * plan->config.outputs <= plan->config.hidden};
    w.weights = w.halves * w.features * w.classes;
    for (int64_t j = 0; j < w.classes && !w.pairs; ++j) {
        w.shift += SINGLE_SHIFT * linear->deviation[j] / (double)w.classes;
    }
    find_spreads(&w);
    WEFT_TRY(edit_block(&w, model->layer[0].linear.weight, edit_first));
    WEFT_TRY(edit_block(&w, model->layer[0].linear.bias, edit_first_bias));
    WEFT_TRY(has_batch_norm(&w) ? write_norm(&w) : WEFT_OK);
    return plan->config.kind == GNN_GIN ? write_gin(&w) : write_last(&w);
}
