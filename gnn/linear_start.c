/* gnn/linear_start.c: see gnn/linear_start.h. Vectors of the solver are as small as a layer, and the host's. */
#include "gnn/linear_start.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/integer/integers.h"
#include "base/log.h"
#include "gnn/linear_write.h"

/* STEPS: where nothing judges them. MOST: with validation vertices; PATIENCE: so many in a row that are no better end
 * the search. SHARPNESS: of answers as softmax reads them there. Chosen on Cora, Citeseer, Squirrel and Photo, and
 * tried on others (docs/notes/second-order.md). */
enum { STEPS = 3, MOST = 20, PATIENCE = 3 };
/* Training vertices for each feature: fewer are few. Of gcn less, as K-FAC goes further from a model of three steps. */
enum { FEW_ROWS = 4, FEW_ROWS_OF_SAGE = 16 };
enum { VALID = TRAIN_SPLIT_TRAIN + 1 }; /* split */
#define SHARPNESS 10.0
/* Deviations below this are those of a column that says nothing. */
#define LEAST_DEVIATION 1e-12
/* Two sums whose squares' determinant is less than this share of their product are not told apart. */
#define LEAST_DIFFERENCE 1e-9

/* Sums over training vertices, for a class: of own rows of first(X w), of those of neighbours, and of labels. */
enum { OWN, NEAR, OWN_OWN, OWN_NEAR, NEAR_NEAR, OWN_LABEL, NEAR_LABEL, LABEL, SUMS };

typedef struct starter {
    gnn_linear_sums sums;
    const train_targets *targets;
    int64_t rows, features, classes, weights;       /* weights: halves * features * classes */
    float *host, *score;                            /* a block of parameters, or [rows, classes]; [rows, classes] */
    double *w, *best, *residual, *direction, *q;    /* [weights] each: one half behind the other */
    double *mean, *square, *bias, *best_bias;       /* [classes] each, as those below are; square stands behind mean */
    double *moments, *second_moments, *spread, *at; /* moments: [2 * classes], means and deviations */
    double *products;                               /* [classes, SUMS] */
    double share[2];                                /* of a vertex and of its neighbours in sage's last layer */
    bool few;                                       /* training vertices for the features */
    bool overflows;                                 /* of float32: there is no model */
} starter;

const char *gnn_start_obstacle(const gnn_start_facts *facts)
{
    const bool sage = facts->kind == GNN_SAGE && !facts->maxima, gin = facts->kind == GNN_GIN;
    const bool sums = facts->kind == GNN_GCN || sage || gin || (facts->kind == GNN_GAT && facts->out_heads == 1);
    if (!sums || facts->convolutions != 2 || facts->passed_by) {
        return "it is for gcn, sums of sage, gat with one last head, and gin, of two layers that nothing leads past";
    }
    if (gin ? facts->norm != NORM_BATCH : facts->norm != NORM_NONE && facts->norm != NORM_BATCH) {
        return "it is for networks with batch norm or, but for gin, without a norm";
    }
    if (!facts->learns_classes) {
        return "it is for vertices of one class each";
    }
    if ((gin ? 2 : 1) * facts->outputs > facts->hidden) {
        return "it is for networks with a hidden column or more for each class, gin with two";
    }
    return facts->whole ? NULL : "it is for float32, and for features in the backend's memory";
}

const char *gnn_linear_start_obstacle(const gnn_plan *plan, const train_targets *targets)
{
    const gnn_config *c = &plan->config;
    const gnn_start_facts facts = {.kind = c->kind,
                                   .maxima = gnn_takes_maxima(c),
                                   .convolutions = plan->convolutions,
                                   .out_heads = c->out_heads,
                                   .passed_by = c->jumping != GNN_JUMPING_NONE || c->head != NULL,
                                   .norm = c->norm,
                                   .learns_classes = targets->loss == TRAIN_LOSS_XENT,
                                   .outputs = c->outputs,
                                   .hidden = c->hidden,
                                   .whole = plan->values == WEFT_DTYPE_F32 && !c->streams && !c->fixed_rows};
    return gnn_start_obstacle(&facts);
}

/* Numbers that `host` has room for: of the largest block that is edited, or of all answers. */
static int64_t host_numbers(const gnn_plan *plan)
{
    return larger(gnn_linear_write_numbers(plan), plan->n_owned * plan->config.outputs);
}

/* Doubles of the solver. */
static int64_t solver_numbers(int64_t weights, int64_t classes)
{
    return 5 * weights + (9 + SUMS) * classes; /* w to q, mean to products */
}

uint64_t gnn_linear_start_bytes(const gnn_plan *plan)
{
    const int64_t classes = plan->config.outputs, weights = gnn_linear_halves(plan) * plan->layer[0].d_in * classes;
    const int64_t single = gnn_linear_sums_numbers(plan) + host_numbers(plan) + plan->n_owned * classes;
    return plan->config.init == GNN_INIT_LINEAR
               ? (uint64_t)single * sizeof(float) + (uint64_t)solver_numbers(weights, classes) * sizeof(double)
               : 0;
}

/* The next `count` doubles of the solver. */
static double *take(starter *s, int64_t count)
{
    double *const taken = s->at;
    s->at += count;
    return taken;
}

static weft_status create(starter *s)
{
    const gnn_plan *plan = &s->sums.model->plan;
    WEFT_TRY(gnn_linear_sums_create(s->sums.model, &s->sums));
    WEFT_TRY(WEFT_NEW_ZERO(&s->host, host_numbers(plan), WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW_ZERO(&s->score, s->rows * s->classes, WEFT_MEM_WORKSPACE));
    WEFT_TRY(WEFT_NEW_ZERO(&s->w, solver_numbers(s->weights, s->classes), WEFT_MEM_WORKSPACE));
    s->at = s->w + s->weights;
    s->best = take(s, s->weights);
    s->residual = take(s, s->weights);
    s->direction = take(s, s->weights);
    s->q = take(s, s->weights);
    s->mean = take(s, s->classes);
    s->square = take(s, s->classes);
    s->bias = take(s, s->classes);
    s->best_bias = take(s, s->classes);
    s->moments = take(s, 2 * s->classes);
    s->second_moments = take(s, 2 * s->classes);
    s->spread = take(s, s->classes);
    s->products = take(s, SUMS * s->classes);
    return WEFT_OK;
}

static void destroy(starter *s)
{
    gnn_linear_sums_destroy(&s->sums);
    weft_free(s->host);
    weft_free(s->score);
    weft_free(s->w);
}

/* ---- the solver -------------------------------------------------------------------------------------------------- */

static bool is_in(const starter *s, int split, int64_t row)
{
    return s->targets->split_host[row] == split && s->targets->label_host[row] >= 0;
}

static weft_status add_over_ranks(const starter *s, double *values, int64_t count)
{
    return comm_allreduce(s->sums.model->comm, values, count, WEFT_DTYPE_F64, COMM_SUM);
}

/* host [rows, classes] = the labels of training vertices. */
static void put_labels(starter *s)
{
    memset(s->host, 0, (size_t)(s->rows * s->classes) * sizeof *s->host);
    for (int64_t row = 0; row < s->rows; ++row) {
        if (is_in(s, TRAIN_SPLIT_TRAIN, row)) {
            s->host[row * s->classes + s->targets->label_host[row]] = 1.0F;
        }
    }
}

/* mean[j], square[j] = of host's column j over training vertices: the mean, and the sum of squares about it. */
static weft_status find_means(starter *s)
{
    const double count = (double)s->targets->counted[TRAIN_SPLIT_TRAIN];
    memset(s->mean, 0, 2 * (size_t)s->classes * sizeof *s->mean);
    for (int64_t row = 0; row < s->rows; ++row) {
        const int64_t columns = is_in(s, TRAIN_SPLIT_TRAIN, row) ? s->classes : 0;
        for (int64_t j = 0; j < columns; ++j) {
            const double value = (double)s->host[row * s->classes + j];
            s->mean[j] += value;
            s->square[j] += value * value;
        }
    }
    WEFT_TRY(add_over_ranks(s, s->mean, 2 * s->classes));
    for (int64_t j = 0; j < s->classes; ++j) {
        s->mean[j] /= count;
        s->square[j] -= count * s->mean[j] * s->mean[j];
    }
    return WEFT_OK;
}

/* gradient [weights] = of host's rows less their mean, in training vertices. */
static weft_status gradient_of_host(starter *s, double *gradient)
{
    weft_tensor b = gnn_linear_owned(&s->sums, &s->sums.b);
    for (int64_t row = 0; row < s->rows; ++row) {
        const bool training = is_in(s, TRAIN_SPLIT_TRAIN, row);
        for (int64_t j = 0; j < s->classes; ++j) {
            float *value = &s->host[row * s->classes + j];
            *value = training ? (float)((double)*value - s->mean[j]) : 0.0F;
        }
    }
    WEFT_TRY(tensor_upload(&b, s->host));
    WEFT_TRY(gnn_linear_backward(&s->sums));
    const int64_t half = s->features * s->classes;
    for (int h = 0; h < s->sums.halves; ++h) {
        WEFT_TRY(tensor_download(&s->sums.g[h], s->host));
        for (int64_t i = 0; i < half; ++i) {
            gradient[h * half + i] = (double)s->host[i];
        }
    }
    return add_over_ranks(s, gradient, s->weights);
}

/* The backend's weights = values. */
static weft_status set_weights(starter *s, const double *values)
{
    const int64_t half = s->features * s->classes;
    for (int h = 0; h < s->sums.halves; ++h) {
        for (int64_t i = 0; i < half; ++i) {
            s->host[i] = (float)values[h * half + i];
        }
        WEFT_TRY(tensor_upload(&s->sums.w[h], s->host));
    }
    return WEFT_OK;
}

/* host = second(first(X w)) of the backend's weights. */
static weft_status answer(starter *s, bool all)
{
    const weft_tensor b = gnn_linear_owned(&s->sums, &s->sums.b);
    WEFT_TRY(gnn_linear_first(&s->sums));
    WEFT_TRY(gnn_linear_second(&s->sums, all));
    return tensor_download(&b, s->host);
}

/* The square of column j. */
static double column_square(const starter *s, const double *x, int64_t j)
{
    double sum = 0.0;
    for (int64_t i = j; i < s->weights; i += s->classes) {
        sum += x[i] * x[i];
    }
    return sum;
}

/* One step of conjugate gradients for each class along `direction`, whose answers are host's. */
static void advance(starter *s)
{
    for (int64_t j = 0; j < s->classes; ++j) {
        const double before = column_square(s, s->residual, j), curvature = s->square[j];
        const double rate = curvature > 0.0 ? before / curvature : 0.0;
        s->overflows = s->overflows || !isfinite(before) || !isfinite(curvature);
        s->spread[j] = rate;
        s->bias[j] -= rate * s->mean[j];
        for (int64_t i = j; i < s->weights; i += s->classes) {
            s->w[i] += rate * s->direction[i];
        }
        for (int64_t i = j; i < s->rows * s->classes; i += s->classes) {
            s->score[i] += (float)(rate * (double)s->host[i]);
        }
    }
}

/* The direction of the next step; spread has the rates of the last one. */
static weft_status turn(starter *s)
{
    WEFT_TRY(gradient_of_host(s, s->q));
    for (int64_t j = 0; j < s->classes; ++j) {
        const double before = column_square(s, s->residual, j);
        for (int64_t i = j; i < s->weights; i += s->classes) {
            s->residual[i] -= s->spread[j] * s->q[i];
        }
        const double after = column_square(s, s->residual, j);
        for (int64_t i = j; i < s->weights; i += s->classes) {
            s->direction[i] = s->residual[i] + (before > 0.0 ? after / before : 0.0) * s->direction[i];
        }
    }
    return WEFT_OK;
}

/* [out] sum: of the probabilities of validation vertices' labels. */
static weft_status judge(const starter *s, double *sum)
{
    *sum = 0.0;
    for (int64_t row = 0; row < s->rows; ++row) {
        if (!is_in(s, VALID, row)) {
            continue;
        }
        const float *score = &s->score[row * s->classes];
        const int32_t label = s->targets->label_host[row];
        double others = 0.0;
        for (int64_t j = 0; j < s->classes; ++j) {
            const double ahead = (double)score[j] + s->bias[j] - (double)score[label] - s->bias[label];
            others += exp(SHARPNESS * ahead);
        }
        *sum += 1.0 / others;
    }
    return add_over_ranks(s, sum, 1);
}

/* best, best_bias = the model of the best step. [out] steps: its number. */
static weft_status solve(starter *s, int *steps)
{
    const bool attends = s->sums.model->plan.config.kind == GNN_GAT;
    const bool judges = s->targets->counted[VALID] > 0 && (s->few || attends);
    double highest = 0.0;
    put_labels(s);
    WEFT_TRY(find_means(s));
    memcpy(s->bias, s->mean, (size_t)s->classes * sizeof *s->bias);
    WEFT_TRY(gradient_of_host(s, s->residual));
    memcpy(s->direction, s->residual, (size_t)s->weights * sizeof *s->direction);
    *steps = 0;
    for (int i = 1; i <= (judges ? MOST : STEPS) && i - *steps <= PATIENCE; ++i) {
        double sum = (double)i;
        WEFT_TRY(i > 1 ? turn(s) : WEFT_OK);
        WEFT_TRY(set_weights(s, s->direction));
        WEFT_TRY(answer(s, judges));
        WEFT_TRY(find_means(s));
        advance(s);
        WEFT_TRY(judges ? judge(s, &sum) : WEFT_OK);
        if (sum > highest || i == 1) {
            highest = sum;
            *steps = i;
            memcpy(s->best, s->w, (size_t)s->weights * sizeof *s->best);
            memcpy(s->best_bias, s->bias, (size_t)s->classes * sizeof *s->best_bias);
        }
    }
    return set_weights(s, s->best);
}

/* ---- moments ----------------------------------------------------------------------------------------------------- */

/* moments [2 * classes] = means and deviations of a matrix' columns over all vertices. */
static weft_status find_moments(starter *s, const weft_tensor *matrix, double *moments)
{
    const weft_tensor rows = gnn_linear_owned(&s->sums, matrix);
    double *const mean = moments, *const deviation = moments + s->classes, count = (double)s->rows;
    WEFT_TRY(tensor_download(&rows, s->host));
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

static weft_status find_all_moments(starter *s)
{
    WEFT_TRY(gnn_linear_first(&s->sums));
    WEFT_TRY(find_moments(s, &s->sums.a, s->moments));
    if (!gnn_linear_reads_second(&s->sums.model->plan)) {
        return WEFT_OK;
    }
    WEFT_TRY(gnn_linear_second(&s->sums, true));
    return find_moments(s, &s->sums.b, s->second_moments);
}

/* ---- shares of a vertex and of its neighbours -------------------------------------------------------------------- */

/* products: host holds first(X w), and score second of it, in training vertices. */
static weft_status add_products(starter *s)
{
    memset(s->products, 0, (size_t)(SUMS * s->classes) * sizeof *s->products);
    for (int64_t row = 0; row < s->rows; ++row) {
        const int64_t columns = is_in(s, TRAIN_SPLIT_TRAIN, row) ? s->classes : 0;
        for (int64_t j = 0; j < columns; ++j) {
            const int64_t i = row * s->classes + j;
            const double own = (double)s->host[i], near = (double)s->score[i] - own;
            const double label = s->targets->label_host[row] == j ? 1.0 : 0.0;
            double *sum = &s->products[j * SUMS];
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
    return add_over_ranks(s, s->products, SUMS * s->classes);
}

/* Least squares of two numbers for all classes together, and of a bias for each. */
static void solve_shares(starter *s)
{
    const double count = (double)s->targets->counted[TRAIN_SPLIT_TRAIN];
    double own_own = 0.0, own_near = 0.0, near_near = 0.0, own_label = 0.0, near_label = 0.0;
    for (int64_t j = 0; j < s->classes; ++j) {
        const double *sum = &s->products[j * SUMS];
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
        const double *sum = &s->products[j * SUMS];
        s->best_bias[j] = (sum[LABEL] - s->share[0] * sum[OWN] - s->share[1] * sum[NEAR]) / count;
    }
}

/* A vertex and its neighbours say the same of its class with different noise, so sage's last layer weighs them: host
 * holds first(X w) of all vertices. Of few rows the linear model knows the labels of training vertices by heart, so
 * that these say too much of their own. */
static weft_status find_shares(starter *s)
{
    s->share[0] = s->share[1] = 1.0;
    if (s->sums.halves == 1 || s->few) {
        return WEFT_OK;
    }
    const weft_tensor b = gnn_linear_owned(&s->sums, &s->sums.b);
    WEFT_TRY(gnn_linear_second(&s->sums, false));
    WEFT_TRY(tensor_download(&b, s->score));
    WEFT_TRY(add_products(s));
    solve_shares(s);
    return WEFT_OK;
}

/* ---- the network ------------------------------------------------------------------------------------------------- */

static weft_status write_network(starter *s)
{
    return gnn_linear_write(s->sums.model, &(gnn_linear_model){.w = s->best,
                                                               .bias = s->best_bias,
                                                               .share = s->share,
                                                               .mean = s->moments,
                                                               .deviation = s->moments + s->classes,
                                                               .second_mean = s->second_moments,
                                                               .second_deviation = s->second_moments + s->classes,
                                                               .spread = s->spread,
                                                               .host = s->host});
}

static weft_status begin(void *self)
{
    gnn_model *model = self;
    const train_targets *targets = model->start_targets;
    const gnn_layer_plan *plan = &model->plan.layer[0];
    const double start = clock_seconds();
    int steps = 0;
    starter s = {.sums.model = model,
                 .targets = targets,
                 .rows = model->plan.n_owned,
                 .features = plan->d_in,
                 .classes = targets->outputs,
                 .few = targets->counted[TRAIN_SPLIT_TRAIN] < plan->d_in * (plan->self ? FEW_ROWS_OF_SAGE : FEW_ROWS)};
    assert(gnn_linear_start_obstacle(&model->plan, targets) == NULL);
    s.weights = gnn_linear_halves(&model->plan) * s.features * s.classes;
    weft_status status = comm_agree(model->comm, create(&s));
    WEFT_TRY_GOTO(status, status, done);
    WEFT_TRY_GOTO(gnn_linear_sums_start(&s.sums), status, done);
    WEFT_TRY_GOTO(solve(&s, &steps), status, done);
    WEFT_TRY_GOTO(find_all_moments(&s), status, done);
    WEFT_TRY_GOTO(find_shares(&s), status, done);
    if (s.overflows) {
        log_warn("first weights: drawn, not linear: squares of these features leave float32; standardised ones do not");
        goto done;
    }
    WEFT_TRY_GOTO(comm_agree(model->comm, write_network(&s)), status, done);
    log_info("first weights: a linear model of the features, of %d steps, fitted in %.3f s", steps,
             clock_seconds() - start);
done:
    destroy(&s);
    return status;
}

void gnn_linear_start(gnn_model *model, const train_targets *targets)
{
    model->start_targets = targets;
    model->interface.start = begin;
}
