/* gnn/linear_start.c: see gnn/linear_start.h. Vectors of the solver are as small as a layer, and the host's. */
#include "gnn/linear_start.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/integer/integers.h"
#include "base/log.h"

/* Chosen on Cora, Citeseer and Squirrel, and tried on others (docs/recipes.md). */
enum { STEPS = 3 };
#define SHARPNESS 5.0
/* Deviations of a class's only column that its lift spares from the ReLU. */
#define LIFT 1.0
/* Deviations below this are those of a column that says nothing. */
#define LEAST_DEVIATION 1e-12
/* Shares of two sums that differ by less than this share of their squares are not told apart. */
#define LEAST_DIFFERENCE 1e-9

/* Sums over training vertices, for a class: of own rows of first(X w), of those of neighbours, and of labels. */
enum { OWN, NEAR, OWN_OWN, OWN_NEAR, NEAR_NEAR, OWN_LABEL, NEAR_LABEL, LABEL, SUMS };

typedef struct starter {
    gnn_model *model;
    const train_targets *targets;
    int64_t rows, features, classes;
    int halves;                            /* 2: weights for a vertex and for its neighbours */
    int64_t weights;                       /* halves * features * classes */
    weft_tensor w[2], g[2];                /* [features, classes]: weights and their gradient */
    weft_tensor a, b;                      /* [n_local, classes] */
    float *host;                           /* a block of parameters, or [rows, classes] for each half */
    double *w0, *residual, *direction, *q; /* [weights]: one half behind the other */
    double *mean, *deviation;              /* [classes], one behind the other: of what was looked at last */
    double *bias;                          /* [classes]: what answers of w0 lack at training vertices on average */
    double *spread;                        /* [classes]: deviations of the network's hidden columns */
    double *sums;                          /* [classes, SUMS] */
    double share[2];                       /* of a vertex and of its neighbours in the last layer */
    bool pairs;                            /* a class has two hidden columns, S and -S, and else one, S + lift */
    double lift;                           /* 0 with pairs */
    bool overflows;                        /* of float32: there is no model */
} starter;

const char *gnn_start_obstacle(const gnn_start_facts *facts)
{
    const bool sums = facts->kind == GNN_GCN || (facts->kind == GNN_SAGE && !facts->maxima);
    if (!sums || facts->layers != 2 || facts->passed_by) {
        return "it is for gcn and for sums of sage, of two layers that nothing leads past";
    }
    if (facts->norm != NORM_NONE && facts->norm != NORM_BATCH) {
        return "it is for networks with batch norm or without a norm";
    }
    if (!facts->learns_classes) {
        return "it is for vertices of one class each";
    }
    if (facts->outputs > facts->hidden) {
        return "it is for networks with a hidden column or more for each class";
    }
    return facts->whole ? NULL : "it is for float32, and for features in the backend's memory";
}

const char *gnn_linear_start_obstacle(const gnn_plan *plan, const train_targets *targets)
{
    const gnn_config *c = &plan->config;
    const gnn_start_facts facts = {.kind = c->kind,
                                   .maxima = gnn_takes_maxima(c),
                                   .layers = plan->layers,
                                   .passed_by = c->jumping != GNN_JUMPING_NONE || c->head != NULL,
                                   .norm = c->norm,
                                   .learns_classes = targets->loss == TRAIN_LOSS_XENT,
                                   .outputs = c->outputs,
                                   .hidden = c->hidden,
                                   .whole = plan->values == WEFT_DTYPE_F32 && !c->streams && !c->fixed_rows};
    return gnn_start_obstacle(&facts);
}

static int halves_of(const gnn_plan *plan)
{
    return plan->layer[0].self ? 2 : 1;
}

/* Numbers that `host` has room for: of the largest block that is edited, or of all answers. */
static int64_t host_numbers(const gnn_plan *plan)
{
    const int64_t outputs = plan->config.outputs, widest = larger(plan->layer[0].d_in, outputs);
    return halves_of(plan) * larger(widest * plan->layer[0].d_out, plan->n_owned * outputs);
}

/* Doubles of the solver. */
static int64_t solver_numbers(int64_t weights, int64_t classes)
{
    return 4 * weights + (4 + SUMS) * classes; /* w0 to q, mean to sums */
}

uint64_t gnn_linear_start_bytes(const gnn_plan *plan)
{
    const int64_t classes = plan->config.outputs, weights = halves_of(plan) * plan->layer[0].d_in * classes;
    const int64_t single = 2 * weights + 2 * plan->n_local * classes + host_numbers(plan);
    return plan->config.init == GNN_INIT_LINEAR
               ? (uint64_t)single * sizeof(float) + (uint64_t)solver_numbers(weights, classes) * sizeof(double)
               : 0;
}

static weft_status create(starter *s)
{
    for (int half = 0; half < s->halves; ++half) {
        WEFT_TRY(
            tensor_create(s->model->hal, WEFT_DTYPE_F32, s->features, s->classes, WEFT_MEM_WORKSPACE, &s->w[half]));
        WEFT_TRY(
            tensor_create(s->model->hal, WEFT_DTYPE_F32, s->features, s->classes, WEFT_MEM_WORKSPACE, &s->g[half]));
    }
    const int64_t local = s->model->plan.n_local;
    WEFT_TRY(tensor_create(s->model->hal, WEFT_DTYPE_F32, local, s->classes, WEFT_MEM_WORKSPACE, &s->a));
    WEFT_TRY(tensor_create(s->model->hal, WEFT_DTYPE_F32, local, s->classes, WEFT_MEM_WORKSPACE, &s->b));
    WEFT_TRY(tensor_zero(&s->a));
    WEFT_TRY(tensor_zero(&s->b));
    WEFT_TRY(WEFT_NEW(&s->host, host_numbers(&s->model->plan), WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW_ZERO(&s->w0, solver_numbers(s->weights, s->classes), WEFT_MEM_WORKSPACE));
    s->residual = s->w0 + s->weights;
    s->direction = s->residual + s->weights;
    s->q = s->direction + s->weights;
    s->mean = s->q + s->weights;
    s->deviation = s->mean + s->classes;
    s->bias = s->deviation + s->classes;
    s->spread = s->bias + s->classes;
    s->sums = s->spread + s->classes;
    return WEFT_OK;
}

static void destroy(starter *s)
{
    TENSOR_DESTROY_ALL(&s->w[0], &s->w[1], &s->g[0], &s->g[1], &s->a, &s->b);
    weft_free(s->host);
    weft_free(s->w0);
}

/* ---- the linear model -------------------------------------------------------------------------------------------- */

static bool is_aggregated(const starter *s)
{
    return s->model->plan.layer[0].flow == GNN_FLOW_CONSTANT;
}

/* What half `half` of the weights multiplies, where the features are held whole. */
static weft_tensor features_of(const starter *s, int half)
{
    const gnn_layer *layer = &s->model->layer[0];
    const bool apart = s->model->features.data != NULL;
    const weft_tensor *whole = apart ? &s->model->features : &layer->input;
    return tensor_view(whole, 0, s->rows, is_aggregated(s) ? half * s->features : 0, s->features);
}

/* y = beta y + F w[half] */
static weft_status multiply(const starter *s, int half, double beta, weft_tensor *y)
{
    const tensor_features *sparse = s->model->layer[0].linear.features;
    if (sparse != NULL) {
        return tensor_features_product(sparse, &s->w[half], beta, NULL, y);
    }
    const weft_tensor x = features_of(s, half);
    return tensor_gemm(&(tensor_product){.a = &x, .b = &s->w[half], .beta = beta, .exact = true}, y);
}

/* g[half] = F^T y */
static weft_status multiply_back(starter *s, int half, const weft_tensor *y)
{
    const tensor_features *sparse = s->model->layer[0].linear.features;
    if (sparse != NULL) {
        return tensor_features_gradient(sparse, y, NULL, &s->g[half]);
    }
    const weft_tensor x = features_of(s, half);
    return tensor_gemm(&(tensor_product){.a = &x, .b = y, .trans_a = true, .exact = true}, &s->g[half]);
}

static weft_tensor owned(const starter *s, const weft_tensor *t)
{
    return tensor_view(t, 0, s->rows, 0, s->classes);
}

/* to = (sum over neighbours of from) + own * from, as convolution `layer` has it. Of the last one only rows that the
 * training loss reads are right. */
static weft_status sum_rows(starter *s, int layer, bool transposed, weft_tensor *from, weft_tensor *to)
{
    weft_tensor x = owned(s, from), y = owned(s, to);
    const bool own = layer == 1 && s->halves > 1;
    gnn_aggregator_set_scope(&s->model->aggregator, gnn_scope_of(&s->model->plan.layer[layer], true));
    WEFT_TRY(own ? tensor_axpby(1.0, &x, 0.0, &y) : WEFT_OK);
    return gnn_aggregate(&s->model->aggregator, transposed, from, own ? 1.0 : 0.0, to);
}

/* a = first(X w) */
static weft_status first(starter *s)
{
    weft_tensor a = owned(s, &s->a), b = owned(s, &s->b);
    const int last = s->halves - 1;
    if (!is_aggregated(s)) {
        WEFT_TRY(multiply(s, last, 0.0, &b));
        WEFT_TRY(sum_rows(s, 0, false, &s->b, &s->a));
    } else {
        WEFT_TRY(multiply(s, last, 0.0, &a));
    }
    return last > 0 ? multiply(s, 0, 1.0, &a) : WEFT_OK;
}

/* b = second(a) */
static weft_status second(starter *s)
{
    return sum_rows(s, 1, false, &s->a, &s->b);
}

/* g = the gradient of the weights from that of b. */
static weft_status backward(starter *s)
{
    weft_tensor a = owned(s, &s->a), b = owned(s, &s->b);
    const int last = s->halves - 1;
    WEFT_TRY(sum_rows(s, 1, true, &s->b, &s->a));
    WEFT_TRY(last > 0 ? multiply_back(s, 0, &a) : WEFT_OK);
    if (is_aggregated(s)) {
        return multiply_back(s, last, &a);
    }
    WEFT_TRY(sum_rows(s, 0, true, &s->a, &s->b));
    return multiply_back(s, last, &b);
}

/* ---- the solver -------------------------------------------------------------------------------------------------- */

static bool is_training(const starter *s, int64_t row)
{
    return s->targets->split_host[row] == TRAIN_SPLIT_TRAIN && s->targets->label_host[row] >= 0;
}

static weft_status add_over_ranks(const starter *s, double *values, int64_t count)
{
    return comm_allreduce(s->model->comm, values, count, WEFT_DTYPE_F64, COMM_SUM);
}

/* host [rows, classes] = the labels of training vertices. */
static void put_labels(starter *s)
{
    memset(s->host, 0, (size_t)(s->rows * s->classes) * sizeof *s->host);
    for (int64_t row = 0; row < s->rows; ++row) {
        if (is_training(s, row)) {
            s->host[row * s->classes + s->targets->label_host[row]] = 1.0F;
        }
    }
}

/* mean[j] = that of host's column j over training vertices. */
static weft_status find_means(starter *s)
{
    memset(s->mean, 0, (size_t)s->classes * sizeof *s->mean);
    for (int64_t row = 0; row < s->rows; ++row) {
        const int64_t columns = is_training(s, row) ? s->classes : 0;
        for (int64_t j = 0; j < columns; ++j) {
            s->mean[j] += (double)s->host[row * s->classes + j];
        }
    }
    WEFT_TRY(add_over_ranks(s, s->mean, s->classes));
    for (int64_t j = 0; j < s->classes; ++j) {
        s->mean[j] /= (double)s->targets->counted[TRAIN_SPLIT_TRAIN];
    }
    return WEFT_OK;
}

/* gradient [weights] = of host's rows less their mean, in training vertices. */
static weft_status gradient_of_host(starter *s, double *gradient)
{
    weft_tensor b = owned(s, &s->b);
    WEFT_TRY(find_means(s));
    for (int64_t row = 0; row < s->rows; ++row) {
        const bool training = is_training(s, row);
        for (int64_t j = 0; j < s->classes; ++j) {
            float *value = &s->host[row * s->classes + j];
            *value = training ? (float)((double)*value - s->mean[j]) : 0.0F;
        }
    }
    WEFT_TRY(tensor_upload(&b, s->host));
    WEFT_TRY(backward(s));
    const int64_t half = s->features * s->classes;
    for (int h = 0; h < s->halves; ++h) {
        WEFT_TRY(tensor_download(&s->g[h], s->host));
        for (int64_t i = 0; i < half; ++i) {
            gradient[h * half + i] = (double)s->host[i];
        }
    }
    return add_over_ranks(s, gradient, s->weights);
}

/* w = values, on the backend. */
static weft_status set_weights(starter *s, const double *values)
{
    const int64_t half = s->features * s->classes;
    for (int h = 0; h < s->halves; ++h) {
        for (int64_t i = 0; i < half; ++i) {
            s->host[i] = (float)values[h * half + i];
        }
        WEFT_TRY(tensor_upload(&s->w[h], s->host));
    }
    return WEFT_OK;
}

/* host = second(first(X w)) */
static weft_status answer(starter *s)
{
    const weft_tensor b = owned(s, &s->b);
    WEFT_TRY(first(s));
    WEFT_TRY(second(s));
    return tensor_download(&b, s->host);
}

/* Column j of x times column j of y. */
static double column_product(const starter *s, const double *x, const double *y, int64_t j)
{
    double sum = 0.0;
    for (int64_t i = j; i < s->weights; i += s->classes) {
        sum += x[i] * y[i];
    }
    return sum;
}

/* One step of conjugate gradients for each class. Answers of the direction have the means that were found last. */
static void step(starter *s)
{
    for (int64_t j = 0; j < s->classes; ++j) {
        const double before = column_product(s, s->residual, s->residual, j);
        const double curvature = column_product(s, s->direction, s->q, j);
        const double rate = curvature > 0.0 ? before / curvature : 0.0;
        s->overflows = s->overflows || !isfinite(before) || !isfinite(curvature);
        s->bias[j] -= rate * s->mean[j];
        for (int64_t i = j; i < s->weights; i += s->classes) {
            s->w0[i] += rate * s->direction[i];
            s->residual[i] -= rate * s->q[i];
        }
        const double after = column_product(s, s->residual, s->residual, j);
        for (int64_t i = j; i < s->weights; i += s->classes) {
            s->direction[i] = s->residual[i] + (before > 0.0 ? after / before : 0.0) * s->direction[i];
        }
    }
}

static weft_status solve(starter *s)
{
    put_labels(s);
    WEFT_TRY(gradient_of_host(s, s->residual));
    memcpy(s->bias, s->mean, (size_t)s->classes * sizeof *s->bias);
    memcpy(s->direction, s->residual, (size_t)s->weights * sizeof *s->direction);
    for (int i = 0; i < STEPS; ++i) {
        WEFT_TRY(set_weights(s, s->direction));
        WEFT_TRY(answer(s));
        WEFT_TRY(gradient_of_host(s, s->q));
        step(s);
    }
    return set_weights(s, s->w0);
}

/* ---- shares of a vertex and of its neighbours -------------------------------------------------------------------- */

/* sums: host holds first(X w), and its sum over neighbours with it, one behind the other. */
static weft_status add_products(starter *s)
{
    const float *first = s->host, *both = first + s->rows * s->classes;
    memset(s->sums, 0, (size_t)(SUMS * s->classes) * sizeof *s->sums);
    for (int64_t row = 0; row < s->rows; ++row) {
        const int64_t columns = is_training(s, row) ? s->classes : 0;
        for (int64_t j = 0; j < columns; ++j) {
            const double own = (double)first[row * s->classes + j], near = (double)both[row * s->classes + j] - own;
            const double label = s->targets->label_host[row] == j ? 1.0 : 0.0;
            double *sum = &s->sums[j * SUMS];
            sum[OWN] += own;
            sum[NEAR] += near;
            sum[OWN_OWN] += own * own;
            sum[OWN_NEAR] += own * near;
            sum[NEAR_NEAR] += near * near;
            sum[OWN_LABEL] += own * label;
            sum[NEAR_LABEL] += near * label;
            sum[LABEL] += label;
        }
    }
    return add_over_ranks(s, s->sums, SUMS * s->classes);
}

/* Least squares of two numbers for all classes together, and of a bias for each. */
static void solve_shares(starter *s)
{
    const double count = (double)s->targets->counted[TRAIN_SPLIT_TRAIN];
    double own_own = 0.0, own_near = 0.0, near_near = 0.0, own_label = 0.0, near_label = 0.0;
    for (int64_t j = 0; j < s->classes; ++j) {
        const double *sum = &s->sums[j * SUMS];
        own_own += sum[OWN_OWN] - sum[OWN] * sum[OWN] / count;
        own_near += sum[OWN_NEAR] - sum[OWN] * sum[NEAR] / count;
        near_near += sum[NEAR_NEAR] - sum[NEAR] * sum[NEAR] / count;
        own_label += sum[OWN_LABEL] - sum[OWN] * sum[LABEL] / count;
        near_label += sum[NEAR_LABEL] - sum[NEAR] * sum[LABEL] / count;
    }
    const double determinant = own_own * near_near - own_near * own_near;
    s->overflows = s->overflows || !isfinite(determinant);
    if (!(determinant > LEAST_DIFFERENCE * own_own * near_near)) {
        return;
    }
    s->share[0] = (near_near * own_label - own_near * near_label) / determinant;
    s->share[1] = (own_own * near_label - own_near * own_label) / determinant;
    for (int64_t j = 0; j < s->classes; ++j) {
        const double *sum = &s->sums[j * SUMS];
        s->bias[j] = (sum[LABEL] - s->share[0] * sum[OWN] - s->share[1] * sum[NEAR]) / count;
    }
}

/* A vertex and its neighbours say the same of its class with different noise, so the last layer weighs them: the host
 * holds first(X w) of all vertices. Of few rows the linear model knows the labels of training vertices by heart, so
 * that these say too much of their own (docs/recipes.md). */
static weft_status find_shares(starter *s)
{
    const weft_tensor b = owned(s, &s->b);
    s->share[0] = s->share[1] = 1.0;
    if (s->halves == 1 || 2 * s->targets->counted[TRAIN_SPLIT_TRAIN] < s->features) {
        return WEFT_OK;
    }
    WEFT_TRY(second(s));
    WEFT_TRY(tensor_download(&b, s->host + s->rows * s->classes));
    WEFT_TRY(add_products(s));
    solve_shares(s);
    return WEFT_OK;
}

/* ---- the network ------------------------------------------------------------------------------------------------- */

/* mean and deviation = those of first(X w) over all vertices. */
static weft_status find_moments(starter *s)
{
    const weft_tensor a = owned(s, &s->a);
    double *const mean = s->mean, *const deviation = s->deviation, count = (double)s->rows;
    WEFT_TRY(first(s));
    WEFT_TRY(tensor_download(&a, s->host));
    memset(mean, 0, 2 * (size_t)s->classes * sizeof *mean);
    for (int64_t i = 0; i < s->rows * s->classes; ++i) {
        const double value = (double)s->host[i];
        mean[i % s->classes] += value;
        deviation[i % s->classes] += value * value;
    }
    WEFT_TRY(add_over_ranks(s, &count, 1));
    WEFT_TRY(add_over_ranks(s, mean, 2 * s->classes));
    for (int64_t j = 0; j < s->classes; ++j) {
        mean[j] /= count;
        const double variance = deviation[j] / count - mean[j] * mean[j];
        deviation[j] = variance > LEAST_DEVIATION * LEAST_DEVIATION ? sqrt(variance) : 1.0;
        s->overflows = s->overflows || !isfinite(deviation[j]);
    }
    return WEFT_OK;
}

static bool has_batch_norm(const starter *s)
{
    return s->model->norm[0].kind == NORM_BATCH;
}

/* Batch norm undoes the length of columns in front of it, but an optimiser's steps depend on it. So they are as long as
 * drawn ones, whatever the features' scale, and half as long where weights for a vertex and its neighbours add up. */
static void find_spreads(starter *s)
{
    const double inputs = (double)(s->halves * s->features), hidden = (double)s->model->plan.config.hidden;
    const double drawn = sqrt(2.0 / (inputs + hidden)); /* glorot's deviation of a weight */
    for (int64_t j = 0; j < s->classes; ++j) {
        const double own = sqrt(column_product(s, s->w0, s->w0, j) / inputs) / s->deviation[j];
        s->spread[j] = has_batch_norm(s) && own > 0.0 ? drawn / (own * (double)s->halves) : 1.0;
    }
}

/* One column of a class passes S + lift through the ReLU but for the lowest of it. The lift is the same for all
 * classes, so that sums of it over neighbours, whatever their scale, add the same to all answers, which softmax does
 * not see. */
static void find_lift(starter *s)
{
    s->lift = 0.0;
    for (int64_t j = 0; j < s->classes && !s->pairs; ++j) {
        s->lift = fmax(s->lift, LIFT * s->deviation[j] - s->mean[j]);
    }
}

typedef void edit(const starter *s, int64_t rows, int64_t cols, float *value);

static weft_status edit_block(starter *s, int block, edit *edits)
{
    weft_tensor value = param_value(&s->model->params, block);
    WEFT_TRY(tensor_download(&value, s->host));
    edits(s, value.rows, value.cols, s->host);
    return tensor_upload(&value, s->host);
}

/* Weights for a vertex and for its neighbours stand side by side, or one above the other. */
static float *element(const starter *s, int layer, int half, int64_t row, int64_t col, int64_t cols, float *value)
{
    const gnn_layer_plan *plan = &s->model->plan.layer[layer];
    const bool beside = plan->flow == GNN_FLOW_LINEAR_FIRST;
    return &value[(row + (beside ? 0 : half * plan->d_in)) * cols + col + (beside ? half * plan->d_out : 0)];
}

static void edit_first(const starter *s, int64_t rows, int64_t cols, float *value)
{
    assert(rows * cols >= s->weights);
    (void)rows;
    for (int64_t i = 0; i < s->weights; ++i) {
        const int64_t j = i % s->classes, row = i / s->classes;
        const int half = (int)(row / s->features);
        const float weight = (float)(s->w0[i] * s->spread[j] / s->deviation[j]);
        *element(s, 0, half, row % s->features, j, cols, value) = weight;
        if (s->pairs) {
            *element(s, 0, half, row % s->features, s->classes + j, cols, value) = -weight;
        }
    }
}

static void edit_last(const starter *s, int64_t rows, int64_t cols, float *value)
{
    memset(value, 0, (size_t)(rows * cols) * sizeof *value);
    for (int half = 0; half < s->halves; ++half) {
        for (int64_t j = 0; j < s->classes; ++j) {
            const double weight = SHARPNESS * s->share[half] * s->deviation[j];
            *element(s, 1, half, j, j, cols, value) = (float)weight;
            if (s->pairs) {
                *element(s, 1, half, s->classes + j, j, cols, value) = (float)-weight;
            }
        }
    }
}

static void edit_first_bias(const starter *s, int64_t rows, int64_t cols, float *value)
{
    memset(value, 0, (size_t)(rows * cols) * sizeof *value);
    for (int64_t j = 0; j < s->classes; ++j) {
        value[j] = has_batch_norm(s) ? 0.0F : (float)(s->lift / s->deviation[j]);
    }
}

/* The column or the columns of a class. */
static void put_pair(const starter *s, int64_t j, double first, double second, float *value)
{
    value[j] = (float)first;
    if (s->pairs) {
        value[s->classes + j] = (float)second;
    }
}

/* Shifts that give back the means which batch norm takes off. */
static void edit_shifts(const starter *s, int64_t rows, int64_t cols, float *value)
{
    assert(rows == 1 && cols >= s->classes);
    (void)rows;
    (void)cols;
    for (int64_t j = 0; j < s->classes; ++j) {
        const double mean = s->mean[j] / s->deviation[j];
        put_pair(s, j, mean + s->lift / s->deviation[j], -mean, value);
    }
}

static void edit_means(const starter *s, int64_t rows, int64_t cols, float *value)
{
    assert(rows == 1 && cols >= s->classes);
    (void)rows;
    (void)cols;
    for (int64_t j = 0; j < s->classes; ++j) {
        const double mean = s->spread[j] * s->mean[j] / s->deviation[j];
        put_pair(s, j, mean, -mean, value);
    }
}

static void edit_variances(const starter *s, int64_t rows, int64_t cols, float *value)
{
    assert(rows == 1 && cols >= s->classes);
    (void)rows;
    (void)cols;
    for (int64_t j = 0; j < s->classes; ++j) {
        put_pair(s, j, s->spread[j] * s->spread[j], s->spread[j] * s->spread[j], value);
    }
}

static void edit_bias(const starter *s, int64_t rows, int64_t cols, float *value)
{
    assert(rows == 1 && cols == s->classes);
    (void)rows;
    for (int64_t j = 0; j < cols; ++j) {
        value[j] = (float)(SHARPNESS * s->bias[j]);
    }
}

static weft_status write_network(starter *s)
{
    const gnn_model *model = s->model;
    const train_norm *norm = &model->norm[0];
    find_spreads(s);
    find_lift(s);
    WEFT_TRY(edit_block(s, model->layer[0].linear.weight, edit_first));
    WEFT_TRY(edit_block(s, model->layer[0].linear.bias, edit_first_bias));
    WEFT_TRY(edit_block(s, model->layer[1].linear.weight, edit_last));
    if (has_batch_norm(s)) {
        WEFT_TRY(edit_block(s, norm->beta, edit_shifts));
        WEFT_TRY(edit_block(s, norm->running_mean, edit_means));
        WEFT_TRY(edit_block(s, norm->running_var, edit_variances));
    }
    return edit_block(s, model->layer[1].linear.bias, edit_bias);
}

static weft_status begin(void *self)
{
    gnn_model *model = self;
    const train_targets *targets = model->start_targets;
    const gnn_layer_plan *plan = &model->plan.layer[0];
    const double start = clock_seconds();
    starter s = {.model = model,
                 .targets = targets,
                 .rows = model->plan.n_owned,
                 .features = plan->d_in,
                 .classes = targets->outputs,
                 .halves = halves_of(&model->plan),
                 .pairs = 2 * targets->outputs <= model->plan.config.hidden};
    assert(gnn_linear_start_obstacle(&model->plan, targets) == NULL);
    s.weights = s.halves * s.features * s.classes;
    weft_status status = comm_agree(model->comm, create(&s));
    WEFT_TRY_GOTO(status, status, done);
    WEFT_TRY_GOTO(gnn_aggregator_start_pass(&model->aggregator, &(gnn_halo_pass){.training = false}), status, done);
    WEFT_TRY_GOTO(solve(&s), status, done);
    WEFT_TRY_GOTO(find_moments(&s), status, done);
    WEFT_TRY_GOTO(find_shares(&s), status, done);
    if (s.overflows) {
        log_warn("first weights: drawn, not linear: squares of these features leave float32; standardised ones do not");
        goto done;
    }
    WEFT_TRY_GOTO(comm_agree(model->comm, write_network(&s)), status, done);
    log_info("first weights: a linear model of the features, fitted in %.3f s", clock_seconds() - start);
done:
    destroy(&s);
    return status;
}

void gnn_linear_start(gnn_model *model, const train_targets *targets)
{
    model->start_targets = targets;
    model->interface.start = begin;
}
